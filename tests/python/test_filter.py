"""Filters: the function, the command, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import Run, device_lists, names
from laneway.programs.filter import hint_for
from laneway.references import filter as reference

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f8"]


def numbers(dtype: str, count: int = 5000) -> Any:
    drawn = np.random.default_rng(1).integers(-100, 100, count)
    return (drawn % 100 if np.dtype(dtype).kind == "u" else drawn).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype: str) -> None:
    values = numbers(dtype)
    for condition, mask in (
        ("x >= 10 and x < 20", (values >= 10) & (values < 20)),
        ("x % 7 == 3 or x < 5", (values % 7 == 3) | (values < 5)),
    ):
        result = lw.filter(values, condition, devices="cpu:2", packet_bytes=1000)
        assert result.values.dtype == values.dtype.newbyteorder("=")
        assert np.array_equal(result.values, values[mask])
        assert np.array_equal(reference.mask_of(values.astype(values.dtype.newbyteorder("=")), condition), mask)


@pytest.mark.parametrize("devices", device_lists())
@pytest.mark.parametrize("policy", ["available", "even"])
def test_devices_share_the_packets(devices: str, policy: str) -> None:
    values = numbers("f8")
    result = lw.filter(values, "x > 0", devices=devices, policy=policy, packet_bytes=800, buffers=2)
    assert np.array_equal(result.values, values[values > 0])
    assert sum(result.elements) == len(values)
    assert sum(result.packets) == 50
    assert result.report.posted == result.report.carried == result.report.served == len(values) + len(result.values)
    assert int(result.report.bytes.sum()) == 8 * result.report.posted
    if policy == "even" and len(result.elements) == 2:
        assert result.elements == (2500, 2500)


def test_gpus_beside_cpu_devices_are_told_of() -> None:
    assert hint_for(["cpu:0", "cpu:1"]) is hint_for(["cuda:0", "cuda:1"]) is None
    assert str(hint_for(["cuda:0", "cpu:0", "cuda:3"])).startswith("cuda:0, cuda:3 alone: ")
    assert lw.filter([1, 2], "x > 1", devices="cpu:2").hint is None


def test_odd_arrays() -> None:
    assert lw.filter([], "x > 0", devices="cpu:1").values.size == 0
    assert lw.filter([3, 1, 2], "x > 1", devices="cpu:1").values.tolist() == [3, 2]
    assert lw.filter(np.arange(20)[::3], "x % 2 == 0", devices="cpu:1").values.tolist() == [0, 6, 12, 18]
    flags = lw.filter(np.array([True, False, True]), "x == 1", devices="cpu:1").values
    assert (flags.dtype, flags.tolist()) == (np.bool_, [True, True])
    strange = np.array([np.nan, -0.0, np.inf, -np.inf, 1.0])
    assert lw.filter(strange, "x <= inf", devices="cpu:1").values.tolist() == [0.0, np.inf, -np.inf, 1.0]
    assert np.isnan(lw.filter(strange, "x != 1", devices="cpu:1").values[0])


def test_sessions_go_on_after_a_call_that_failed() -> None:
    values = numbers("i4", 100_000)
    with lw.Session(devices="cpu:2") as session:
        for _ in range(3):
            assert np.array_equal(session.filter(values, "x > 0").values, values[values > 0])
            with pytest.raises(lw.UsageError, match="expected a number"):
                session.filter(values, "x >> 0")
    with pytest.raises(lw.UsageError, match="the session is closed"):
        session.filter(values, "x > 0")
    late = 0
    with lw.Session(devices="cpu:2", timeout=1e-6) as session:
        for _ in range(200):  # a deadline is looked at by who waits, and a call need not wait so long
            try:
                kept = session.filter(values, "x > 0", packet_bytes=64).values
            except lw.TimeoutError as error:
                assert "within 1e-06 s" in str(error)
                late += 1
            else:
                assert np.array_equal(kept, values[values > 0])
            if late == 3:
                break
    assert late == 3


@pytest.mark.parametrize(
    ("values", "options", "told"),
    [
        ([1], {"condition": "x >> 1"}, "expected a number at character 4"),
        (np.array([1], np.uint8), {"condition": "x < 300"}, "300 is no number of type uint8"),
        ([1], {"condition": 3}, "condition must be text"),
        ([[1, 2]], {}, "one dimension, not 2"),
        ([1j], {}, "not complex128"),
        (np.ones(2, np.complex64), {}, "not complex64"),
        (np.ones(2, np.longdouble), {}, f"8 bytes at most, not {np.dtype(np.longdouble)}"),
        (np.array(["2026-01-01"], "M8[D]"), {}, "whole or real numbers"),
        (np.array([1, None]), {}, "not object"),
        (["a"], {}, "whole or real numbers"),
        (np.ma.masked_array([1, 2], [False, True]), {}, r"values\[1\] is masked"),
        ([1], {"policy": "odd"}, "policy must be available or even, not odd"),
        ([1], {"packet_bytes": 0}, "packet_bytes must be a whole number from 1"),
        ([1], {"packet_bytes": 4}, "packets of 4 bytes hold no element of 8"),
        ([1], {"packet_bytes": 2**30}, "do not fit into"),
        ([1], {"buffers": 0}, "buffers must be a whole number from 1"),
        ([1], {"devices": "gpu"}, "expected cuda"),
        ([1], {"timeout": 0}, "timeout must be a positive"),
    ],
)
def test_refusals(values: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(lw.UsageError, match=told):
        lw.filter(values, **{"condition": "x > 0", "devices": "cpu:1", **options})


def test_command(laneway: Run, tmp_path: Path) -> None:
    work = tmp_path / "work"
    values = numbers("f4")
    np.save(work / "v.npy", values)
    done = laneway(
        "filter", "v.npy", "x > 50", "--devices", "cpu:2", "--verify", "--output", "k.npz", "--json", "r.json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against a mask of NumPy's" in done.stdout
    with np.load(work / "k.npz") as file:
        assert np.array_equal(file["values"], values[values > 50])
    report = json.loads((work / "r.json").read_text())
    assert (report["program"], report["condition"], report["policy"]) == ("filter", "x > 50", "available")
    assert report["result"]["kept"] == int((values > 50).sum())
    assert report["hint"] is None and "likely faster" not in done.stdout
    assert sum(report["work"]["elements"]) == len(values)
    assert names(work) == ["k.npz", "r.json", "v.npy"]


def test_command_reads_text(laneway: Run, tmp_path: Path) -> None:
    (tmp_path / "work" / "v.txt").write_text("1.5\n-2\n7\n")
    done = laneway("filter", "v.txt", "x > 0", "--devices", "cpu:1", "--verify")
    assert done.returncode == 0, done.stderr
    assert "3, float64" in done.stdout
    (tmp_path / "work" / "m.txt").write_text("1 2\n3 4\n")
    done = laneway("filter", "m.txt", "x > 0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not a list of numbers" in done.stderr


def test_wrong_answers_are_told() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert reference.verify(values, "x > 1", values[1:]).mismatches == 0
    assert reference.verify(values, "x > 1", values).first_mismatch == "2 numbers should have been kept, not 3"
    wrong = reference.verify(values, "x > 1", np.array([2.0, 4.0]))
    assert (wrong.mismatches, wrong.first_mismatch) == (1, "number 1 of those kept is 3.0, not 4.0")

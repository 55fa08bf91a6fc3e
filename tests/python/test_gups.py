"""Random updates: the command, the function, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
import signal
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run, device_lists, names
from laneway.references import gups as reference

MODES = ["hpcc", "free", "binned", "raw"]


def sequential(log2_words: int, updates: int) -> np.ndarray:
    """HPC Challenge's loop in Python's own numbers."""
    table = list(range(2**log2_words))
    value = 1
    for _ in range(updates):
        value = (value << 1) ^ (7 if value >> 63 else 0)
        value &= 2**64 - 1
        table[value % len(table)] ^= value
    return np.array(table, dtype=np.uint64)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_every_mode(laneway: Run, tmp_path: Path, mode: str, devices: str) -> None:
    options = ["--mode", mode, "--log2-words", 9, "--look-ahead", 40, "--region-bytes", 256, "--round-updates", 300]
    done = laneway("gups", *options, "--devices", devices, "--verify", "--output", "t.npz", "--json", "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against a sequential run" in done.stdout
    with np.load(tmp_path / "work" / "t.npz") as file:
        assert file["table"].dtype == np.uint64
        assert np.array_equal(file["table"], sequential(9, 2048))
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert (report["mode"], report["words"], report["updates"]) == (mode, 512, 2048)
    assert report["look_ahead"] == (40 if mode == "hpcc" else None)
    assert report["messages"]["posted"] == (0 if mode == "raw" else 2048)
    assert (report["work"]["rounds"] > 1) == (mode == "binned")
    assert report["result"]["giga_updates_per_second"] > 0


@pytest.mark.parametrize("devices", device_lists())
def test_any_devices(devices: str) -> None:
    expected = sequential(12, 20_000)
    for mode in MODES:
        if mode == "raw" and "cuda" in devices and "cpu" in devices:
            continue  # they share no memory
        result = lw.gups(mode=mode, log2_words=12, updates=20_000, devices=devices)
        assert np.array_equal(result.table(), expected)
        assert result.check().errors == 0
        assert np.array_equal(result.table(), expected)


def test_sizes() -> None:
    assert lw.gups(size=8192, devices="cpu:3", updates=10).words == 2048
    assert lw.gups(size=4096 * 8, devices="cpu:2", updates=10).words == 8192
    result = lw.gups(devices="cpu:2", log2_words=10)
    assert (result.words, result.updates, result.rounds, result.refused) == (1024, 4096, 1, 0)


def test_replay_stands_in_for_large_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "MAX_SEQUENTIAL", 1)
    check = reference.verify(lw.gups(devices="cpu:2", log2_words=10))
    assert (check.reference, check.mismatches) == ("a replay without messages", 0)


def test_wrong_words_are_named() -> None:
    result = lw.gups(devices="cpu:2", log2_words=10, updates=100)
    check = reference.verify(dataclasses.replace(result, updates=99))
    assert check.mismatches == 1
    assert check.first_mismatch.startswith("word ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mode", "fast"], "--mode must be hpcc, free, binned or raw, not fast"),
        (["--log2-words", 7], "--log2-words must be from 8 to 40, not 7"),
        (["--log2-words", -1], "--log2-words must be a whole number"),
        (["--log2-words", 10, "--size", 8192], "exclude each other"),
        (["--size", 7], "--size must be a whole number from 8"),
        (["--updates", 0], "--updates must be a whole number from 1"),
        (["--look-ahead", 0], "--look-ahead must be a whole number from 1"),
        (["--region-bytes", 100, "--mode", "binned"], "--region-bytes must be a power of two"),
        (["--round-updates", 0], "--round-updates must be a whole number from 1"),
        (["--timeout", -1], "--timeout must be a positive number"),
    ],
)
def test_bad_options(laneway: Run, tmp_path: Path, options: list[object], message: str) -> None:
    done = laneway("gups", "--devices", "cpu:1", *options, "--json", "r.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert names(tmp_path / "work") == []


def test_failed_run_ends_with_one_line(laneway: Run, tmp_path: Path) -> None:
    done = laneway("gups", "--devices", "cpu:2", "--timeout", 1e-6, "--json", "r.json")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert names(tmp_path / "work") == []


def test_a_check_that_was_left_is_told() -> None:
    """It undoes all updates and does them again: in between the table is another."""
    table = lw.gups(log2_words=20, updates=2**23, devices="cpu:1")
    assert table.check().errors == 0
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(20):  # an interrupt between two checks changes nothing
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                while True:
                    assert table.check().errors == 0
            try:
                assert table.check().errors == 0
            except lw.UsageError as error:
                assert str(error) == "a run or a check of the table was left before its end: the table is lost"
                with pytest.raises(lw.UsageError, match="the table is lost"):
                    table.table()
                return
        pytest.fail("no check was left")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

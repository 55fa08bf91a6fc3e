"""The study of services: who serves, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import laneway as lw
import pytest
from conftest import Run

SHORT = {"rounds": 20, "requests": 2000}


def test_each_kind_of_server_answers() -> None:
    runs = lw.study_service(bytes=[8, 256], warps=[1, 0], threads=[1, 2], devices="cpu:2", **SHORT)
    points = [(run.servers, run.threads, run.bytes, run.warps) for run in runs]
    kinds = [("warps", 0), ("host", 1), ("host", 2), ("pe", 0)]
    assert points == [(*kind, size, warps) for kind in kinds for size in (8, 256) for warps in (1, 0)]
    for run in runs:
        median, most, nearly_all = run.round_trip_ns
        assert 0 < median <= most <= nearly_all
        assert 0 < run.requests <= 2000, "as many for each lane"
        assert run.requests_per_second == run.requests / run.seconds > 0
        assert run.requests_each == 1, "a warp of a CPU device is one lane"
        assert run.joules is None, "CPU devices have no meter"


def test_lanes_that_post_together_share_a_slot() -> None:
    (run,) = lw.study_service(["warps"], bytes=[8], warps=[1], devices="checked:1", rounds=2, requests=40)
    assert run.requests_each > 1


def test_a_run_is_made_as_long_as_it_should_be() -> None:
    (short,) = lw.study_service(["warps"], bytes=[8], warps=[1], devices="cpu:1", **SHORT)
    (long,) = lw.study_service(["warps"], bytes=[8], warps=[1], devices="cpu:1", min_seconds=0.3, **SHORT)
    assert long.requests > 2 * short.requests


def test_another_device_serves_only_where_there_is_one() -> None:
    runs = lw.study_service(bytes=[8], warps=[0], devices="cpu:1", **SHORT)
    assert [run.servers for run in runs] == ["warps", "host"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"servers": ["nobody"]},
        {"bytes": [16]},
        {"threads": [0]},
        {"threads": [65]},
        {"servers": ["pe"]},
        {"warps": [-1]},
        {"rounds": 0},
        {"requests": 0},
        {"min_seconds": -1.0},
        {"min_seconds": 60.0},
        {"min_seconds": float("nan")},
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(lw.UsageError, match=next(iter(arguments))):
        lw.study_service(devices="cpu:1", **arguments)  # type: ignore[arg-type]


def test_the_command_writes_what_it_measured(laneway: Run, tmp_path: Path) -> None:
    options = ["--devices", "cpu:2", "--rounds", 20, "--requests", 2000, "--bytes", 8, "--bytes", 64, "--warps", 0]
    done = laneway("study", "service", *options, "--json", "s.json", "--plot", "s.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 host thread" in done.stdout
    report = json.loads((tmp_path / "work" / "s.json").read_text())
    assert report["devices"] == ["cpu:0", "cpu:1"]
    points = [(run["servers"], run["bytes"]) for run in report["runs"]]
    assert points == [(kind, size) for kind in ("warps", "host", "pe") for size in (8, 64)]
    assert all(0 < run["round_trip_ns"]["median"] <= run["round_trip_ns"]["99 %"] for run in report["runs"])
    drawn = (tmp_path / "work" / "s.svg").read_text()
    assert "requests of 64 bytes in bulk" in drawn

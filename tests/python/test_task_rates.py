"""The benchmark of task pools: what the command prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import laneway as lw
import pytest
from conftest import Run


def test_the_command_tells_rates_and_efficiency(laneway: Run, tmp_path: Path) -> None:
    options = ["--length", 20, "--length", 1000, "--runs", 1, "--bundle", 8, "--devices", "cpu:2", "--json", "t.json"]
    done = laneway("tasks", "bench", *options, "--plot", "t.svg")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "t.json").read_text())
    assert report["devices"] == ["cpu:0", "cpu:1"]
    assert (report["workers"], report["bundle"]) == (2, 8)
    assert set(report["tasks_per_second"]) == {"submit", "submit_many"}
    assert all(rate > 100 for rate in report["tasks_per_second"].values())
    assert 0 < report["lone_seconds"]["median"] <= report["lone_seconds"]["p99"]
    for shares in report["efficiency"].values():
        assert set(shares) == {"20", "1000"}
        assert all(0 < share < 1.05 for share in shares.values()), "no more than all of the time"
    for row in ("empty tasks/s", "a lone task", "efficiency at 20 µs", "efficiency at 1000 µs"):
        assert row in done.stdout
    assert "length of a task" in (tmp_path / "work" / "t.svg").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--length", 0], "lengths: between 0.1 and 1e6 microseconds"),
        (["--length", "nan"], "lengths: between 0.1 and 1e6 microseconds"),
        (["--runs", 0], "runs"),
        (["--bundle", 0], "bundle must be a whole number from 1"),
        (["--plot", "t.txt"], "a plot's name must end in"),
        (["--json", "a.svg", "--plot", "a.svg"], "another file of this command has the same name"),
        (["--devices", "cpu:0"], "cpu:0"),
    ],
)
def test_wrong_use_is_one_line(laneway: Run, options: list[str], words: str) -> None:
    done = laneway("tasks", "bench", *(["--devices", "cpu:1"] if "--devices" not in options else []), *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_function_refuses_lengths_that_are_none() -> None:
    with pytest.raises(lw.UsageError, match="lengths"):
        lw.measure_tasks((1e9,), devices="cpu:1")

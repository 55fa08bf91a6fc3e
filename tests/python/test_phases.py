"""The progress bar tells the phase and how far it is."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import laneway as lw
import pytest
from conftest import metis
from laneway.phases import Phases
from laneway.watching import DESCRIBE, METER, FileMeter
from rich.console import Console


class Watched:
    """A bar on a terminal of memory, drawn when the test asks for it."""

    def __init__(self) -> None:
        self.text = io.StringIO()
        self.phases = Phases(Console(file=self.text, force_terminal=True, color_system=None, width=120))
        self.phases.bar.live.auto_refresh = False

    def line(self) -> str:
        """What the bar says now."""
        self.phases.bar.refresh()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text.getvalue()).replace("\r", "\n").splitlines()[-1]


@pytest.fixture
def watched() -> Iterator[Watched]:
    bar = Watched()
    with bar.phases:
        yield bar


def test_bytes_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(bytes(3_000_000))
    meter = FileMeter(path)
    assert (meter.total, meter.look()) == (3_000_000, 0)
    with path.open("rb", buffering=0) as file:
        file.read(1_000_000)
        assert meter.look() == 1_000_000
        file.read(1_000_000)
        assert meter.look() == 2_000_000
    assert meter.look() == 2_000_000


def test_pipes_and_missing_files_tell_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "none", ""):
        meter = FileMeter(tmp_path / name)
        assert (meter.total, meter.look()) == (None, 0)


def test_reading_tells_bytes(watched: Watched, tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(bytes(4_000_000))
    watched.phases.read("reading the graph", path)
    assert watched.line().startswith("reading the graph ")
    with path.open("rb", buffering=0) as file:
        file.read(1_000_000)
        assert "1.0 MB of 4.0 MB" in watched.line()
        assert watched.phases.bar.tasks[0].percentage == 25
    watched.phases.enter("verifying")
    line = watched.line()
    assert line.startswith("verifying ")
    assert " MB" not in line
    assert watched.phases.bar.tasks[0].total is None


def test_running_tells_messages(watched: Watched, new_york: Path) -> None:
    graph = lw.read_graph(new_york)
    watched.phases.run("running")
    report = lw.sssp(graph, 1, devices="cpu:2").report
    meter = METER.get()
    assert meter is not None
    assert (meter.served, meter.open) == (report.served, 0)
    assert f"{report.served:,} messages served" in watched.line()
    watched.phases.enter("verifying")
    assert METER.get() is None
    assert "served" not in watched.line()


@pytest.mark.parametrize("partition", [metis()])
def test_partitioning_is_told(watched: Watched, small: Path, partition: str) -> None:
    watched.phases.run("running")
    lw.sssp(lw.read_graph(small), 1, devices="cpu:2", partition=partition)
    assert "partitioning by METIS" in watched.text.getvalue()
    assert watched.line().startswith("running ")


def test_nobody_watches_a_pipe() -> None:
    with Phases() as phases:
        phases.run("running")
        assert METER.get() is None
    assert DESCRIBE.get() is None

"""One run of a shortest-paths program from the command line, from its options to its outputs."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from laneway import _core
from laneway._core import Graph
from laneway.errors import Error, UsageError
from laneway.graphs import read_graph
from laneway.paths import Result, source_index
from laneway.pending_file import PendingFile
from laneway.summary import Summary
from laneway.terminal import show
from laneway.verify import verify


@dataclass(frozen=True)
class Outputs:
    """Files that the user asked for; each is None or a path."""

    distances: Path | None
    report: Path | None
    plot: Path | None

    def write(self, summary: Summary, files: dict[Path, PendingFile]) -> None:
        """Write all of them, then put all in place."""
        if self.distances is not None:
            with files[self.distances].temporary.open("wb") as file:
                np.savez(file, distance=summary.result.distance)
        if self.report is not None:
            files[self.report].temporary.write_text(json.dumps(summary.as_json(), indent=2) + "\n")
        if self.plot is not None:
            from laneway.plot import draw

            draw(summary, files[self.plot].temporary, self.plot.suffix.lower().lstrip("."))
        for pending in files.values():
            pending.commit()


@dataclass(frozen=True)
class Reading:
    """The graph that the user named, and how to read it."""

    path: str
    format: str | None
    ids: int | None
    cache: Path | None
    directed: bool | None

    def read(self) -> Graph:
        return read_graph(self.path, self.format, self.ids, self.cache, self.directed)


@dataclass(frozen=True)
class Job:
    """The options of one run."""

    program: Callable[..., Result]
    reading: Reading
    source: int
    devices: str
    delta: int | None
    verify: bool
    seed: int
    timeout: float
    partition: str | None

    def run(self, outputs: Outputs) -> None:
        """Read, run, verify, write the outputs and print the table. What can be refused is refused before the run."""
        if self.partition not in (None, "metis"):
            raise UsageError(f"--partition must be metis, not {self.partition}")
        _core.parse_devices(self.devices)
        with ExitStack() as stack:
            files = self._open(outputs, stack)
            with _Phases() as phases:
                summary = self._summary(phases, plot=outputs.plot is not None or outputs.report is not None)
            check = summary.verification
            if check is not None and check.mismatches:
                show(summary.as_table())
                raise Error(f"{check.mismatches} distances differ from {check.reference}: {check.first_mismatch}")
            try:
                outputs.write(summary, files)
            except OSError as error:
                raise UsageError(f"the outputs cannot be written: {error.strerror}") from None
        show(summary.as_table())

    def _open(self, outputs: Outputs, stack: ExitStack) -> dict[Path, PendingFile]:
        if outputs.plot is not None:
            from laneway.plot import check_format

            check_format(outputs.plot)
        paths = [path for path in (outputs.distances, outputs.report, outputs.plot) if path is not None]
        files = {path: stack.enter_context(PendingFile(path)) for path in paths}
        _require_distinct([Path(self.reading.path), *paths])
        return files

    def _summary(self, phases: _Phases, plot: bool) -> Summary:
        phases.enter("reading the graph")
        start = time.perf_counter()
        graph = self.reading.read()
        load_seconds = time.perf_counter() - start
        source_index(graph, self.source)
        phases.enter("running")
        result = self.program(
            graph,
            self.source,
            devices=self.devices,
            delta=self.delta,
            partition=self.partition,
            seed=self.seed,
            timeout=self.timeout,
            progress=plot,
        )
        name = self.program.__name__
        check = None
        if self.verify:
            phases.enter("verifying")
            check = verify(graph, self.source, result.distance, unit_weights=name == "bfs")
        return Summary(name, self.reading.path, graph, self.source, result, load_seconds, check)


def _require_distinct(paths: list[Path]) -> None:
    """UsageError where an output would replace another one or the graph itself, whatever its name and links."""
    for i, path in enumerate(paths):
        for other in paths[i + 1 :]:
            if os.path.realpath(path) == os.path.realpath(other):
                raise UsageError(f"{other}: cannot be written: another file of this command has the same name")


class _Phases:
    """A progress bar on a terminal's standard error; nothing where it is a pipe."""

    def __init__(self) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self.task = self.bar.add_task("starting", total=None)

    def __enter__(self) -> _Phases:
        self.bar.start()
        return self

    def enter(self, phase: str) -> None:
        self.bar.update(self.task, description=phase, refresh=True)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

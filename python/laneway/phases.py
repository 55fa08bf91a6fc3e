"""What the command is at, for those who watch."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class Phases:
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
        self.task = self.bar.add_task("running", total=None)

    def __enter__(self) -> Phases:
        self.bar.start()
        return self

    def enter(self, phase: str) -> None:
        self.bar.update(self.task, description=phase, refresh=True)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

"""What the command is at, for those who watch."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextvars import Token
from pathlib import Path
from typing import Callable

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from laneway import _core, signals
from laneway.watching import DESCRIBE, METER, TIMELINE, FileMeter

Far = Callable[[], "tuple[str, int, int | None]"]
"""How far a phase is: in words, and as a part of a whole where that is known."""


class Phases:
    """A progress bar on a terminal's standard error; nothing where it is a pipe.

    It tells the phase, how far that is, and for how long the command has been running. Phases also go into the timeline
    of the context, if it has one, and are ranges of NVIDIA's profilers.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._watched = console is not None or sys.stderr.isatty()
        self._far: Far = _nothing_known
        self._metering: Token[_core.Meter | None] | None = None
        self._phase: tuple[str, int, _core.ProfilerRange] | None = None
        self.bar = _Looking(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[far]}"),
            TimeElapsedColumn(),
            console=console or Console(stderr=True),
            transient=True,
            disable=not self._watched,
        )
        self.bar.add_task("starting", total=None, far="")
        self.bar.look = self._look

    def __enter__(self) -> Phases:
        self._describing = DESCRIBE.set(self._describe)
        signals.show_bar(not self.bar.disable)
        self.bar.start()
        return self

    def enter(self, phase: str) -> None:
        """Begin a phase of which nobody knows how far it is."""
        self._begin(phase, _nothing_known)

    def read(self, phase: str, path: Path) -> None:
        """Begin to read a file."""
        meter = FileMeter(path)

        def far() -> tuple[str, int, int | None]:
            read = meter.look()
            if meter.total is None:
                return "", 0, None
            return f"{decimal(read)} of {decimal(meter.total)}", read, meter.total

        self._begin(phase, far)

    def run(self, phase: str) -> None:
        """Begin a phase whose runs, until the next phase begins, tell how far they are."""
        if not self._watched:
            self._begin(phase, _nothing_known)
            return
        meter = _core.Meter()

        def far() -> tuple[str, int, int | None]:
            served, opened = meter.served, meter.open
            words = [f"{served:,} messages served"] * (served > 0) + [f"{opened:,} pieces of work open"] * (opened > 0)
            return ", ".join(words), 0, None

        self._begin(phase, far)
        self._metering = METER.set(meter)

    def _begin(self, phase: str, far: Far) -> None:
        self._stop_metering()
        self._end_phase()
        self._phase = phase, _core.Timeline.now_ns(), _core.ProfilerRange(phase)
        self._far = far
        self._describe(phase)

    def _end_phase(self) -> None:
        if self._phase is None:
            return
        name, begin, _ = self._phase
        self._phase = None  # and the profilers' range
        timeline = TIMELINE.get()
        if timeline is not None:
            timeline.add_span("phases", name, begin, _core.Timeline.now_ns())

    def _describe(self, phase: str) -> None:
        self.bar.tasks[0].description = phase
        self.bar.refresh()

    def _stop_metering(self) -> None:
        if self._metering is not None:
            METER.reset(self._metering)
            self._metering = None

    def _look(self) -> None:
        task = self.bar.tasks[0]
        task.fields["far"], task.completed, task.total = self._far()

    def __exit__(self, *_: object) -> None:
        DESCRIBE.reset(self._describing)
        self._stop_metering()
        self._end_phase()
        self.bar.stop()
        signals.show_bar(False)


class _Looking(Progress):
    """A bar that looks how far its phase is whenever it is drawn."""

    look: Callable[[], None] | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.look is not None:
            self.look()
        yield from super().get_renderables()


def _nothing_known() -> tuple[str, int, int | None]:
    return "", 0, None

"""What those who watch a command can see of it from another thread."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Callable

from laneway import _core

TIMELINE: ContextVar[_core.Timeline | None] = ContextVar("TIMELINE", default=None)
"""What the runs of this context write down over time; None costs them nothing."""

METER: ContextVar[_core.Meter | None] = ContextVar("METER", default=None)
"""Where the runs of this context tell how far they are; None costs them nothing."""

DESCRIBE: ContextVar[Callable[[str], None] | None] = ContextVar("DESCRIBE", default=None)
"""Tells who watches the command what this phase is at; see `described`."""


@contextmanager
def described(what: str) -> Iterator[None]:
    """Tell who watches that this part of a run is going on, if somebody does."""
    describe, timeline = DESCRIBE.get(), TIMELINE.get()
    if describe is not None:
        describe(what)
    begin, profiled = _core.Timeline.now_ns(), _core.ProfilerRange(what)
    try:
        yield
    finally:
        del profiled
        if timeline is not None:
            timeline.add_span("parts", what, begin, _core.Timeline.now_ns())
        if describe is not None:
            describe("running")


class FileMeter:
    """How many bytes of a file this process has read, as Linux tells it of open files: readers need not know of it."""

    def __init__(self, path: Path) -> None:
        self.total: int | None = None
        """Bytes of the file; None for a pipe, and where there is none."""
        self.read = 0
        self._file: os.stat_result | None = None
        with suppress(OSError):
            found = path.stat()
            if path.is_file():
                self._file, self.total = found, found.st_size

    def look(self) -> int:
        """Bytes read so far; what has been read of a file that is closed stays."""
        if self._file is not None:
            with suppress(OSError):
                for link in Path("/proc/self/fd").iterdir():
                    self.read = max(self.read, self._position(link))
        return self.read

    def _position(self, link: Path) -> int:
        with suppress(OSError, ValueError):  # closed meanwhile
            if self._file is not None and os.path.samestat(link.stat(), self._file):
                first = (Path("/proc/self/fdinfo") / link.name).read_text().split("\n", 1)[0]
                return int(first.removeprefix("pos:"))
        return 0

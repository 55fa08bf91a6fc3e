"""Reading binary files piece by piece."""

from __future__ import annotations

import struct
from pathlib import Path

from laneway.errors import UsageError

BLOCK_BYTES = 1 << 16


class Blocks:
    """Bytes of a file from one place to another, a block at a time. The file is open only while a block is read: a
    trace may have more files than a process may open. `name` is what errors call it."""

    def __init__(self, path: Path, name: str, start: int = 0, stop: int | None = None) -> None:
        self.path, self.name = path, name
        self.data, self.at = b"", 0
        self._next = start
        self._stop = self.path.stat().st_size if stop is None else stop

    @property
    def place(self) -> int:
        """The offset in the file of what comes next."""
        return self._next - len(self.data) + self.at

    @property
    def left(self) -> int:
        """Bytes until the end."""
        return self._stop - self.place

    def need(self, count: int) -> None:
        """Have `count` bytes in `data` from `at` on; UsageError where the file has fewer."""
        if len(self.data) - self.at >= count:
            return
        if count > self.left:
            raise self.broken("it ends inside a record")
        rest = self.data[self.at :]
        with self.path.open("rb") as file:
            file.seek(self._next)
            more = file.read(min(max(BLOCK_BYTES, count - len(rest)), self._stop - self._next))
        self.data, self.at = rest + more, 0
        self._next += len(more)
        if len(self.data) < count:
            raise self.broken("it ends inside a record")

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        self.need(count)
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        """The next values, as `form` says."""
        self.need(form.size)
        values = form.unpack_from(self.data, self.at)
        self.at += form.size
        return values

    def broken(self, what: str) -> UsageError:
        """The error that says what is wrong at this place."""
        return UsageError(f"{self.name}: broken at byte {self.place:,}: {what}")

    def go_to(self, place: int) -> None:
        """Let `place`, which lies ahead, come next; UsageError where the file ends before."""
        ahead = place - self.place
        if ahead > self.left:
            raise self.broken("it ends before the next piece")
        if self.at + ahead <= len(self.data):
            self.at += ahead
        else:
            self._next, self.data, self.at = place, b"", 0

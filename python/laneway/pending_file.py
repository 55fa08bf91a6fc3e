"""Output files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Callable

from laneway import signals
from laneway.errors import Error, UsageError, reason_of


class PendingFile:
    """A file that is written under a temporary name and takes its place at `commit`.

    A file that it replaces gives it its mode and, where the system lets it, its owner. As a context: entering opens,
    leaving discards.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = Path(os.path.realpath(path))  # a link stays a link; what it points to is written
        # Known before there is such a file: a signal may come at any moment, and discard must find it.
        self.temporary = self._target.parent / f".laneway.{secrets.token_hex(8)}"
        self._mode = 0

    def open(self) -> None:
        """Find out, before any work is done, whether the file can be written; UsageError if not."""
        if str(self.path) == "-":
            raise UsageError("-: cannot be written: it would not be standard output: give a file's name")
        signals.temporaries.add(str(self.temporary))
        try:
            replaced = self._replaced()
            file = os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
            try:
                self._mode = stat.S_IMODE((replaced or os.fstat(file)).st_mode) & 0o777
                if replaced is not None:
                    with suppress(OSError):  # root's only
                        os.fchown(file, replaced.st_uid, replaced.st_gid)
                os.fchmod(file, 0o600)  # half a file is nobody else's business
            finally:
                os.close(file)
        except OSError as error:
            raise self._refused(error) from None

    def fill(self, write: Callable[[Path], object]) -> None:
        """Have `write` write the file, under its temporary name; UsageError where the system does not let it. What
        `write` raises of the package's own comes through."""
        try:
            write(self.temporary)
        except Error:  # says itself what was wrong: memory that the system refused, perhaps
            raise
        except OSError as error:
            raise self._refused(error) from None

    def discard(self) -> None:
        """Remove the temporary file, unless it has been committed, and leave what stands at `path` as it is."""
        with suppress(OSError):
            self.temporary.unlink()
        signals.temporaries.discard(str(self.temporary))

    def __enter__(self) -> PendingFile:
        try:
            self.open()
        except BaseException:
            self.discard()
            raise
        return self

    def commit(self) -> None:
        """Put the written file in its place; UsageError where the system does not let it."""
        try:
            self.temporary.chmod(self._mode)
            self.temporary.replace(self._target)
        except OSError as error:
            raise self._refused(error) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def _refused(self, error: OSError) -> UsageError:
        # NumPy tells a full disk in words of its own.
        reason = reason_of(error) if error.strerror else "the disk took only a part"
        return UsageError(f"{self.path}: cannot be written: {reason}")

    def _replaced(self) -> os.stat_result | None:
        """The file that stands at `path`; UsageError where it cannot be replaced."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(found.st_mode):
            raise UsageError(f"{self.path}: cannot be written: it is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{self.path}: cannot be written: it is no regular file")
        if any(_is_stream(found, stream) for stream in (1, 2)):
            raise UsageError(f"{self.path}: cannot be written: this command's own output goes there")
        if not os.access(self.path, os.W_OK):
            raise UsageError(f"{self.path}: cannot be written: permission denied")
        return found


def _is_stream(file: os.stat_result, stream: int) -> bool:
    try:
        return os.path.samestat(file, os.fstat(stream))
    except OSError:  # closed
        return False

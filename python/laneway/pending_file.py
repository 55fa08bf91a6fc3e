"""Output files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from laneway.errors import UsageError, reason_of


class PendingFile:
    """A file that is written under a temporary name and takes its place at `commit`.

    As a context: entering opens, leaving discards.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = Path(os.path.realpath(path))  # a link stays a link; what it points to is written
        # Known before there is such a file: a signal may come at any moment, and discard must find it.
        self.temporary = self._target.parent / f".laneway.{secrets.token_hex(8)}"

    def open(self) -> None:
        """Find out, before any work is done, whether the file can be written; UsageError if not."""
        try:
            self._require_replaceable()
            os.close(os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {reason_of(error)}") from None

    def discard(self) -> None:
        """Remove the temporary file, unless it has been committed, and leave what stands at `path` as it is."""
        with suppress(OSError):
            self.temporary.unlink()

    def __enter__(self) -> PendingFile:
        try:
            self.open()
        except BaseException:
            self.discard()
            raise
        return self

    def _require_replaceable(self) -> None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return
        if stat.S_ISDIR(found.st_mode):
            raise UsageError(f"{self.path}: cannot be written: it is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{self.path}: cannot be written: it is no regular file")
        if any(_is_stream(found, stream) for stream in (1, 2)):
            raise UsageError(f"{self.path}: cannot be written: this command's own output goes there")
        if not os.access(self.path, os.W_OK):
            raise UsageError(f"{self.path}: cannot be written: permission denied")

    def commit(self) -> None:
        """Put the written file in its place, readable as any new file is."""
        mask = os.umask(0)
        os.umask(mask)
        try:
            self.temporary.chmod(0o666 & ~mask)
            self.temporary.replace(self._target)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {reason_of(error)}") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


def _is_stream(file: os.stat_result, stream: int) -> bool:
    try:
        return os.path.samestat(file, os.fstat(stream))
    except OSError:  # closed
        return False

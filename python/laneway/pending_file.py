"""Output files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from laneway.errors import UsageError


class PendingFile:
    """A file that is written under a temporary name and takes its place at `commit`.

    Entering the context finds out, before any work is done, whether the file can be written; raises UsageError if not.
    Leaving it without `commit` removes the temporary file and leaves what stood at `path` as it was.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary = path
        self._target = path.resolve()  # a link stays a link; what it points to is written

    def __enter__(self) -> PendingFile:
        if self.path.is_dir():
            raise UsageError(f"{self.path}: cannot be written: it is a directory")
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self.path}: cannot be written: it is no regular file")
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise UsageError(f"{self.path}: cannot be written: permission denied")
        try:
            handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=f".{self._target.name}.")
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {_reason(error)}") from None
        os.close(handle)
        self.temporary = Path(name)
        return self

    def commit(self) -> None:
        """Put the written file in its place, readable as any new file is."""
        mask = os.umask(0)
        os.umask(mask)
        try:
            self.temporary.chmod(0o666 & ~mask)
            self.temporary.replace(self._target)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {_reason(error)}") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self.temporary.unlink()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()

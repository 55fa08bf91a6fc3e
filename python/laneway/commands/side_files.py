"""The files of commands that are no runs of a program: all appear when the command ends well, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from laneway import signals
from laneway.errors import UsageError
from laneway.pending_file import PendingFile


@contextmanager
def side_files(
    *paths: Path | None, is_input: Callable[[Path], bool] = lambda _: False
) -> Iterator[list[PendingFile | None]]:
    """The files to fill, None for a path that is None. UsageError before anything runs for what cannot be written, for
    two of one name, and for what would replace an input of the command, as `is_input` tells."""
    with ExitStack() as stack:
        for path in paths:
            if path is not None and is_input(path):
                raise UsageError(f"{path}: cannot be written: the command reads it")
        named = [path.resolve() for path in paths if path is not None]
        for path in paths:
            if path is not None and named.count(path.resolve()) > 1:
                raise UsageError(f"{path}: cannot be written: another file of this command has the same name")
        files = [None if path is None else stack.enter_context(PendingFile(path)) for path in paths]
        yield files
        signals.point_of_no_return()
        for file in files:
            if file is not None:
                file.commit()

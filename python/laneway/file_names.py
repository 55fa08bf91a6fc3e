"""Names of files, as callers give them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from laneway.errors import UsageError

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def as_path(name: PathLike, what: str) -> Path:
    """`name` as a path; UsageError, in which it is called `what`, where it can name no file."""
    try:
        text = os.fsdecode(name)
        os.fsencode(text)
    except TypeError:
        raise UsageError(f"{what} must be str, bytes or a path, not {type(name).__name__}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{what} has letters that no file's name has: {name!r}") from None
    if not text:
        raise UsageError(f"{what} is empty")
    if "\0" in text:
        raise UsageError(f"{what} has a null character: {name!r}")
    return Path(text)


def same_file(one: Path, other: Path) -> bool:
    """Whether both names are those of one file, or would be."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return False

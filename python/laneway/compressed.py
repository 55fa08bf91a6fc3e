"""Files that are compressed: by their first bytes where they are read, by the ending of their names where written."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, UnicodeDecodeError)
"""What reading a damaged file raises."""


def damage(error: Exception) -> str:
    """What one of `DAMAGED` says of the file, in a few words."""
    return "is no text" if isinstance(error, UnicodeDecodeError) else str(error)


def text_of(file: BinaryIO, start: bytes) -> io.TextIOWrapper:
    """The text of a file that begins with `start`: plain, gzip or xz; UTF-8, perhaps with a mark."""
    opened: Any = gzip.open if start.startswith(b"\x1f\x8b") else lzma.open if start.startswith(b"\xfd7zXZ") else None
    return io.TextIOWrapper(opened(file) if opened else file, encoding="utf-8-sig")


def open_for(path: Path, name: str) -> IO[bytes]:
    """Open `path` for writing, with the compression that `name` ends in: .gz, .xz or none."""
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path, "wb", compresslevel=6))
    if name.endswith(".xz"):
        return cast("IO[bytes]", lzma.open(path, "wb", preset=1))
    return path.open("wb")

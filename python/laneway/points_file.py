"""Matrices in files that others wrote: NumPy's own formats, and text."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from laneway.compressed import DAMAGED, damage, text_of
from laneway.errors import UsageError, reason_of

LONGEST_LINE = 1 << 26
"""Characters of a line: room for a point of some million coordinates."""


def load_points(path: Path) -> NDArray[Any]:
    """The array that a file holds, of any type and shape; UsageError where the file is missing or broken."""
    try:
        with path.open("rb") as opened:
            # NumPy's formats are read from here and there, which pipes do not allow.
            file: BinaryIO = opened if opened.seekable() else io.BytesIO(opened.read())
            start = file.read(6)
            file.seek(0)
            if start.startswith((b"\x93NUMPY", b"PK")):
                return _load_array(path, file)
            return _load_text(path, file, start)
    except OSError as error:
        raise UsageError(f"{path}: {reason_of(error)}") from None
    except DAMAGED as error:
        raise UsageError(f"{path}: {damage(error)}") from None
    except MemoryError:
        raise UsageError(f"{path}: needs more memory than there is") from None


def _load_array(path: Path, file: BinaryIO) -> NDArray[Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            if file.read(2) == b"PK":
                file.seek(0)
                return _load_archive(path, file)
            file.seek(0)
            return _load_whole(file)
    except (OSError, UsageError):
        raise
    except Exception as error:  # a damaged file leads NumPy and zipfile to about every kind
        raise UsageError(f"{path}: is no whole NumPy file: {' '.join(str(error).split())}") from None


def _load_whole(file: BinaryIO) -> NDArray[Any]:
    """A .npy file, whose header must not promise more than there is: NumPy would ask for the memory first."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} is not that of an array of numbers")
    shape, _, kind = readers[version](file)
    begin = file.tell()
    there = file.seek(0, io.SEEK_END) - begin
    promised = math.prod(shape) * kind.itemsize
    if any(length < 0 for length in shape) or (promised > there and not kind.hasobject):
        raise ValueError(f"{there} bytes of data are not enough for {kind} of the shape {shape}")
    file.seek(0)
    loaded: NDArray[Any] = np.load(file, allow_pickle=False)
    return loaded


def _load_archive(path: Path, file: BinaryIO) -> NDArray[Any]:
    with closing(np.load(file, allow_pickle=False)) as archive:
        if len(archive.files) != 1 and "points" not in archive.files:
            names = " ".join(", ".join(archive.files).split()) or "nothing"
            raise UsageError(f"{path}: holds {names}, but no array `points`")
        found = archive["points" if "points" in archive.files else archive.files[0]]
        if not isinstance(found, np.ndarray):
            raise UsageError(f"{path}: holds no array")
        return found


def _load_text(path: Path, file: BinaryIO, start: bytes) -> NDArray[Any]:
    lines = _Lines(path, text_of(file, start))
    first = next((line for line in lines if line.split("#")[0].strip()), "")
    delimiter = "," if "," in first.split("#")[0] else None
    fields = _fields(first, delimiter)
    titles = any(fields) and not any(_is_number(field.strip("\"'")) for field in fields)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files without points, which are refused
            return np.loadtxt(lines if titles else chain([first], lines), delimiter=delimiter, ndmin=2)
    except (UsageError, UnicodeDecodeError):
        raise
    except ValueError as error:
        lines.refuse_last(delimiter, 0 if titles else len(fields), str(error))


class _Lines:
    """The lines of a text, bounded and counted. np.loadtxt takes one at a time: what it refuses is the last."""

    def __init__(self, path: Path, text: io.TextIOWrapper) -> None:
        self._path = path
        self._text = text
        self._number = 0
        self._last = ""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        self._number += 1
        if len(line) > LONGEST_LINE:
            raise UsageError(f"{self._path}:{self._number}: the line is longer than {LONGEST_LINE} characters")
        self._last = line
        return line

    def refuse_last(self, delimiter: str | None, columns: int, reason: str) -> NoReturn:
        """Raise UsageError that says what is wrong with the last line; `reason` is NumPy's, for what is none of ours.

        `columns` of the first row, 0 where that was a row of titles.
        """
        fields = _fields(self._last, delimiter)
        for number, field in enumerate(fields, start=1):
            if not _is_number(field):
                reason = f"field {number} is {_shown(field)}, no number"
                break
        else:
            if columns and len(fields) != columns:
                reason = f"the first row has {columns} columns, this one {len(fields)}"
        raise UsageError(f"{self._path}:{self._number}: {' '.join(reason.split())}") from None


def _fields(line: str, delimiter: str | None) -> list[str]:
    return [field.strip() for field in line.split("#")[0].strip().split(delimiter)]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word  # Python's own


def _shown(field: str) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in field[:40])
    return f"'{text}{'...' if len(field) > 40 else ''}'"

"""Reading, generating and writing points."""

from __future__ import annotations

import gzip
import lzma
import os
import warnings
import zipfile
import zlib
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arguments import require_whole
from laneway.errors import SystemError, UsageError, reason_of

PathLike = Union[str, "os.PathLike[str]"]

BROKEN = (ValueError, EOFError, TypeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


def read_points(path: PathLike) -> NDArray[Any]:
    """Read points, one row each, as float32 or float64.

    The file is a NumPy array (.npy), an archive (.npz) with one array or one named `points`, or text (plain, gzip or
    xz) with a point a line, coordinates set apart by commas or blanks, `#` before comments and perhaps one line of
    titles. Numbers that are no float32 become float64. Raises UsageError for a file that is missing or broken, and for
    a coordinate that is not finite, naming row and column, from 1.
    """
    if not os.fspath(path):
        raise UsageError("the points' file name is empty")
    try:
        with Path(path).open("rb") as file:
            start = file.read(6)
        if start.startswith((b"\x93NUMPY", b"PK")):
            return as_points(_load(path), str(path))
        return as_points(_load_text(path, start), str(path))
    except UsageError:  # a ValueError too
        raise
    except BROKEN as error:
        raise UsageError(f"{path}: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {reason_of(error)}") from None


def as_points(points: ArrayLike, name: str) -> NDArray[Any]:
    """A matrix of float32 or float64 in row order, of finite numbers; UsageError with `name` where it is none."""
    array = np.asarray(points)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise UsageError(f"{name}: points must be a matrix of numbers, not {array.ndim}-dimensional {array.dtype}")
    if array.size == 0:
        raise UsageError(f"{name}: there are no points")
    rows: NDArray[Any] = np.ascontiguousarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64)
    _core.require_finite(name, rows)
    return rows


def write_points(points: NDArray[Any], path: PathLike, name: str | None = None) -> None:
    """Write points as .npy, .npz (array `points`) or .csv, as the ending of `name` says, or of `path` where it is None.

    Raises UsageError for another ending, SystemError where the file cannot be written.
    """
    ending = Path(path if name is None else name).suffix.lower()
    try:
        with Path(path).open("wb") as file:
            if ending == ".npy":
                np.save(file, points)
            elif ending == ".npz":
                np.savez(file, points=points)
            elif ending == ".csv":
                np.savetxt(file, points, fmt="%.9g" if points.dtype == np.float32 else "%.17g", delimiter=",")
            else:
                raise UsageError(f"{name or path}: a file of points must end in .npy, .npz or .csv")
    except OSError as error:
        raise SystemError(f"{name or path}: cannot be written: {reason_of(error)}") from None


def generate_blobs(
    count: int, dimensions: int, clusters: int, *, spread: float = 1.0, double: bool = False, seed: int = 1
) -> NDArray[Any]:
    """Points of Gaussian blobs around centres that are uniform in a cube of side 20.

    `spread` is the standard deviation of each coordinate; the points are float32, or float64 where `double` is set. The
    same arguments give the same points. Raises UsageError for arguments below 1 and a spread that is negative.
    """
    for name, number in (("count", count), ("dimensions", dimensions), ("clusters", clusters)):
        require_whole(name, number, 1, bits=48)
    require_whole("seed", seed)
    if not 0 <= spread < 1e9:
        raise UsageError(f"spread must be from 0 to 1e9, not {spread}")
    random = np.random.default_rng(seed)
    try:
        centres = random.uniform(-10, 10, (clusters, dimensions))
        points: NDArray[Any] = centres[random.integers(clusters, size=count)]
        points += spread * random.standard_normal((count, dimensions))
        return points if double else points.astype(np.float32)
    except (MemoryError, ValueError):
        raise SystemError(f"not enough memory for {count} points of {dimensions} dimensions") from None


def _load(path: PathLike) -> NDArray[Any]:
    loaded = np.load(path, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return loaded
    with closing(loaded):
        if len(loaded.files) != 1 and "points" not in loaded.files:
            raise UsageError(f"{path}: holds {', '.join(loaded.files) or 'nothing'}, but no array `points`")
        found: NDArray[Any] = loaded["points" if "points" in loaded.files else loaded.files[0]]
        return found


def _load_text(path: PathLike, start: bytes) -> NDArray[Any]:
    opened: Any = gzip.open if start.startswith(b"\x1f\x8b") else lzma.open if start.startswith(b"\xfd7zXZ") else open
    with opened(path, "rt", encoding="utf-8") as file:
        first = next((line for line in file if line.split("#")[0].strip()), "").split("#")[0]
        delimiter = "," if "," in first else None
        titles = not all(_is_number(word) for word in first.split(delimiter))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files without points, which are refused
            return np.loadtxt(file if titles else chain([first], file), delimiter=delimiter, ndmin=2)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

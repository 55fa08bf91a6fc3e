"""Reading, generating and writing points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arguments import require_real, require_whole
from laneway.arrays import as_array, first_masked
from laneway.errors import SystemError, UsageError
from laneway.file_names import PathLike, as_path
from laneway.pending_file import PendingFile
from laneway.points_file import load_points

ENDINGS = (".npy", ".npz", ".csv")


def read_points(path: PathLike) -> NDArray[Any]:
    """Read points, one row each, as float32 or float64.

    The file, which may be a pipe, is a NumPy array (.npy), an archive (.npz) with one array or one named `points`, or
    text (plain, gzip or xz; UTF-8) with a point a line, coordinates set apart by commas or blanks, `#` before comments
    and perhaps one line of titles, none of which is a number. Numbers that are no float32 become float64. Raises
    UsageError for a file that is missing or broken, naming the line and the field of a text, and for a coordinate that
    is not finite, naming row and column, from 1.
    """
    file = as_path(path, "the points' file name")
    return as_points(load_points(file), str(file))


def as_points(points: ArrayLike, name: str, own: bool = False) -> NDArray[Any]:
    """A matrix of float32 or float64 in row order, of finite numbers; UsageError with `name` where it is none, and for
    a masked array that lacks a number. `own`: a copy, that nobody else can change later."""
    masked = first_masked(points)
    if masked is not None:
        place = ", ".join(f"{axis} {index + 1}" for axis, index in zip(("row", "column"), masked))
        raise UsageError(f"{name}: {place} is masked: points have no missing coordinates")
    if hasattr(points, "toarray"):  # SciPy's matrices with few entries
        raise UsageError(f"{name}: points must be dense, not {type(points).__name__}: give {name}.toarray()")
    array = as_array(name, points)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise UsageError(f"{name}: points must be a matrix of numbers, not {array.ndim}-dimensional {array.dtype}")
    if array.size == 0:
        raise UsageError(f"{name}: there are no points")
    rows: NDArray[Any] = array.astype(np.float32 if array.dtype == np.float32 else np.float64, order="C", copy=own)
    _core.require_finite(name, rows)
    return rows


def write_points(points: ArrayLike, path: PathLike) -> None:
    """Write points as .npy, .npz (array `points`) or .csv, as the ending of the name says.

    The file appears complete or not at all. Raises UsageError for another ending, for what is no matrix of finite
    numbers, and where the file cannot be written.
    """
    target = as_path(path, "the points' file name")
    require_points_name(target)
    rows = as_points(points, "points")
    with PendingFile(target) as file:
        write_pending_points(rows, file)
        file.commit()


def require_points_name(path: Path) -> None:
    """UsageError for a name that does not say how points are written."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: a file of points must end in .npy, .npz or .csv")


def write_pending_points(points: NDArray[Any], pending: PendingFile) -> None:
    """Write points to a file that is open and not yet in its place, as the ending of its name says."""
    ending = pending.path.suffix.lower()

    def write(file: Path) -> None:
        with file.open("wb") as stream:
            if ending == ".npy":
                np.save(stream, points)
            elif ending == ".npz":
                np.savez(stream, points=points)
            else:
                np.savetxt(stream, points, fmt="%.9g" if points.dtype == np.float32 else "%.17g", delimiter=",")

    pending.fill(write)


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
    require_real("spread", spread)
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

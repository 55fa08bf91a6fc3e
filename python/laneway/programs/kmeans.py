"""k-means clustering over many devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, require_whole
from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.points import as_points
from laneway.programs.kmeans_init import RandomState, generator_of, initial_centers
from laneway.workspace import Workspace

MAX_ITER = 300
TOL = 1e-4

Raw = Union[_core.Kmeans32, _core.Kmeans64]


@dataclass(frozen=True, eq=False)
class KmeansResult(Answer):
    """Clusters and the account of the run that found them."""

    labels: NDArray[np.int32]
    """Cluster of each point: that of the nearest center, the lowest of equals."""
    cluster_centers: NDArray[Any]
    """One row a cluster, of the points' type."""
    sizes: NDArray[np.uint64]
    """Points of each cluster."""
    inertia: float
    """Sum of squared distances of points to their centers, times their weights."""
    n_iter: int
    """Rounds: times that centers were moved."""
    converged: bool
    """Whether the last of them was within the tolerance."""
    empties: int
    """Clusters without points, or with weight 0, summed over rounds."""
    initial: NDArray[Any]
    """Centers at the start of the run that was best."""
    report: Report
    """Of the run that was best."""


def kmeans(
    points: ArrayLike,
    n_clusters: int,
    *,
    sample_weight: ArrayLike | None = None,
    init: str | ArrayLike = "k-means++",
    n_init: int | str = "auto",
    max_iter: int = MAX_ITER,
    tol: float = TOL,
    random_state: RandomState = 0,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> KmeansResult:
    """Lloyd's algorithm: divide `points`, one row each, into `n_clusters` around centers; scikit-learn's names.

    Points stay float32 where they are; other numbers become float64. `sample_weight` says how much each point counts, 0
    or more. `init` says where centers start: "k-means++" (Arthur and Vassilvitskii, SODA 2007), "random" (points drawn
    at random), both by `random_state`, "first" (the first points), or a matrix with one row a cluster. The best of
    `n_init` starts is taken, the one with the least inertia; "auto" is 10 for "random" and else 1, and where nothing is
    drawn there is one. `random_state` is the seed of what is drawn, a NumPy generator, or None for another start each
    time; `seed` has nothing to do with it: it orders the lanes of checked devices and changes no result.

    Rounds end when no center moves, or when the squares of their movements sum up to `tol` times the mean variance of
    the columns, or after `max_iter`. A cluster that loses all points keeps its center, where scikit-learn moves it to a
    far point.

    The result is the same, to the bit, on any `devices`; these, `seed`, `timeout`, `buffer_bytes` and `progress` are
    those of `sssp`. Raises UsageError for wrong arguments, more clusters than points, coordinates and weights that are
    not finite, naming row and column from 1; TimeoutError and DeviceFault for a failed run. Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_clusters(workspace, points, n_clusters, sample_weight, init, n_init, max_iter, tol, random_state)


def find_clusters(
    workspace: Workspace,
    points: ArrayLike,
    n_clusters: int,
    sample_weight: ArrayLike | None,
    init: str | ArrayLike,
    n_init: int | str,
    max_iter: int,
    tol: float,
    random_state: RandomState,
) -> KmeansResult:
    """`kmeans` on devices that are there."""
    rows = as_points(points, "points", own=True)
    weights = _as_weights(sample_weight, len(rows))
    require_whole("n_clusters", n_clusters, 1, bits=30)
    require_whole("max_iter", max_iter, 1, bits=32)
    if not isinstance(tol, (int, float)) or not 0 <= tol < np.inf:
        raise UsageError(f"tol must be a number from 0 on, not {tol!r}")
    if n_clusters > len(rows):
        raise UsageError(f"n_clusters = {n_clusters} is more than there are points: n_samples = {len(rows)}")
    starts = _number_of_starts(n_init, init)
    random = generator_of(random_state)
    initial = np.stack([initial_centers(rows, weights, n_clusters, init, random) for _ in range(starts)])
    raw = _run(workspace, rows, weights, initial, max_iter, float(tol))
    return KmeansResult(
        raw.take_labels(),
        raw.take_cluster_centers(rows.shape[1]),
        raw.take_sizes(),
        raw.inertia,
        raw.n_iter,
        raw.converged,
        raw.empties,
        initial[raw.start],
        raw.report,
    )


def nearest_centers(
    workspace: Workspace, points: NDArray[Any], centers: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[NDArray[np.int32], float]:
    """Label of each point and the inertia, for centers of the points' type; as `kmeans` with these centers finds."""
    rows = as_points(points, "points", own=True)
    raw = _run(workspace, rows, _as_weights(sample_weight, len(rows)), centers[np.newaxis], 0, 0.0)
    return raw.take_labels(), raw.inertia


def _run(
    workspace: Workspace,
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    initial: NDArray[Any],
    max_iter: int,
    tol: float,
) -> Raw:
    """`initial`: one matrix a start."""
    stacked = np.ascontiguousarray(initial.reshape(-1, rows.shape[1]))
    return _core.kmeans(workspace.core, rows, weights, stacked, len(initial), max_iter, tol)


def _number_of_starts(n_init: int | str, init: str | ArrayLike) -> int:
    if isinstance(n_init, str):
        if n_init != "auto":
            raise UsageError(f"n_init must be 'auto' or a whole number, not {n_init!r}")
        return 10 if isinstance(init, str) and init == "random" else 1
    require_whole("n_init", n_init, 1, bits=16)
    return n_init if isinstance(init, str) and init != "first" else 1


def _as_weights(sample_weight: ArrayLike | None, count: int) -> NDArray[np.float64] | None:
    """One number a point; UsageError unless they are finite, 0 or more, and not all 0."""
    if sample_weight is None:
        return None
    weights = as_array("sample_weight", sample_weight, lambda place: f"sample_weight of point {place + 1}")
    if weights.shape != (count,) or weights.dtype.kind not in "fiub":
        raise UsageError(f"sample_weight must be one number for each of {count} points, not {weights.shape}")
    weights = weights.astype(np.float64, order="C")  # a copy, as of the points
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        place = int(wrong[0])
        raise UsageError(f"sample_weight of point {place + 1} is {weights[place]}, not finite and 0 or more")
    if not weights.any():
        raise UsageError("sample_weight is zero for all points")
    return weights

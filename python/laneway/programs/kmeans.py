"""k-means clustering over many devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import UsageError
from laneway.interrupt import interruptible
from laneway.points import as_points


@dataclass(frozen=True, eq=False)
class KmeansResult(Answer):
    """Clusters and the account of the run that found them."""

    labels: NDArray[np.uint32]
    """Cluster of each point: that of the nearest centroid, the lowest of equals."""
    centroids: NDArray[Any]
    """One row a cluster, of the points' type."""
    sizes: NDArray[np.uint64]
    """Points of each cluster."""
    inertia: float
    """Sum of squared distances of points to their centroids."""
    rounds: int
    """Times that centroids were moved."""
    converged: bool
    """Whether the last of them was within the tolerance."""
    empties: int
    """Clusters without points, summed over rounds."""
    initial: NDArray[Any]
    """Centroids at the start."""
    report: Report


def kmeans(
    points: ArrayLike,
    clusters: int,
    *,
    init: str | ArrayLike = "k-means++",
    init_seed: int = 1,
    tolerance: float = 0.0,
    max_rounds: int = 300,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> KmeansResult:
    """Lloyd's algorithm: divide `points`, one row each, into `clusters` around centroids.

    Points stay float32 where they are; other numbers become float64. `init` says where centroids start: "k-means++"
    (Arthur and Vassilvitskii, SODA 2007), "random" (points drawn at random), both by `init_seed`, "first" (the first
    points), or a matrix with one row a cluster. Rounds end when no centroid moves, or when the squares of their
    movements sum up to `tolerance` times the mean variance of the columns, as in scikit-learn, or after `max_rounds`. A
    cluster that loses all points keeps its centroid.

    The result is the same, to the bit, on any `devices`; these, `seed`, `timeout`, `buffer_bytes` and `progress` are
    those of `sssp`. Raises UsageError for wrong arguments, more clusters than points, and coordinates that are not
    finite, naming row and column from 1; TimeoutError and DeviceFault for a failed run. Ctrl-C is as with `sssp`.
    """
    rows = as_points(points, "points")
    require_whole("clusters", clusters, 1, bits=30)
    require_whole("max_rounds", max_rounds, 1, bits=32)
    if not 0 <= tolerance < np.inf:
        raise UsageError(f"tolerance must be a number from 0 on, not {tolerance}")
    if clusters > len(rows):
        raise UsageError(f"{clusters} clusters are more than there are points: {len(rows)}")
    job = job_options(devices, seed, timeout, progress, buffer_bytes)
    initial = initial_centroids(rows, clusters, init, init_seed)
    limit = tolerance * float(rows.var(axis=0, dtype=np.float64).mean()) if tolerance > 0 else 0.0
    raw = interruptible(lambda: _core.kmeans(rows, initial, max_rounds, limit, job))
    return KmeansResult(
        raw.take_labels(),
        raw.take_centroids(rows.shape[1]),
        raw.take_sizes(),
        raw.inertia,
        raw.rounds,
        raw.converged,
        raw.empties,
        initial,
        raw.report,
    )


def initial_centroids(points: NDArray[Any], clusters: int, init: str | ArrayLike, init_seed: int) -> NDArray[Any]:
    """Where the centroids of `kmeans` start; UsageError for an `init` that says nothing."""
    require_whole("init_seed", init_seed)
    if not isinstance(init, str):
        given = as_points(init, "init").astype(points.dtype)
        if given.shape != (clusters, points.shape[1]):
            raise UsageError(
                f"init must be {clusters} rows of {points.shape[1]}, not {given.shape[0]} of {given.shape[1]}"
            )
        return given
    if init == "first":
        return points[:clusters].copy()
    random = np.random.default_rng(init_seed)
    if init == "random":
        return points[random.choice(len(points), clusters, replace=False)]
    if init == "k-means++":
        return _plus_plus(points, clusters, random)
    raise UsageError(f"init must be k-means++, random, first or centroids, not {init!r}")


def _plus_plus(points: NDArray[Any], clusters: int, random: np.random.Generator) -> NDArray[Any]:
    """Each further centroid is a point drawn with the square of its distance to the nearest one so far as weight."""
    chosen = [int(random.integers(len(points)))]
    squares = np.full(len(points), np.inf)
    while len(chosen) < clusters:
        apart = points.astype(np.float64) - points[chosen[-1]]
        np.minimum(squares, np.einsum("ij,ij->i", apart, apart), out=squares)
        steps = np.cumsum(squares)
        drawn = np.searchsorted(steps, random.random() * steps[-1], side="right")
        chosen.append(min(int(drawn), len(points) - 1))
    return points[chosen]

"""Where the centers of k-means start."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway.arguments import require_whole
from laneway.errors import UsageError
from laneway.points import as_points

RandomState = Union[int, None, np.random.Generator, np.random.RandomState]


def generator_of(random_state: RandomState) -> np.random.Generator:
    """What draws for a seed, for None, or for a generator of NumPy's."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if random_state is not None:
        require_whole("random_state", random_state)
    return np.random.default_rng(random_state)


def initial_centers(
    points: NDArray[Any],
    weights: NDArray[np.float64] | None,
    n_clusters: int,
    init: str | ArrayLike,
    random: np.random.Generator,
) -> NDArray[Any]:
    """One row a cluster; UsageError for an `init` that says nothing.

    Weights are finite, 0 or more, and not all 0; points without weight are not drawn.
    """
    if callable(init):
        raise UsageError("init must be k-means++, random, first or centers, not a function: give what it returns")
    if not isinstance(init, str):
        given = as_points(init, "init").astype(points.dtype)
        if given.shape != (n_clusters, points.shape[1]):
            raise UsageError(
                f"init must be {n_clusters} rows of {points.shape[1]}, not {given.shape[0]} of {given.shape[1]}"
            )
        return given
    if init == "first":
        return points[:n_clusters].copy()
    if init not in ("random", "k-means++"):
        raise UsageError(f"init must be k-means++, random, first or centers, not {init!r}")
    if init == "k-means++":
        return _plus_plus(points, weights, n_clusters, random)
    if weights is None:
        return points[random.choice(len(points), n_clusters, replace=False)]
    if np.count_nonzero(weights) < n_clusters:
        raise UsageError(f"init 'random' needs {n_clusters} points whose sample_weight is not 0")
    scaled = weights / weights.max()
    return points[random.choice(len(points), n_clusters, replace=False, p=scaled / scaled.sum())]


def _plus_plus(
    points: NDArray[Any], weights: NDArray[np.float64] | None, n_clusters: int, random: np.random.Generator
) -> NDArray[Any]:
    """Each further center is a point drawn with its weight times the square of its distance to the nearest one so far.

    Points are drawn in an order that their values tell. So the same seed draws the same points in whatever order they
    are given, and a point of weight 2 is drawn as two points of weight 1 are.
    """
    order = _order_of_values(points)
    rows = points[order]
    chances = None if weights is None else weights[order] / weights.max()
    squares = np.ones(len(points))
    chosen: list[int] = []
    while len(chosen) < n_clusters:
        steps = np.cumsum(squares if chances is None else squares * chances)
        drawn = np.searchsorted(steps, random.random() * steps[-1], side="right")
        chosen.append(min(int(drawn), len(points) - 1))
        apart = rows.astype(np.float64) - rows[chosen[-1]]
        nearest = np.einsum("ij,ij->i", apart, apart)
        squares = nearest if len(chosen) == 1 else np.minimum(squares, nearest, out=squares)
    return rows[chosen]


def _order_of_values(points: NDArray[Any]) -> NDArray[np.intp]:
    """The points by a hash of their coordinates, so that equal ones are neighbours."""
    key = np.zeros(len(points), dtype=np.uint64)
    for column in range(points.shape[1]):
        bits = (points[:, column].astype(np.float64) + 0.0).view(np.uint64)  # -0 becomes 0
        key = (key ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    return np.argsort(key, kind="stable")

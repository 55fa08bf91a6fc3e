"""Reference answers of shortest paths."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.graph import Graph
from laneway.programs.paths import source_places
from laneway.verification import Verification, compare


def verify(
    graph: Graph,
    sources: Iterable[Any],
    distance: NDArray[np.int64],
    unit_weights: bool,
    before: NDArray[np.int64] | None = None,
) -> Verification:
    """Compare distances, plain ones, with SciPy's Dijkstra, or with the library's own where SciPy is not exact.

    `before` is the place of each vertex's predecessor, -1 where there is none: where it is given, distances count as
    wrong whose tree does not lead to a source by arcs that make them up.
    """
    places = source_places(graph, sources)
    if _scipy_can(graph, unit_weights):
        name = "SciPy Dijkstra"
        expected, seconds = _scipy_distances(graph, places, unit_weights)
    else:
        name = "Laneway's one-core Dijkstra"
        start = time.perf_counter()
        expected = _core.dijkstra(graph, places, unit_weights)
        seconds = time.perf_counter() - start

    astray = (
        np.zeros(graph.vertices, dtype=bool)
        if before is None
        else _astray(graph, places, expected, unit_weights, before)
    )

    def describe(place: int) -> str:
        vertex = f"vertex {graph.id_of(place)}"
        if expected[place] == distance[place] and before is not None:
            other = "none" if before[place] < 0 else str(graph.id_of(int(before[place])))
            return f"{vertex} has the predecessor {other}, which is on no shortest path to it"
        return f"{vertex} is at {expected[place]}, not at {distance[place]}"

    wrong: NDArray[np.bool_] = (expected != distance) | astray
    return compare(name, seconds, "distances", wrong, describe)


def _astray(
    graph: Graph, sources: list[int], distance: NDArray[np.int64], unit_weights: bool, before: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Vertices whose predecessors do not lead to a source by arcs that are as long as the distances say."""
    inner = distance >= 0
    inner[sources] = False
    degrees = (graph.offsets[1:] - graph.offsets[:-1]).astype(np.int64)
    tails = np.repeat(np.arange(graph.vertices), degrees)
    heads = graph.heads.astype(np.int64)
    weighted = graph.weighted and not unit_weights
    lengths = graph.weights.astype(np.int64) if weighted else np.ones(graph.arcs, dtype=np.int64)
    fits = (before[heads] == tails) & (distance[tails] + lengths == distance[heads])
    joined = np.zeros(graph.vertices, dtype=bool)
    joined[heads[fits]] = True
    root = np.where(before < 0, np.arange(graph.vertices), before)
    for _ in range(graph.vertices.bit_length()):  # each time twice as far
        root = root[root]
    joined &= np.isin(root, sources)
    astray: NDArray[np.bool_] = np.where(inner, ~joined, before >= 0)
    return astray


def _scipy_can(graph: Graph, unit_weights: bool) -> bool:
    """SciPy counts arcs in 32 bits, adds in float64 and is not clear about zero weights in all its versions."""
    if graph.arcs >= 2**31 or graph.vertices >= 2**31:
        return False
    if unit_weights or not graph.weighted or graph.arcs == 0:
        return True
    weights = graph.weights
    return int(weights.min()) > 0 and int(weights.max()) * graph.vertices < 2**53


def _scipy_distances(graph: Graph, sources: list[int], unit_weights: bool) -> tuple[NDArray[np.int64], float]:
    from scipy import sparse
    from scipy.sparse import csgraph

    unweighted = unit_weights or not graph.weighted
    weights = np.ones(graph.arcs) if unweighted else graph.weights.astype(np.float64)
    heads, offsets = graph.heads.astype(np.int32), graph.offsets.astype(np.int32)
    matrix = sparse.csr_array((weights, heads, offsets), shape=(graph.vertices, graph.vertices))
    start = time.perf_counter()
    found = csgraph.dijkstra(matrix, directed=True, indices=sources, min_only=True)
    seconds = time.perf_counter() - start
    return np.where(np.isinf(found), -1, found).astype(np.int64), seconds

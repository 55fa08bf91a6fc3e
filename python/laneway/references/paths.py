"""Reference answers of shortest paths."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Graph
from laneway.programs.paths import source_index
from laneway.verification import Verification, compare


def verify(graph: Graph, source: int, distance: NDArray[np.int64], unit_weights: bool) -> Verification:
    """Compare `distance` with SciPy's Dijkstra, or with the library's own where SciPy cannot give exact answers."""
    index = source_index(graph, source)
    if _scipy_can(graph, unit_weights):
        name = "SciPy Dijkstra"
        expected, seconds = _scipy_distances(graph, index, unit_weights)
    else:
        name = "Laneway's one-core Dijkstra"
        start = time.perf_counter()
        expected = _core.dijkstra(graph, index, unit_weights)
        seconds = time.perf_counter() - start

    def describe(place: int) -> str:
        return f"vertex {graph.id_of(place)} is at {expected[place]}, not at {distance[place]}"

    return compare(name, seconds, "distances", expected != distance, describe)


def _scipy_can(graph: Graph, unit_weights: bool) -> bool:
    """SciPy counts arcs in 32 bits, adds in float64 and is not clear about zero weights in all its versions."""
    if graph.arcs >= 2**31 or graph.vertices >= 2**31:
        return False
    if unit_weights or not graph.weighted or graph.arcs == 0:
        return True
    weights = graph.weights
    return int(weights.min()) > 0 and int(weights.max()) * graph.vertices < 2**53


def _scipy_distances(graph: Graph, index: int, unit_weights: bool) -> tuple[NDArray[np.int64], float]:
    from scipy import sparse
    from scipy.sparse import csgraph

    unweighted = unit_weights or not graph.weighted
    weights = np.ones(graph.arcs) if unweighted else graph.weights.astype(np.float64)
    heads, offsets = graph.heads.astype(np.int32), graph.offsets.astype(np.int32)
    matrix = sparse.csr_array((weights, heads, offsets), shape=(graph.vertices, graph.vertices))
    start = time.perf_counter()
    found = csgraph.dijkstra(matrix, directed=True, indices=index)
    seconds = time.perf_counter() - start
    return np.where(np.isinf(found), -1, found).astype(np.int64), seconds

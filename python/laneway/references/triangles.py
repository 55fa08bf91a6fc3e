"""Reference answers of triangles and clustering."""

from __future__ import annotations

import time

from laneway import _core
from laneway.graph import Graph
from laneway.programs.lcc import ClusteringResult
from laneway.programs.triangles import TrianglesResult
from laneway.verification import Verification, compare


def verify_triangles(graph: Graph, result: TrianglesResult) -> Verification:
    """Compare with marking the neighbours of each vertex on one core."""
    counts = result.triangles.values
    start = time.perf_counter()
    expected = _core.triangles_by_marking(graph).take_triangles()
    seconds = time.perf_counter() - start

    def describe(place: int) -> str:
        return f"vertex {graph.id_of(place)} has {counts[place]} triangles, not {expected[place]}"

    return compare("Laneway's one-core count", seconds, "triangles", expected != counts, describe)


def verify_clustering(graph: Graph, result: ClusteringResult) -> Verification:
    """Compare with marking the neighbours of each vertex on one core."""
    coefficient = result.coefficient.values
    start = time.perf_counter()
    expected = _core.clustering_by_marking(graph).take_coefficient()
    seconds = time.perf_counter() - start

    def describe(place: int) -> str:
        return f"vertex {graph.id_of(place)} has coefficient {coefficient[place]}, not {expected[place]}"

    return compare("Laneway's one-core count", seconds, "coefficients", expected != coefficient, describe)

"""Reference answers of PageRank."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from laneway.graph import Graph
from laneway.programs.pagerank import PageRankResult
from laneway.verification import Verification, compare

SHARE_ROUNDING = 2.0**-24  # of each share of a rank that is carried


def verify(graph: Graph, result: PageRankResult) -> Verification:
    """Compare with SciPy's power iteration in float64, to half as much again as the shares' rounding may add up to."""
    expected, seconds = power_iteration(graph, result.damping, result.rounds)
    allowed = 1e-9 + 1.5 * SHARE_ROUNDING * sum(result.damping**i for i in range(1, result.rounds + 1))
    rank = result.rank.values

    def describe(place: int) -> str:
        return f"vertex {graph.id_of(place)} has rank {expected[place]:.12g}, not {rank[place]:.12g}"

    return compare("SciPy power iteration", seconds, "ranks", np.abs(rank - expected) > allowed * expected, describe)


def power_iteration(graph: Graph, damping: float, rounds: int) -> tuple[NDArray[np.float64], float]:
    """Ranks after `rounds`, and the time the iteration took."""
    from scipy import sparse

    n = graph.vertices
    offsets = graph.offsets.astype(np.int64)
    degree = np.diff(offsets)
    dangling = degree == 0
    arcs = (np.ones(graph.arcs), graph.heads.astype(np.int64), offsets)
    into = sparse.csr_array(sparse.csr_array(arcs, shape=(n, n)).T)
    rank = np.full(n, 1 / n)
    start = time.perf_counter()
    for _ in range(rounds):
        share = np.where(dangling, 0, rank / np.maximum(degree, 1))
        rank = (1 - damping) / n + damping * (into @ share + rank[dangling].sum() / n)
    return rank, time.perf_counter() - start

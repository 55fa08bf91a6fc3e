"""Graphs in memory that several tests make, and what they hold."""

from __future__ import annotations

from typing import Any

import laneway as lw
import numpy as np
from scipy import sparse

DEVICES = "cpu:2"


def arcs(graph: lw.Graph) -> list[tuple[Any, ...]]:
    """(tail, head, weight) of all arcs, by ids, in the order of the arrays."""
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets).astype(int))
    weights = graph.weights.tolist() if graph.weighted else [1] * graph.arcs
    ends = zip(tails.tolist(), graph.heads.tolist(), weights)
    return [(graph.id_of(tail), graph.id_of(head), weight) for tail, head, weight in ends]


def random_matrix(seed: int, n: int = 60, density: float = 0.06) -> Any:
    """Weights from 1 to 50."""
    return sparse.random_array((n, n), density=density, rng=seed, data_sampler=lambda size: 1 + np.arange(size) % 50)

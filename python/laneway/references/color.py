"""Reference answers of graph colouring."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.graph import Graph
from laneway.programs.color import ColorResult
from laneway.verification import Verification, compare


def verify(graph: Graph, result: ColorResult) -> Verification:
    """Compare with colouring vertex by vertex on one core, and look for arcs with one colour at both ends."""
    color = result.color.values
    start = time.perf_counter()
    expected = _core.color_greedily(graph, result.order or 0, result.sequence)
    seconds = time.perf_counter() - start
    clashes = clashing(graph, color)

    def describe(place: int) -> str:
        vertex = f"vertex {graph.id_of(place)} has colour {color[place]}"
        return f"{vertex}, as a neighbour has" if clashes[place] else f"{vertex}, not {expected[place]}"

    name = "Laneway's one-core greedy colouring"
    return compare(name, seconds, "colours", (expected != color) | clashes, describe)


def clashing(graph: Graph, color: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """For each vertex, whether one of its arcs leads to another vertex of its colour."""
    degrees = (graph.offsets[1:] - graph.offsets[:-1]).astype(np.int64)
    tails = np.repeat(np.arange(graph.vertices), degrees)
    found = np.zeros(graph.vertices, dtype=bool)
    found[tails[(color[tails] == color[graph.heads]) & (tails != graph.heads)]] = True
    return found

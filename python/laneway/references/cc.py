"""Reference answers of connected components."""

from __future__ import annotations

import time

from laneway import _core
from laneway.graph import Graph
from laneway.programs.cc import ComponentsResult
from laneway.verification import Verification, compare


def verify(graph: Graph, result: ComponentsResult) -> Verification:
    """Compare with union and find on one core."""
    component = result.component.values
    start = time.perf_counter()
    expected = _core.components_by_union_find(graph)
    seconds = time.perf_counter() - start

    def describe(place: int) -> str:
        return f"vertex {graph.id_of(place)} is in component {component[place]}, not {expected[place]}"

    return compare("Laneway's one-core union and find", seconds, "components", expected != component, describe)

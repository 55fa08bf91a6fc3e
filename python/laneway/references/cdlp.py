"""Reference answers of label propagation."""

from __future__ import annotations

import time

from laneway import _core
from laneway.graph import Graph
from laneway.programs.cdlp import LabelsResult
from laneway.verification import Verification, compare


def verify(graph: Graph, result: LabelsResult, rounds: int) -> Verification:
    """Compare with sorting the labels around each vertex on one core."""
    label = result.label.values
    start = time.perf_counter()
    expected = graph.ids[_core.labels_by_sorting(graph, rounds)]
    seconds = time.perf_counter() - start

    def describe(place: int) -> str:
        return f"vertex {graph.id_of(place)} has label {label[place]}, not {expected[place]}"

    return compare("Laneway's one-core label propagation", seconds, "labels", expected != label, describe)

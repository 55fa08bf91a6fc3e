"""Triangles of a graph over many devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES
from laneway.graph import GraphLike, as_arcs
from laneway.vertex_array import VertexArray, read_only
from laneway.workspace import Workspace


@dataclass(frozen=True, eq=False)
class TrianglesResult(VertexAnswer):
    """Triangles and the account of the run that counted them."""

    values_name = "triangles"

    triangles: VertexArray[np.uint64]
    """One entry a vertex, in the order of `ids`: triangles that have it as a corner."""
    total: int
    """Triangles of the graph."""
    partition_seconds: float
    """Ordering and dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""


def triangles(
    graph: GraphLike,
    *,
    weight: str | None = "weight",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> TrianglesResult:
    """Triangles of a graph, and of each of its vertices: three vertices of which each two are joined, in any direction.

    Parallel arcs and self-loops do not count. The devices keep the graph in parts that go round while they count, so a
    graph may be larger than the memory of one of them. Method: common neighbours behind both ends of each arc, arcs
    leading from lesser to greater degree (Chiba and Nishizeki 1985; Schank and Wagner 2005). `weight` is that of `bfs`;
    `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong
    arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return count_triangles(workspace, graph, weight)


def count_triangles(workspace: Workspace, given: GraphLike, weight: str | None) -> TrianglesResult:
    """`triangles` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    raw = _core.triangles(workspace.resident(graph, given))
    return TrianglesResult(
        VertexArray(read_only(raw.take_triangles()), graph.numbering),
        raw.total,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

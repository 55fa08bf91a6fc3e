"""In-degrees of a graph over many devices."""

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
class InDegreeResult(VertexAnswer):
    """In-degrees and the account of the run that counted them."""

    values_name = "in_degree"

    in_degree: VertexArray[np.uint64]
    """One entry a vertex, in the order of `ids`: arcs that lead to it, parallel ones too."""
    walk: str
    """"lists" or "arcs"."""
    partition_seconds: float
    """Dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""


def indegree(
    graph: GraphLike,
    *,
    walk: str = "lists",
    weight: str | None = "weight",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> InDegreeResult:
    """Number of arcs that lead to each vertex; every arc is a message to the owner of its head.

    `walk` is "lists", where a lane walks the list of one vertex after another and lanes diverge as lists end (Orr 2016,
    section 5.3), or "arcs", where neighbouring lanes take neighbouring arcs. `weight` is that of `bfs`; `devices`,
    `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong arguments,
    TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return count_arcs(workspace, graph, weight, walk)


def count_arcs(workspace: Workspace, given: GraphLike, weight: str | None, walk: str) -> InDegreeResult:
    """`indegree` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    raw = _core.indegree(workspace.resident(graph, given), str(walk))
    return InDegreeResult(
        VertexArray(read_only(raw.take_in_degree()), graph.numbering),
        walk,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

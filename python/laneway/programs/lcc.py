"""Local clustering coefficients of a graph over many devices."""

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
class ClusteringResult(VertexAnswer):
    """Coefficients and the account of the run that found them."""

    values_name = "coefficient"

    coefficient: VertexArray[np.float64]
    """One entry a vertex, in the order of `ids`: 0 to 1."""
    average: float
    """Over all vertices; 0 where there are none."""
    partition_seconds: float
    """Ordering and dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""


def local_clustering(
    graph: GraphLike,
    *,
    weight: str | None = "weight",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> ClusteringResult:
    """For each vertex, arcs that lead from one of its neighbours to another, as a part of those that could.

    With d neighbours, in either direction, d (d - 1) could; with fewer than two the coefficient is 0. Parallel arcs
    count as one, self-loops do not count. Of undirected graphs this is NetworkX's `clustering`. Method: LDBC
    Graphalytics 1.0.5, section 2.3.6, by `triangles`. `weight` is that of `bfs`; `devices`, `seed`, `timeout`,
    `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong arguments, TimeoutError and
    DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_clustering(workspace, graph, weight)


def find_clustering(workspace: Workspace, given: GraphLike, weight: str | None) -> ClusteringResult:
    """`local_clustering` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    raw = _core.local_clustering(workspace.resident(graph, given))
    return ClusteringResult(
        VertexArray(read_only(raw.take_coefficient()), graph.numbering),
        raw.average,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

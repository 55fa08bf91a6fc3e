"""Community detection by label propagation over many devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, require_whole
from laneway.graph import GraphLike, as_arcs
from laneway.partition import Partition
from laneway.vertex_array import VertexArray, read_only
from laneway.workspace import Workspace


@dataclass(frozen=True, eq=False)
class LabelsResult(VertexAnswer):
    """Labels and the account of the run that spread them."""

    values_name = "label"

    label: VertexArray[Any]
    """One entry a vertex, in the order of `ids`: the id of the vertex whose label it was at first."""
    labels: int
    """How many different ones are left."""
    rounds: int
    """Rounds done, with the one that changed nothing."""
    converged: bool
    """Whether the last round changed nothing."""
    partition_seconds: float
    """Dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""


def label_propagation(
    graph: GraphLike,
    *,
    rounds: int = 10,
    weight: str | None = "weight",
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> LabelsResult:
    """Communities of a graph, by labels that spread along its arcs in either direction.

    Each vertex begins with its own label. In each of at most `rounds` rounds all vertices at once take the label that
    most of their neighbours have, that of the first vertex of several. In a directed graph an arc each way between two
    vertices counts twice; self-loops do not count. The result is the same on any devices. Method: LDBC Graphalytics
    1.0.5, section 2.3.5, after Raghavan, Albert and Kumara (2007). `weight` is that of `bfs`; `partition`, `devices`,
    `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong arguments,
    TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return spread_labels(workspace, graph, weight, rounds, partition)


def spread_labels(
    workspace: Workspace, given: GraphLike, weight: str | None, rounds: int, partition: Partition
) -> LabelsResult:
    """`label_propagation` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    require_whole("rounds", rounds)
    parts = workspace.parts(graph, partition)
    raw = _core.label_propagation(workspace.resident(graph, given), rounds, parts)
    return LabelsResult(
        VertexArray(read_only(graph.ids[raw.take_label()]), graph.numbering),
        raw.labels,
        raw.rounds,
        raw.converged,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

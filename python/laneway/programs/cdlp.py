"""Community detection by label propagation over many devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, require_whole
from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.graph import Graph, GraphLike, as_arcs
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
    classes: ArrayLike | None = None,
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
    vertices counts twice; self-loops do not count. Method: LDBC Graphalytics 1.0.5, section 2.3.5, after Raghavan,
    Albert and Kumara (2007).

    `classes` has a whole number for each vertex, in the order of `ids`. The vertices of a class take labels at once,
    and the classes one after the other, by number, in each round: a vertex keeps its label where that is among the most
    frequent ones, and takes that of the last vertex among them otherwise. Each neighbour counts once, and a vertex with
    a self-loop is one of itself. Where no two neighbours are of one class, as in `color(graph).color`, labels come to
    rest, however many rounds that takes. Method: Cordasco and Gargano (2010), as NetworkX's
    `label_propagation_communities`.

    The result is the same on any devices. `weight` is that of `bfs`; `partition`, `devices`, `seed`, `timeout`,
    `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong arguments, TimeoutError and
    DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return spread_labels(workspace, graph, weight, rounds, classes, partition)


def spread_labels(
    workspace: Workspace,
    given: GraphLike,
    weight: str | None,
    rounds: int,
    classes: ArrayLike | None,
    partition: Partition,
) -> LabelsResult:
    """`label_propagation` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    require_whole("rounds", rounds)
    ranks = _ranks_of(graph, classes)
    parts = workspace.parts(graph, partition)
    raw = _core.label_propagation(workspace.resident(graph, given), rounds, parts, ranks)
    return LabelsResult(
        VertexArray(read_only(graph.ids[raw.take_label()]), graph.numbering),
        raw.labels,
        raw.rounds,
        raw.converged,
        raw.partition_seconds,
        raw.report,
        weighted,
    )


def _ranks_of(graph: Graph, classes: ArrayLike | None) -> NDArray[np.uint32] | None:
    """Classes by number, from 0; UsageError for what is no whole number a vertex."""
    if classes is None:
        return None
    given = as_array("classes", classes)
    if given.shape != (graph.vertices,) or (given.size and given.dtype.kind not in "iu"):
        raise UsageError(f"classes must hold one whole number for each of {graph.vertices} vertices")
    return np.unique(given, return_inverse=True)[1].astype(np.uint32)

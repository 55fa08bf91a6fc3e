"""Graph colouring over many devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, require_whole
from laneway.graph import GraphLike, as_arcs
from laneway.partition import Partition
from laneway.vertex_array import VertexArray, read_only
from laneway.workspace import Workspace


@dataclass(frozen=True, eq=False)
class ColorResult(VertexAnswer):
    """Colours and the account of the run that chose them."""

    values_name = "color"

    color: VertexArray[np.uint32]
    """One entry a vertex, in the order of `ids`: 0 to colors - 1."""
    colors: int
    """How many there are."""
    order: int
    """Seed of the order in which vertices chose."""
    rounds: int
    """In which vertices told their neighbours."""
    partition_seconds: float
    """Ordering and dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""


def color(
    graph: GraphLike,
    *,
    order: int = 1,
    weight: str | None = "weight",
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> ColorResult:
    """A colour for every vertex that none of its neighbours has.

    Vertices that an arc joins in either direction are neighbours; self-loops do not count. Vertices choose by falling
    logarithm of their degree, at random among equals, which `order` seeds: each the least colour that no neighbour
    before it has. The result is the same on any devices. `weight` is that of `bfs`.

    `partition`, `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for
    wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_colors(workspace, graph, weight, order, partition)


def find_colors(
    workspace: Workspace, given: GraphLike, weight: str | None, order: int, partition: Partition
) -> ColorResult:
    """`color` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    require_whole("order", order)
    parts = workspace.parts(graph, partition)
    raw = _core.color(workspace.resident(graph, given), order, parts)
    return ColorResult(
        VertexArray(read_only(raw.take_color()), graph.numbering),
        raw.colors,
        order,
        raw.rounds,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

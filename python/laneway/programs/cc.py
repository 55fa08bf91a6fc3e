"""Connected components over many devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES
from laneway.graph import GraphLike, as_arcs
from laneway.partition import Partition
from laneway.vertex_array import VertexArray, read_only
from laneway.workspace import Workspace


@dataclass(frozen=True, eq=False)
class ComponentsResult(VertexAnswer):
    """Components and the account of the run that found them."""

    values_name = "component"

    component: VertexArray[np.uint64]
    """One entry a vertex, in the order of `ids`: 0 to components - 1, numbered by their first vertices."""
    components: int
    """How many there are."""
    partition_seconds: float
    """Dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Vertices of each component."""
        return np.bincount(self.component.values.astype(np.int64), minlength=self.components)


def connected_components(
    graph: GraphLike,
    *,
    weight: str | None = "weight",
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> ComponentsResult:
    """Components of a graph: vertices are in one if a path joins them, whichever way its arcs lead.

    Of directed graphs these are the weakly connected components. The result is the same on any devices. Method:
    Afforest (Sutton, Ben-Nun and Barak, IPDPS 2018), with links that are one-sided minima. `weight` is that of `bfs`;
    `partition`, `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for
    wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_components(workspace, graph, weight, partition)


def find_components(
    workspace: Workspace, given: GraphLike, weight: str | None, partition: Partition
) -> ComponentsResult:
    """`connected_components` on devices that are there."""
    graph, weighted = as_arcs(given, weight)
    parts = workspace.parts(graph, partition)
    raw = _core.connected_components(workspace.resident(graph, given), parts)
    return ComponentsResult(
        VertexArray(read_only(raw.take_component()), graph.numbering),
        raw.components,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

"""Connected components over many devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES
from laneway.errors import UsageError
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
    method: str = "afforest",
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> ComponentsResult:
    """Components of a graph: vertices are in one if a path joins them, whichever way its arcs lead.

    Of directed graphs these are the weakly connected components. The result is the same on any devices, by either
    `method`. With "afforest" each device has a part of the graph, which a session keeps there, and most arcs are never
    looked at (Sutton, Ben-Nun and Barak, IPDPS 2018; links are one-sided minima). With "router" the host deals out the
    arcs, in packets of 64 KiB to 4 MiB, or what fits into `buffer_bytes`, to whichever device has room first; each has
    a forest over all vertices, and these are merged up a tree of devices (Groute, 2020): for graphs that do not fit
    the devices, or unequal devices. Then the report's messages are arcs and vertices of forests, its chunks packets,
    and the diagonals of its matrices are what went between the host and each device.

    `weight` is that of `bfs`; `partition`, of method afforest only, `devices`, `seed`, `timeout` (by router of each
    wait of the host and each kernel), `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong
    arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_components(workspace, graph, weight, method, partition)


def find_components(
    workspace: Workspace, given: GraphLike, weight: str | None, method: str, partition: Partition
) -> ComponentsResult:
    """`connected_components` on devices that are there."""
    if method not in ("afforest", "router"):
        raise UsageError(f"method must be afforest or router, not {method!r}")
    if method == "router" and partition is not None:
        raise UsageError("partition is for method afforest: with router each device has whichever arcs come to it")
    graph, weighted = as_arcs(given, weight)
    if method == "router":
        raw = _core.components_by_router(workspace.core, graph)
    else:
        raw = _core.connected_components(workspace.resident(graph, given), workspace.parts(graph, partition))
    return ComponentsResult(
        VertexArray(read_only(raw.take_component()), graph.numbering),
        raw.components,
        raw.partition_seconds,
        raw.report,
        weighted,
    )

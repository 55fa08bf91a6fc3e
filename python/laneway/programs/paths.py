"""Shortest paths over many devices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, in_one_line, require_switch, require_whole
from laneway.errors import UsageError
from laneway.graph import Graph, GraphLike, as_arcs, as_graph
from laneway.partition import Partition
from laneway.programs.trees import Trees
from laneway.vertex_array import VertexArray, read_only
from laneway.workspace import Workspace


@dataclass(frozen=True, eq=False)
class Result(VertexAnswer):
    """Distances, the paths that have them, and the account of the run that found them.

    `result[v]` is the length of a shortest path to vertex v in the graph's own unit, infinite where there is none.
    """

    values_name = "distance"
    columns = ("distance", "length", "predecessor")

    distance: VertexArray[np.int64]
    """One entry a vertex, in the order of `ids`; -1 where unreachable. Of `sssp` in units of 1 / weight_scale of the
    graph's weights, of `bfs` in arcs. `distance.of(v)` is that of vertex v."""
    sources: list[Any]
    """The vertices from which distances count, by their ids, each once and in the order of `ids`."""
    weight_scale: int
    """What the graph's weights were multiplied by; 1 for `bfs`."""
    weights_ignored: bool
    """Whether the graph has weights that this program does not look at, as `bfs` does not."""
    weights_rounded: bool
    """Whether the weights that were looked at had been rounded, as they did not fit 32 bits with all their decimals."""
    delta: int = field(compare=False)
    """Width of a priority step; 1 by levels."""
    items: int = field(compare=False)
    """Vertices taken from worklists and expanded, all PEs; by levels, each that is reached once; by near-far, items
    done, those in vain included."""
    min_items: int
    """Vertices reached: the least that any order must expand."""
    partition_seconds: float
    """Dividing the graph and copying it to the devices."""
    report: Report
    trees: Trees = field(repr=False, compare=False)
    """Where paths come from."""
    method: str = field(default="asynchronous", compare=False)
    """How the devices went about it. Of `bfs` with method "auto" the one that was taken."""
    levels: int | None = field(default=None, compare=False)
    """Of `bfs` by levels: how many were looked for, with the last, which may have found nothing."""
    pulled: int | None = field(default=None, compare=False)
    """Of these, found from the vertices not yet reached."""
    useful: int | None = field(default=None, compare=False)
    """Of `sssp` by near-far: items done whose distance was still that of their vertex."""
    sent: int | None = field(default=None, compare=False)
    """Items sent to another PE."""
    suppressed: int | None = field(default=None, compare=False)
    """Items not sent, as the other PE would gain nothing by them."""
    waves: int | None = field(default=None, compare=False)
    """Runs that the host has started: 1 where they are fused. None of `bfs` by levels."""
    overflowed: int | None = field(default=None, compare=False)
    """Of `sssp` by near-far: items that a thread of the host has kept for a while, as all queues were full."""

    @property
    def reached(self) -> int:
        """Number of vertices that have a distance."""
        return int(np.count_nonzero(self.distance.values >= 0))

    @property
    def checksum(self) -> int:
        """Σ (i + 1) · distance[i] mod (2**61 - 1) over reached vertices, i from 0."""
        return _core.checksum(self.distance.values)

    @property
    def length(self) -> VertexArray[np.float64]:
        """Distances in the graph's own unit, infinite where unreachable, as SciPy gives them."""
        distance = self.distance.values
        length = np.where(distance < 0, np.inf, distance / self.weight_scale)
        return VertexArray(read_only(length), self.distance.numbering)

    @property
    def predecessor(self) -> VertexArray[Any]:
        """One entry a vertex: the id of the vertex before it on a shortest path from the nearest source; -1 for sources
        and unreachable vertices (None where vertices have names). Of several, the one that stands first in `ids`; the
        same on any devices. Following it leads to a source, also where arcs weigh 0."""
        numbering = self.distance.numbering
        return VertexArray(read_only(numbering.ids_at(self.trees.before)), numbering)

    def path_to(self, vertex: Any) -> list[Any]:
        """The vertices of a shortest path to `vertex`, from the nearest source on, by their ids; empty where there is
        no path. UsageError where there is no such vertex."""
        numbering = self.distance.numbering
        place = numbering.place(vertex)
        if self.distance.values[place] < 0:
            return []
        return [numbering.id_of(each) for each in self.trees.path_to(place)]

    def __getitem__(self, vertex: Any) -> int | float:
        distance = int(self.distance.of(vertex))
        if distance < 0:
            return math.inf
        return distance if self.weight_scale == 1 else distance / self.weight_scale

    def to_dict(self) -> dict[Any, int | float]:
        """The length of a shortest path to each vertex that has one, in the graph's own unit, by its id: what
        NetworkX's `single_source_dijkstra_path_length` gives."""
        reached = self.distance.values >= 0
        lengths: NDArray[Any] = self.distance.values[reached]
        if self.weight_scale != 1:
            lengths = lengths / self.weight_scale
        return dict(zip(self.distance.numbering.ids_of(np.flatnonzero(reached)), lengths.tolist()))


def sssp(
    graph: GraphLike,
    source: Any = None,
    *,
    sources: Iterable[Any] | None = None,
    devices: str = "",
    method: str = "asynchronous",
    delta: int | None = None,
    priorities: bool = True,
    fused: bool = True,
    partition: Partition = None,
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> Result:
    """Least weight of a path from `source`, or from the nearest of several `sources`, to every vertex.

    `graph` is a Graph, a SciPy sparse matrix or a NetworkX graph; sources are vertices as it calls them (`graph.ids`),
    and so `result[v]` is the distance of vertex v. `result.path_to(v)` is a path that has it.

    Distances are sums of `graph.weights`, or numbers of arcs where the graph has no weights. Decimal weights are
    multiplied by a power of ten to be whole: `result.length` is in the graph's own unit.

    With `method` "asynchronous" a vertex whose distance falls stands in a worklist once, however often it falls. With
    "near-far" each time that it falls is a work item of its own, near ones first, and what another device would gain
    nothing by is not sent there (Davidson et al., IPDPS 2014; Groute, TOPC 2020): more memory and more items, which the
    result counts in `useful`, `sent` and `suppressed`. Its queues grow with the graph; items that find no room all the
    same are kept by the host, in up to 4 GiB of its memory, and `overflowed` counts them.

    Two switches are for seeing what they save, by either method: without `priorities` work is done as it comes, near or
    far, and where it is not `fused` the host starts a run for each wave of it.

    `devices` is a list such as "cuda", "cuda:0-3", "cpu:4" or
    "cuda:0,cpu:2"; empty takes every GPU, else one CPU device a core. `delta` is the width of a priority step, chosen
    from the graph where it is None. `partition` divides the vertices: None by contiguous ranges with equal arcs,
    "metis" by METIS, "dealt" by several ranges for each device, dealt in turn, "dealt-metis" by several parts of METIS,
    or an array with the PE of each vertex. `seed` is for checked devices. `timeout` is the run's
    deadline in seconds; every run has one, so None is refused. `progress` keeps samples of the run in the report. The
    library's own buffers and rings take no more than `buffer_bytes` on a device: with less they are smaller, and
    slower. Raises UsageError for wrong arguments, TimeoutError and DeviceFault for a failed run.

    Ctrl-C ends the run on all its devices and raises KeyboardInterrupt; nothing goes on in the background. It can be
    caught on the main thread only, as always in Python.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_distances(workspace, graph, source, sources, method, delta, partition, priorities, fused)


def bfs(
    graph: GraphLike,
    source: Any = None,
    *,
    sources: Iterable[Any] | None = None,
    devices: str = "",
    weight: str | None = "weight",
    method: str = "auto",
    delta: int | None = None,
    priorities: bool = True,
    fused: bool = True,
    partition: Partition = None,
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> Result:
    """Least number of arcs from `source`, or from the nearest of several `sources`, to every vertex.

    With `method` "asynchronous" all devices go on at their own pace, as with `sssp`: for graphs of many levels, such as
    roads. With "levels" they go level by level, from reached vertices to others, or the other way where that looks at
    fewer arcs (Beamer, Asanovic and Patterson, SC 2012): for graphs of few, such as social networks. "auto" takes the
    one that suits the numbers of arcs of the graph's vertices and the number of devices, and `method` of the result
    says which. `delta` and the switches `priorities` and `fused` are for the former, which "auto" takes where one is
    used.

    Weights do not count and may be any, also negative; `weights_ignored` of the result says whether there are some. Of
    a NetworkX graph `weight` names the attribute that holds them; None says that there are none. All else is as with
    `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_levels(workspace, graph, weight, source, sources, method, delta, partition, priorities, fused)


def find_distances(
    workspace: Workspace,
    given: GraphLike,
    source: Any,
    sources: Iterable[Any] | None,
    method: str,
    delta: int | None,
    partition: Partition,
    priorities: bool,
    fused: bool,
) -> Result:
    """`sssp` on devices that are there."""
    require_switch("priorities", priorities)
    require_switch("fused", fused)
    if method == "asynchronous":
        return find_paths(workspace, given, source, sources, delta, partition, priorities, fused)
    if method != "near-far":
        raise UsageError(f"method must be asynchronous or near-far, not {method!r}")
    graph = as_graph(given, "weight")
    places = start_places(graph, source, sources)
    _require_delta(delta, priorities)
    parts = workspace.parts(graph, partition)
    raw = _core.near_far(workspace.resident(graph, given), places, delta, parts, bool(priorities), bool(fused))
    distance = read_only(raw.take_distance())
    return Result(
        VertexArray(distance, graph.numbering),
        [graph.id_of(place) for place in places],
        graph.weight_scale,
        False,
        graph.weights_rounded,
        raw.delta,
        raw.done,
        raw.min_items,
        raw.partition_seconds,
        raw.report,
        Trees(graph, distance, places, False),
        "near-far",
        useful=raw.useful,
        sent=raw.sent,
        suppressed=raw.suppressed,
        waves=raw.waves,
        overflowed=raw.overflowed,
    )


def find_levels(
    workspace: Workspace,
    given: GraphLike,
    weight: str | None,
    source: Any,
    sources: Iterable[Any] | None,
    method: str,
    delta: int | None,
    partition: Partition,
    priorities: bool,
    fused: bool,
) -> Result:
    """`bfs` on devices that are there."""
    if method not in ("auto", "levels", "asynchronous"):
        raise UsageError(f"method must be auto, levels or asynchronous, not {method!r}")
    require_switch("priorities", priorities)
    require_switch("fused", fused)
    if method == "levels":
        for name, used in (("delta", delta is not None), ("priorities", not priorities), ("fused", not fused)):
            if used:
                raise UsageError(f"{name} is for method asynchronous: levels have no priority steps")
    _require_delta(delta, priorities)
    graph, weights_ignored = as_arcs(given, weight)
    places = start_places(graph, source, sources)
    parts = workspace.parts(graph, partition)
    raw = _core.bfs(workspace.resident(graph, given), places, method, delta, parts, bool(priorities), bool(fused))
    distance = read_only(raw.take_distance())
    by_levels = raw.method == "levels"
    return Result(
        VertexArray(distance, graph.numbering),
        [graph.id_of(place) for place in places],
        1,
        weights_ignored,
        False,
        raw.delta,
        raw.items,
        raw.reached,
        raw.partition_seconds,
        raw.report,
        Trees(graph, distance, places, True),
        raw.method,
        raw.levels if by_levels else None,
        raw.pulled if by_levels else None,
        waves=None if by_levels else raw.waves,
    )


def _require_delta(delta: int | None, priorities: bool) -> None:
    if delta is None:
        return
    require_whole("delta", delta, 1)
    if not priorities:
        raise UsageError("delta is for runs with priorities: it is the width of a priority step")


def find_paths(
    workspace: Workspace,
    given: GraphLike,
    source: Any,
    sources: Iterable[Any] | None,
    delta: int | None,
    partition: Partition,
    priorities: bool,
    fused: bool,
) -> Result:
    """`sssp` by method "asynchronous"."""
    graph = as_graph(given, "weight")
    places = start_places(graph, source, sources)
    _require_delta(delta, priorities)
    parts = workspace.parts(graph, partition)
    raw = _core.shortest_paths(workspace.resident(graph, given), places, delta, parts, bool(priorities), bool(fused))
    distance = read_only(raw.take_distance())
    return Result(
        VertexArray(distance, graph.numbering),
        [graph.id_of(place) for place in places],
        graph.weight_scale,
        False,
        graph.weights_rounded,
        raw.delta,
        raw.items,
        raw.min_items,
        raw.partition_seconds,
        raw.report,
        Trees(graph, distance, places, False),
        waves=raw.waves,
    )


def start_places(graph: Graph, source: Any, sources: Iterable[Any] | None) -> list[int]:
    """As source_places, of one source or of several, whichever is given; UsageError for both and for none."""
    if (source is None) == (sources is None):
        raise UsageError("either source or sources must say where paths start")
    if isinstance(source, (list, set, np.ndarray)):
        raise UsageError(f"source must be one vertex, not {in_one_line(source)}: sources takes several")
    return source_places(graph, [source] if sources is None else sources)


def source_places(graph: Graph, sources: Iterable[Any]) -> list[int]:
    """Places in the arrays of several sources, rising, each once; UsageError for none, and for one that the graph does
    not have."""
    if isinstance(sources, (str, bytes)) or not isinstance(sources, Iterable):
        raise UsageError(f"sources must be several vertices, not {sources!r}")
    places: list[int] = np.unique(graph.numbering.places(sources, "source")).tolist()
    if not places:
        raise UsageError("sources must hold at least one vertex")
    return places

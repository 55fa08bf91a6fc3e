"""Shortest paths over many devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Graph, Report
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.graphs import require_graph
from laneway.partition import Partition, parts_of


@dataclass(frozen=True)
class Result:
    """Distances and the account of the run that found them."""

    distance: NDArray[np.int64]
    """One entry a vertex, in the order of the graph's arrays; -1 where unreachable. Of `sssp` in units of
    1 / graph.weight_scale of the file's weights, of `bfs` in arcs."""
    delta: int
    """Width of a priority step."""
    items: int
    """Vertices taken from worklists and expanded, all PEs."""
    least_items: int
    """Vertices reached: the least that any order must expand."""
    partition_seconds: float
    """Dividing the graph and copying it to the devices."""
    report: Report

    @property
    def reached(self) -> int:
        """Number of vertices that have a distance."""
        return int(np.count_nonzero(self.distance >= 0))

    @property
    def checksum(self) -> int:
        """Σ (i + 1) · distance[i] mod (2**61 - 1) over reached vertices, i from 0."""
        return _core.checksum(self.distance)


def sssp(
    graph: Graph,
    source: int,
    *,
    devices: str = "",
    delta: int | None = None,
    partition: Partition = None,
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> Result:
    """Least weight of a path from `source` to every vertex.

    Distances are sums of `graph.weights`, or numbers of arcs where the graph has no weights. A file with decimal
    weights was read as whole numbers: `result.distance / graph.weight_scale` is in the file's own unit (leave out -1,
    which is unreachable).

    `source` is the file's number of the vertex. `devices` is a list such as "cuda", "cuda:0-3", "cpu:4" or
    "cuda:0,cpu:2"; empty takes every GPU, else one CPU device a core. `delta` is the width of a priority step, chosen
    from the graph where it is None. `partition` divides the vertices: None by contiguous ranges with equal arcs,
    "metis" by METIS, or an array with the PE of each vertex. `seed` is for checked devices. `timeout` is the run's
    deadline in seconds; every run has one, so None is refused. `progress` keeps samples of the run in the report. The
    library's own buffers and rings take no more than `buffer_bytes` on a device: with less they are smaller, and
    slower. Raises UsageError for wrong arguments, TimeoutError and DeviceFault for a failed run.

    Ctrl-C ends the run on all its devices and raises KeyboardInterrupt; nothing goes on in the background. It can be
    caught on the main thread only, as always in Python.
    """
    return _run(graph, source, False, devices, delta, partition, seed, timeout, progress, buffer_bytes)


def bfs(
    graph: Graph,
    source: int,
    *,
    devices: str = "",
    delta: int | None = None,
    partition: Partition = None,
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> Result:
    """Least number of arcs from `source` to every vertex; arguments and errors are those of `sssp`."""
    return _run(graph, source, True, devices, delta, partition, seed, timeout, progress, buffer_bytes)


def _run(
    graph: Graph,
    source: int,
    unit_weights: bool,
    devices: str,
    delta: int | None,
    partition: Partition,
    seed: int,
    timeout: float,
    progress: bool,
    buffer_bytes: int,
) -> Result:
    index = source_index(graph, source)
    if delta is not None:
        require_whole("delta", delta, 1)
    job = job_options(devices, seed, timeout, progress, buffer_bytes)
    parts = parts_of(graph, partition, devices)
    raw = _core.shortest_paths(graph, index, unit_weights, delta, parts, job)
    return Result(raw.take_distance(), raw.delta, raw.items, raw.least_items, raw.partition_seconds, raw.report)


def source_index(graph: Graph, source: int) -> int:
    """Place in the arrays of the vertex that the file calls `source`; UsageError if there is none."""
    require_graph(graph)
    require_whole("source", source)
    return graph.index_of(source)

"""Graph colouring over many devices."""

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
class ColorResult:
    """Colours and the account of the run that chose them."""

    color: NDArray[np.uint32]
    """One entry a vertex, in the order of the graph's arrays: 0 to colors - 1."""
    colors: int
    """How many there are."""
    order: int
    """Seed of the order in which vertices chose."""
    rounds: int
    """In which vertices told their neighbours."""
    partition_seconds: float
    """Ordering and dividing the graph and copying it to the devices."""
    report: Report


def color(
    graph: Graph,
    *,
    order: int = 1,
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
    before it has. The result is the same on any devices.

    `partition`, `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for
    wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C is as with `sssp`.
    """
    require_graph(graph)
    require_whole("order", order)
    job = job_options(devices, seed, timeout, progress, buffer_bytes)
    parts = parts_of(graph, partition, devices)
    raw = _core.color(graph, order, parts, job)
    return ColorResult(raw.take_color(), raw.colors, order, raw.rounds, raw.partition_seconds, raw.report)

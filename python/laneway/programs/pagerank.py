"""PageRank over many devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import UsageError
from laneway.graph import GraphLike, as_graph
from laneway.interrupt import interruptible
from laneway.partition import Partition, parts_of
from laneway.vertex_array import VertexArray


@dataclass(frozen=True, eq=False)
class PageRankResult(VertexAnswer):
    """Ranks and the account of the run that found them."""

    values_name = "rank"

    rank: VertexArray[np.float64]
    """One entry a vertex, in the order of `ids`; their sum is 1, but for rounding."""
    rounds: int
    """Rounds done."""
    change: float
    """Sum over all vertices of the last round's absolute change."""
    damping: float
    """Share of rank that followed arcs."""
    partition_seconds: float
    """Turning the arcs round, dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights, which this program does not look at."""


def pagerank(
    graph: GraphLike,
    *,
    damping: float = 0.85,
    rounds: int = 10,
    tolerance: float = 0.0,
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> PageRankResult:
    """PageRank of every vertex by power iteration from equal ranks.

    A vertex hands `damping` of its rank to the heads of its arcs, and the rest spreads evenly over all; the rank of a
    vertex without arcs spreads evenly too. Parallel arcs count each, weights do not. Ends after `rounds` rounds, or
    when the ranks of all vertices together have changed by less than `tolerance` in one. The ranks are the same to the
    last bit on any devices; they are within 2**-24 * damping / (1 - damping) of the exact ones, relative to each.

    `partition`, `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for
    wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C raises KeyboardInterrupt at once.
    """
    graph = as_graph(graph)
    require_whole("rounds", rounds)
    for name, value, most in (("damping", damping, 1.0), ("tolerance", tolerance, float("inf"))):
        if not isinstance(value, (int, float)) or not 0 <= value <= most:
            limit = f"from 0 to {most:g}" if most == 1 else "of 0 or more"
            raise UsageError(f"{name} must be a number {limit}, not {value!r}")
    job = job_options(devices, seed, timeout, progress, buffer_bytes)
    parts = parts_of(graph, partition, devices)
    raw = interruptible(lambda: _core.pagerank(graph, damping, rounds, tolerance, parts, job))
    return PageRankResult(
        VertexArray(raw.take_rank(), graph.numbering),
        raw.rounds,
        raw.change,
        damping,
        raw.partition_seconds,
        raw.report,
        graph.weighted,
    )

"""PageRank over many devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import UsageError
from laneway.graph import Graph, GraphLike, as_graph, is_networkx
from laneway.partition import Partition, parts_of
from laneway.vertex_array import VertexArray, read_only

VertexNumbers = Union[None, Mapping[Any, float], ArrayLike]

MAX_ITER = 100
TOL = 1e-6


@dataclass(frozen=True)
class RankRules:
    """What ranks are, and when they have converged."""

    alpha: float
    """Share of rank that follows arcs."""
    personalization: NDArray[np.float64] | None
    """Where the rest goes, one number a vertex, in proportion; None: evenly."""
    dangling: NDArray[np.float64] | None
    """Where the rank of vertices that hand it to none goes; None: as `personalization` says."""
    nstart: NDArray[np.float64] | None
    """Ranks at the start, one number a vertex, in proportion; None: equal ones."""
    weighted: bool
    """Whether rank follows arcs in proportion to weights."""
    tol: float
    """Ranks have converged when a round changes them by less than this times the number of vertices."""
    max_iter: int
    """Most rounds."""
    rounds: int | None
    """Exactly so many rounds instead."""


@dataclass(frozen=True, eq=False)
class PageRankResult(VertexAnswer):
    """Ranks and the account of the run that found them."""

    values_name = "rank"

    rank: VertexArray[np.float64]
    """One entry a vertex, in the order of `ids`; their sum is 1, but for rounding."""
    rounds: int
    """Rounds done."""
    converged: bool
    """Whether the last round changed the ranks by less than `tol` times the number of vertices."""
    residual: float
    """Sum over all vertices of the last round's absolute change."""
    rules: RankRules = field(compare=False)
    """What was asked for."""
    partition_seconds: float
    """Turning the arcs round, dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights that were not looked at."""
    weights_rounded: bool
    """Whether the weights that were looked at had been rounded, as they did not fit 32 bits with all their decimals."""


def pagerank(
    graph: GraphLike,
    alpha: float = 0.85,
    personalization: VertexNumbers = None,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
    nstart: VertexNumbers = None,
    weight: str | None = "weight",
    dangling: VertexNumbers = None,
    *,
    rounds: int | None = None,
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> PageRankResult:
    """PageRank of every vertex by power iteration, by the rules and names of NetworkX, and its order of arguments.

    In a round a vertex hands `alpha` of its rank to the heads of its arcs, in proportion to their weights, parallel
    arcs each; with `weight=None`, or where the graph has no weights, every arc counts 1. Of a NetworkX graph `weight`
    names the attribute that holds them. The rest of its rank goes to all vertices as `personalization` says, and that
    of a vertex without arcs, or whose arcs weigh nothing, as `dangling` does: a mapping from vertices to numbers, 0 for
    those that it leaves out, or an array with one entry a vertex, in the order of the graph's `ids`; only proportions
    matter. Without `personalization` rank spreads evenly, without `dangling` as `personalization` says. Ranks start
    equal, or in the proportions of `nstart`, which is given in the same ways.

    Rounds end when one changes the ranks of all vertices together by less than `tol` times the number of vertices, or
    after `max_iter`. Where NetworkX then raises PowerIterationFailedConvergence, the ranks of the last round come back:
    look at `converged` of the result, and at `residual`. `rounds` asks for exactly so many instead.
    On large graphs this limit is met early: take a smaller `tol` where the order of low ranks matters. The ranks, and
    the number of rounds, are the same to the last bit on any devices; ranks are within 2**-24 * alpha / (1 - alpha) of
    those of exact arithmetic, relative to each.

    `partition`, `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for
    wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C ends the run and raises KeyboardInterrupt.
    """
    graph = _with_weights(graph, weight)
    rules = RankRules(
        _number("alpha", alpha, 1.0),
        _one_a_vertex("personalization", graph, personalization),
        _one_a_vertex("dangling", graph, dangling),
        _one_a_vertex("nstart", graph, nstart),
        weight is not None and graph.weighted,
        _number("tol", tol, float("inf")),
        max_iter,
        rounds,
    )
    require_whole("max_iter", max_iter, 1)
    if rounds is not None:
        require_whole("rounds", rounds)
    job = job_options(devices, seed, timeout, progress, buffer_bytes)
    parts = parts_of(graph, partition, devices)
    raw = _core.pagerank(
        graph,
        rules.alpha,
        rules.tol,
        max_iter,
        rounds,
        rules.weighted,
        rules.personalization,
        rules.dangling,
        rules.nstart,
        parts,
        job,
    )
    return PageRankResult(
        VertexArray(read_only(raw.take_rank()), graph.numbering),
        raw.rounds,
        raw.converged,
        raw.residual,
        rules,
        raw.partition_seconds,
        raw.report,
        graph.weighted and not rules.weighted,
        rules.weighted and graph.weights_rounded,
    )


def _with_weights(graph: GraphLike, weight: str | None) -> Graph:
    """The graph with the weights of that name; only those of NetworkX have more than one."""
    if is_networkx(graph):
        return Graph.from_networkx(graph, weight=weight)
    if weight not in ("weight", None):
        raise UsageError(f"weight must be 'weight', for the graph's weights, or None, not {weight!r}")
    return as_graph(graph)


def _number(name: str, value: float, most: float) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value <= most:
        limit = f"from 0 to {most:g}" if most == 1 else "of 0 or more"
        raise UsageError(f"{name} must be a number {limit}, not {value!r}")
    return float(value)


def _one_a_vertex(name: str, graph: Graph, given: VertexNumbers) -> NDArray[np.float64] | None:
    """`given` as one number a vertex; UsageError unless these are finite, 0 or more, and not all 0."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        values = np.asarray(list(given.values()), dtype=object if not given else None)
        if values.ndim != 1 or (given and values.dtype.kind not in "fiub"):
            raise UsageError(f"{name} must map vertices to numbers")
        numbers = np.zeros(graph.vertices)
        numbers[graph.numbering.places(given, name)] = values
    else:
        numbers = np.asarray(given)
        if numbers.shape != (graph.vertices,) or numbers.dtype.kind not in "fiub":
            raise UsageError(f"{name} must be a mapping, or hold one number for each of {graph.vertices} vertices")
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if wrong.size:
        place = int(wrong[0])
        raise UsageError(f"{name} of vertex {graph.id_of(place)} must be finite and 0 or more, not {numbers[place]}")
    if not numbers.any():
        raise UsageError(f"{name} is 0 for all vertices")
    return np.ascontiguousarray(numbers / numbers.max(), dtype=np.float64)

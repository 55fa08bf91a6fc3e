"""PageRank over many devices."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import VertexAnswer
from laneway.arguments import BUFFER_BYTES, require_switch, require_whole
from laneway.errors import UsageError
from laneway.graph import GraphLike, as_arcs, as_graph
from laneway.partition import Partition
from laneway.programs.proportions import VertexNumbers, proportions_of
from laneway.vertex_array import VertexArray, read_only
from laneway.workspace import Workspace

MAX_ITER = 100
TOL = 1e-6
SHARE_ERROR = 2.0**-24
"""Of a share of rank, relative to it: shares travel as float32."""
PUSH_ERROR = 1e-11
"""Of pushed ranks, together, times 1 - alpha: each push rounds down what it hands on."""
LEAST_REST = 1e-9
"""Of 1 - alpha by method push."""


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
    method: str = "pull"
    """"pull" or "push"."""


@dataclass(frozen=True, eq=False)
class PageRankResult(VertexAnswer):
    """Ranks and the account of the run that found them."""

    values_name = "rank"

    rank: VertexArray[np.float64]
    """One entry a vertex, in the order of `ids`; their sum is 1, but for rounding."""
    rounds: int
    """Rounds done; none by push."""
    converged: bool
    """Whether `residual` is less than `tol` times the number of vertices."""
    residual: float
    """Sum over all vertices of the last round's absolute change; by push, of what was left to be handed on."""
    rules: RankRules = field(compare=False)
    """What was asked for."""
    partition_seconds: float
    """Turning the arcs round, dividing the graph and copying it to the devices."""
    report: Report
    weights_ignored: bool
    """Whether the graph has weights that were not looked at."""
    weights_rounded: bool
    """Whether the weights that were looked at had been rounded, as they did not fit 32 bits with all their decimals."""
    looks: int | None = field(default=None, compare=False)
    """By push: at vertices, for whether they have something to hand on."""
    pushes: int | None = field(default=None, compare=False)
    """By push: of these, times that a vertex has handed on what had gathered there."""
    adds: int | None = field(default=None, compare=False)
    """By push: along arcs."""
    sent: int | None = field(default=None, compare=False)
    """By push: sums for a vertex that went to the device that owns it."""
    suppressed: int | None = field(default=None, compare=False)
    """By push: looks at such sums that were left to gather more."""


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
    method: str = "pull",
    rounds: int | None = None,
    priorities: bool = True,
    fused: bool = True,
    partition: Partition = None,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> PageRankResult:
    """PageRank of every vertex, by the rules and names of NetworkX, and its order of arguments.

    By `method` "pull" it is power iteration: in a round a vertex hands `alpha` of its rank to the heads of its arcs, in
    proportion to their weights, parallel arcs each; with `weight=None`, which takes arcs of any weights, also negative
    ones, or where the graph has no weights, every arc counts 1. Of a NetworkX graph `weight` names the attribute that
    holds them. The rest of its rank goes to all vertices as `personalization` says, and that of a vertex without arcs,
    or whose arcs weigh nothing, as `dangling` does: a mapping or a pandas Series from vertices to numbers, or an array
    with one entry a vertex, in the order of the graph's `ids`; only proportions matter. Vertices that a mapping leaves
    out have 0, and those that the graph does not have do not count, as with NetworkX. Without `personalization` rank
    spreads evenly, without `dangling` as `personalization` says. Ranks start equal, or in the proportions of `nstart`,
    which is given in the same ways. A graph without vertices has no ranks.

    Rounds end when one changes the ranks of all vertices together by less than `tol` times the number of vertices, or
    after `max_iter`. Where NetworkX then raises PowerIterationFailedConvergence, the ranks of the last round come back:
    look at `converged` of the result, and at `residual`. `rounds` asks for exactly so many instead. On large graphs
    this limit is met early: take a smaller `tol` where the order of low ranks matters. The ranks, and the number of
    rounds, are the same to the last bit on any devices; ranks are within 2**-24 * alpha / (1 - alpha) of those of exact
    arithmetic, relative to each, as far as they are not so small that their unit, 2**-62, matters: in each round a
    vertex may lose one for each arc that leads to it, and hands such losses on. Rounding may keep changing them, by up
    to twice that in all: a `tol` below 2**-23 * alpha / (1 - alpha) / n may never be met, and where it is not for this
    reason, a RuntimeWarning says so.

    By `method` "push" there are no rounds. Each vertex starts with its part of 1 - `alpha` as a residual; a vertex
    whose residual is large enough beside what is left with all adds it to its rank and hands `alpha` of it on, all
    devices at their own pace; what arcs bring to a vertex of another device gathers and goes there as one sum (Groute,
    TOPC 2020). It ends when less than `tol` times the number of vertices is left, `residual` of the result, of ranks
    whose sum is 1. The ranks then are within (2 * alpha * residual + 1e-11) / (1 - alpha) of the exact ones, summed
    over all vertices, and vary from run to run by no more; the nearer `alpha` is to 1, the smaller a `tol` it takes.
    `alpha` is 1 - 1e-9 at most, and `nstart`, `rounds` and `max_iter` are for "pull". Two switches, for "push" alone,
    show what they save: without `priorities` a vertex hands on whatever it finds, and where it is not `fused` the host
    starts a run for each sweep over all vertices.

    `partition`, `devices`, `seed`, `timeout`, `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for
    wrong arguments, TimeoutError and DeviceFault for a failed run; Ctrl-C ends the run and raises KeyboardInterrupt.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_ranks(
            workspace,
            graph,
            alpha,
            personalization,
            max_iter,
            tol,
            nstart,
            weight,
            dangling,
            method,
            rounds,
            partition,
            priorities,
            fused,
        )


def find_ranks(
    workspace: Workspace,
    given: GraphLike,
    alpha: float,
    personalization: VertexNumbers,
    max_iter: int,
    tol: float,
    nstart: VertexNumbers,
    weight: str | None,
    dangling: VertexNumbers,
    method: str,
    rounds: int | None,
    partition: Partition,
    priorities: bool = True,
    fused: bool = True,
) -> PageRankResult:
    """`pagerank` on devices that are there."""
    graph, ignored = (as_graph(given, weight), False) if weight is not None else as_arcs(given, None)
    rules = RankRules(
        _number("alpha", alpha, 1.0),
        proportions_of("personalization", graph, personalization),
        proportions_of("dangling", graph, dangling),
        proportions_of("nstart", graph, nstart),
        weight is not None and graph.weighted,
        _number("tol", tol, float("inf")),
        max_iter,
        rounds,
        method,
    )
    require_whole("max_iter", max_iter, 1)
    if rounds is not None:
        require_whole("rounds", rounds)
    require_switch("priorities", priorities)
    require_switch("fused", fused)
    _require_method(rules, bool(priorities), bool(fused))
    if graph.vertices == 0:
        report = _core.indegree(workspace.resident(graph, given), "arcs").report  # which counts nothing there
        nothing: NDArray[np.float64] = np.zeros(0)
        return PageRankResult(VertexArray(nothing, graph.numbering), 0, True, 0.0, rules, 0.0, report, ignored, False)
    parts = workspace.parts(graph, partition)
    raw = _core.pagerank(
        workspace.resident(graph, given),
        rules.alpha,
        rules.tol,
        max_iter,
        rounds,
        rules.weighted,
        rules.personalization,
        rules.dangling,
        rules.nstart,
        parts,
        method == "push",
        bool(priorities),
        bool(fused),
    )
    if method == "pull" and not raw.converged and rounds is None:
        _warn_of_rounding(rules, raw.residual, graph.vertices)
    return PageRankResult(
        VertexArray(read_only(raw.take_rank()), graph.numbering),
        raw.rounds,
        raw.converged,
        raw.residual,
        rules,
        raw.partition_seconds,
        raw.report,
        ignored,
        rules.weighted and graph.weights_rounded,
        *((raw.looks, raw.pushes, raw.adds, raw.sent, raw.suppressed) if method == "push" else ()),
    )


def _require_method(rules: RankRules, priorities: bool, fused: bool) -> None:
    if rules.method not in ("pull", "push"):
        raise UsageError(f"method must be pull or push, not {rules.method!r}")
    if rules.method == "pull":
        for name, used in (("priorities", priorities), ("fused", fused)):
            if not used:
                raise UsageError(f"{name} is for method push: rounds have neither")
        return
    if rules.alpha > 1 - LEAST_REST:
        raise UsageError(
            f"alpha must be 1 - {LEAST_REST:g} or less by method push: nearer to 1 the ranks are those of rounding"
        )
    for name, given in (
        ("nstart", rules.nstart is not None),
        ("rounds", rules.rounds is not None),
        ("max_iter", rules.max_iter != MAX_ITER),
    ):
        if given:
            raise UsageError(f"{name} is for method pull: push starts at 0 and has no rounds")


def _reach(alpha: float) -> float:
    """What rounding may keep changing the ranks by, for ever.

    A round hands on `alpha` of all change and adds that of the rounding errors, each of at most SHARE_ERROR: the change
    falls to twice their sum over all rounds. Nothing says that ranks come to rest where `alpha` is 1.
    """
    return 2 * SHARE_ERROR * alpha / (1 - alpha)


def within_rounding(alpha: float, residual: float) -> bool:
    """Whether rounding alone may have changed the ranks by as much as the last round has."""
    return residual <= (_reach(alpha) if alpha < 1 else 2 * SHARE_ERROR)


def _warn_of_rounding(rules: RankRules, residual: float, vertices: int) -> None:
    """Say so where more rounds need not help, as the ranks change by no more than their shares are rounded."""
    if rules.alpha < 1 and within_rounding(rules.alpha, residual):
        met = _reach(rules.alpha) / vertices
        warnings.warn(
            f"the last round changed the ranks by {residual:.2g}, and rounding to the 24 bits of a share may keep them "
            f"from changing by less: tol {rules.tol:g} may never be met, {met:.2g} always is",
            RuntimeWarning,
            stacklevel=4,
        )


def _number(name: str, value: float, most: float) -> float:
    try:
        if isinstance(value, Real) and 0 <= value <= most:
            return float(value)
    except OverflowError:  # a whole number that no float holds
        pass
    limit = f"from 0 to {most:g}" if most == 1 else "of 0 or more"
    raise UsageError(f"{name} must be a number {limit}, not {value!r}")

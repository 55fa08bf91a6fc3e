"""Reference answers of PageRank."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from laneway.graph import Graph
from laneway.programs.pagerank import PUSH_ERROR, PageRankResult, RankRules
from laneway.verification import Verification, compare

SHARE_ROUNDING = 2.0**-24  # of each share of a rank that is carried
RANK_UNIT = 2.0**-62  # of which ranks are whole numbers
REST_ROUNDS = 20_000  # most that tell whether pushed ranks are as near to those of rest as they should be


def verify(graph: Graph, result: PageRankResult) -> Verification:
    """Compare with SciPy's power iteration in float64: every rank, to half as much again as the shares' rounding may
    add up to beside what whole numbers lose, and whether the iteration converges in that round, and in no earlier
    one."""
    if result.rules.method == "push":
        return _verify_rest(graph, result)
    rules = result.rules
    start = time.perf_counter()
    ranks = power_iteration(graph, rules)
    expected, residual = next(ranks)
    residuals = []
    for _ in range(result.rounds):
        expected, residual = next(ranks)
        residuals.append(residual)
    seconds = time.perf_counter() - start
    relative = 1e-9 + 1.5 * SHARE_ROUNDING * sum(rules.alpha**i for i in range(1, result.rounds + 1))
    limit = rules.tol * graph.vertices
    ending = _ending(rules, result, residuals, limit, 2 * relative)
    rank = result.rank.values

    def describe(place: int) -> str:
        if place == len(rank):
            return ending
        return f"vertex {graph.id_of(place)} has rank {expected[place]:.12g}, not {rank[place]:.12g}"

    differs = ~(np.abs(rank - expected) <= relative * expected)  # also what is no number
    if differs.any():
        differs &= ~(np.abs(rank - expected) <= relative * expected + _lost_units(graph, result))
    wrong = np.append(differs, bool(ending))
    name = "SciPy power iteration" + (", converged" if residuals and residual < limit else "")
    return compare(name, seconds, "ranks", wrong, describe)


def _lost_units(graph: Graph, result: PageRankResult) -> NDArray[np.float64]:
    """What ranks may have lost as whole numbers: in each round a unit for each arc that leads to the vertex, and two.
    It is handed on like rank."""
    indegrees = np.bincount(graph.heads.astype(np.int64), minlength=graph.vertices)
    losses, hand_on = (indegrees + 2) * RANK_UNIT, _handing_on(graph, result.rules)
    lost = np.zeros(graph.vertices)
    for _ in range(result.rounds):
        lost = losses + hand_on(lost)
    return lost


def _verify_rest(graph: Graph, result: PageRankResult) -> Verification:
    """Compare with the ranks at rest: all differences together, with what the residual allows."""
    rules, rank = result.rules, result.rank.values
    start = time.perf_counter()
    allowed = (2 * rules.alpha * result.residual + PUSH_ERROR) / (1 - rules.alpha)
    expected, uncertain, told = _towards_rest(graph, rules, rank, allowed)
    says_nothing = allowed >= 2  # which no two vectors of ranks differ by
    seconds = time.perf_counter() - start
    difference = np.abs(rank - expected)
    differs = float(difference.sum())
    limit = rules.tol * graph.vertices
    wrong = np.zeros(graph.vertices, bool)
    worst = int(difference.argmax())
    wrong[worst] = (
        says_nothing or not told or not differs - uncertain <= allowed or result.converged != (result.residual < limit)
    )

    def describe(place: int) -> str:
        if says_nothing:
            return f"a residual of {result.residual:.3g} says nothing of ranks at this alpha: a smaller tol would"
        if not told:
            return (
                f"the reference cannot tell: all ranks differ by {differs:.3g} from its after {REST_ROUNDS} rounds, "
                f"which may differ by {uncertain:.3g} from those of rest, where {allowed:.3g} is allowed"
            )
        return (
            f"all ranks differ by {differs:.3g} from those of rest, where {allowed:.3g} is allowed, most that "
            f"of vertex {graph.id_of(place)}: {rank[place]:.12g}, not {expected[place]:.12g}"
        )

    return compare("SciPy power iteration, at rest", seconds, "ranks", wrong, describe)


def _towards_rest(
    graph: Graph, rules: RankRules, rank: NDArray[np.float64], allowed: float
) -> tuple[NDArray[np.float64], float, bool]:
    """Ranks after rounds that begin with `rank`, how far from those of rest they may be, and whether that tells if
    `rank` is within `allowed` of rest.

    A round brings any two vectors of ranks nearer by alpha, so what it changes bounds how far the ranks of rest are,
    and the first round mostly tells. Floats need not come to rest: where a hub adds up 100,000 shares, its rank may go
    on changing by as much as that sum is rounded.
    """
    rest = 1 - rules.alpha
    indegrees = np.bincount(graph.heads.astype(np.int64), minlength=graph.vertices)
    rounding = 2.0**-53 * float((indegrees + 8) @ rank)  # of all sums and quotients of a round
    told, uncertain = False, np.inf
    expected = rank
    for expected, change in itertools.islice(power_iteration(graph, rules, rank), 1, REST_ROUNDS + 1):
        uncertain = (rules.alpha * change + rounding) / rest
        clear = abs(float(np.abs(rank - expected).sum()) - allowed) >= uncertain
        told = clear or change <= 4 * rounding / rest
        if told:
            break
    return expected, uncertain, told


def power_iteration(
    graph: Graph, rules: RankRules, start_rank: NDArray[np.float64] | None = None
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Ranks at the start and after each round without end, each with the sum of all changes in the round; `start_rank`
    instead of what the rules begin with."""
    even = np.full(graph.vertices, 1 / graph.vertices)
    rank, residual = even if rules.nstart is None else rules.nstart / rules.nstart.sum(), 0.0
    rank = rank if start_rank is None else start_rank
    start, hand_on = _start(graph, rules), _handing_on(graph, rules)
    while True:
        yield rank, residual
        before = rank
        rank = (1 - rules.alpha) * start + hand_on(rank)
        residual = float(np.abs(rank - before).sum())


def _start(graph: Graph, rules: RankRules) -> NDArray[np.float64]:
    """Where the rest goes."""
    if rules.personalization is None:
        return np.full(graph.vertices, 1 / graph.vertices)
    start: NDArray[np.float64] = rules.personalization / rules.personalization.sum()
    return start


def _handing_on(graph: Graph, rules: RankRules) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """What alpha of the ranks brings to the vertices in a round."""
    from scipy import sparse

    n = graph.vertices
    weights = graph.weights.astype(np.float64) if rules.weighted else np.ones(graph.arcs)
    arcs = (weights, graph.heads.astype(np.int64), graph.offsets.astype(np.int64))
    matrix = sparse.csr_array(arcs, shape=(n, n))
    outgoing = matrix.sum(axis=1)
    none = outgoing == 0
    into = sparse.csr_array(matrix.T)
    spread = _start(graph, rules) if rules.dangling is None else rules.dangling / rules.dangling.sum()

    def hand_on(rank: NDArray[np.float64]) -> NDArray[np.float64]:
        share = np.where(none, 0, rank / np.where(none, 1, outgoing))
        brought: NDArray[np.float64] = rules.alpha * (into @ share + rank[none].sum() * spread)
        return brought

    return hand_on


def _ending(rules: RankRules, result: PageRankResult, residuals: list[float], limit: float, slack: float) -> str:
    """What is wrong with the round in which the program ended; empty if nothing. A residual within `slack` of the
    limit may count either way."""
    last = residuals[-1] if residuals else 0.0
    if not abs(result.residual - last) <= slack:
        return f"the last round changes the ranks by {last:.6g}, not {result.residual:.6g}"
    below = bool(residuals) and last < limit
    if abs(last - limit) > slack and result.converged != below:
        return f"the ranks have {'' if below else 'not '}converged after {len(residuals)} rounds"
    if rules.rounds is not None:
        wrong = result.rounds != rules.rounds
        return f"{rules.rounds} rounds were asked for, not {result.rounds}" if wrong else ""
    early = next((i for i, residual in enumerate(residuals[:-1], 1) if residual < limit - slack), None)
    if early is not None:
        return f"the ranks have converged after {early} rounds, not {len(residuals)}"
    if not result.converged and result.rounds != rules.max_iter:
        return f"{rules.max_iter} rounds do not converge, and not {result.rounds}"
    return ""

"""The order in which NetworkX settles the nodes of a search, and the tree that it finds: told from distances alone.

NetworkX's searches are serial. Its breadth-first search takes nodes in the order in which they were found, Dijkstra's
algorithm by distance and, among equals, in the order in which they got it. Both are one rule: an arc is *tight* where
it makes the distance of its head, a node belongs behind the first tight arc into it, and those of one distance come in
the order of these arcs: by the order of their tails, then as they stand in a row. What weighs nothing leads on within
one distance, behind all that came from before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway.networkx_backend.rows import Rows

FEW = 32
"""Up to so many arcs Python's own sorting is quicker than calls of NumPy."""

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Settled:
    """Nodes in the order in which a search settles them."""

    order: Places
    """Their places, sources first."""
    tight: Places
    """Arcs that make the distance of their heads, by the order of their tails, then as they stand in a row. Those that
    weigh nothing may also lead to what was settled before: a source, or the node itself."""
    arc: Places
    """One entry a vertex: the arc by which it was found, -1 for sources and where there is none."""


def settle(rows: Rows, distance: NDArray[Any], sources: Sequence[int], weights: NDArray[Any] | int) -> Settled:
    """How NetworkX settles all that has a distance, which is -1 elsewhere; `sources` come in the order in which it
    takes them, `weights` are those of arcs."""
    tight = _tight(rows, distance, weights)
    is_source = np.zeros(distance.size, dtype=bool)
    is_source[list(sources)] = True
    finds = ~is_source[rows.heads] & (rows.heads != rows.tails)
    order = np.argsort(distance, kind="stable")[np.count_nonzero(distance < 0) :]
    rank = np.zeros(distance.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    _Ties(rows, distance, tight[finds[tight]], order, rank, list(sources)).resolve()
    order = order[np.argsort(rank[order])]
    tight = in_order(rows, tight, order)
    arc = np.full(distance.size, -1, dtype=np.int64)
    last_first = tight[finds[tight]][::-1]
    arc[rows.heads[last_first]] = last_first  # what is written last stays
    return Settled(order, tight, arc)


def summed(rows: Rows, exact: Places, sources: Sequence[int]) -> NDArray[np.float64]:
    """Distances of decimals as NetworkX sums them, with a rounding at each arc.

    Of paths that are equally short it takes the one whose sum comes out least. `exact` are distances in whole units of
    the last decimal, far above any rounding, so that only tight arcs can be part of such a path.
    """
    lengths = np.where(exact < 0, -1.0, np.inf)
    lengths[list(sources)] = 0.0
    tight = _tight(rows, exact, rows.arcs.weights.astype(np.int64))
    tight = tight[np.argsort(exact[rows.tails[tight]], kind="stable")]
    found, weights = lengths.tolist(), rows.weights[tight]
    arcs = list(zip(rows.tails[tight].tolist(), rows.heads[tight].tolist(), weights.tolist()))
    changed = True
    while changed:
        changed = False
        for tail, head, weight in arcs:
            length = found[tail] + weight
            if length < found[head]:
                found[head] = length
                changed = True
        changed = changed and not weights.all()  # what weighs nothing may lead back to a node that was passed
    return np.array(found)


def _tight(rows: Rows, distance: NDArray[Any], weights: NDArray[Any] | int) -> Places:
    from_there = distance[rows.tails]
    return np.flatnonzero((from_there >= 0) & (from_there + weights == distance[rows.heads]))


def in_order(rows: Rows, arcs: Places, order: Places) -> Places:
    """Rising arcs, by the order of their tails."""
    counts = np.bincount(rows.tails[arcs], minlength=rows.arcs.vertices)
    starts = np.cumsum(counts) - counts
    counts = counts[order]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    return arcs[np.repeat(starts[order] - (ends - counts), counts) + np.arange(total)]


class _Ties:
    """Puts nodes of equal distance in order, distance by distance, as each order depends on those before."""

    def __init__(
        self, rows: Rows, distance: NDArray[Any], tight: Places, order: Places, rank: Places, sources: list[int]
    ) -> None:
        """`rank` is that by distance, and is changed to the whole order."""
        self.rows, self.rank, self.sources = rows, rank, sources
        by_distance = distance[order]
        first = np.flatnonzero(np.concatenate([[True], by_distance[1:] != by_distance[:-1]]))[: order.size]
        sizes = np.diff(np.concatenate([first, [order.size]]))
        tied = sizes > 1
        self.starts = first[tied]
        self.group = np.full(distance.size, -1, dtype=np.int64)
        self.group[order] = np.repeat(np.where(tied, np.cumsum(tied) - 1, -1), sizes)
        into = tight[self.group[rows.heads[tight]] >= 0]
        level = distance[rows.tails[into]] == distance[rows.heads[into]]
        self.follow = self._following(into[level])
        into = into[~level]
        self.arcs = into[np.argsort(self.group[rows.heads[into]], kind="stable")]
        self.bounds = np.searchsorted(self.group[rows.heads[self.arcs]], np.arange(self.starts.size + 1)).tolist()

    def resolve(self) -> None:
        source_group = int(self.group[self.sources[0]]) if self.sources else -1
        for group, start in enumerate(self.starts.tolist()):
            settled = self.sources if group == source_group else self._by_arcs(group)
            settled = self._with_following(settled) if self.follow else settled
            self.rank[settled] = np.arange(start, start + len(settled))

    def _by_arcs(self, group: int) -> list[int]:
        """Nodes of a group that arcs from lesser distances lead to, in the order of the first of these."""
        arcs = self.arcs[self.bounds[group] : self.bounds[group + 1]]
        heads, ranks = self.rows.heads[arcs], self.rank[self.rows.tails[arcs]]
        if arcs.size <= FEW:
            by_arc = sorted(zip(ranks.tolist(), arcs.tolist(), heads.tolist()))
            return list(dict.fromkeys(head for _, _, head in by_arc))
        heads = heads[np.argsort(ranks, kind="stable")]  # arcs rise, so those of one tail stay as they stand
        _, first = np.unique(heads, return_index=True)
        return heads[np.sort(first)].tolist()  # type: ignore[no-any-return]

    def _following(self, level: Places) -> dict[int, list[int]]:
        """What each node leads to by arcs that weigh nothing."""
        follow: dict[int, list[int]] = {}
        for tail, head in zip(self.rows.tails[level].tolist(), self.rows.heads[level].tolist()):
            follow.setdefault(tail, []).append(head)
        return follow

    def _with_following(self, settled: list[int]) -> list[int]:
        queue, seen = list(settled), set(settled)
        for node in queue:
            for head in self.follow.get(node, ()):
                if head not in seen:
                    seen.add(head)
                    queue.append(head)
        return queue

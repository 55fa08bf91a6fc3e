"""One search on the devices, told as NetworkX tells of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.order import Places, Settled, in_order, settle, summed
from laneway.networkx_backend.rows import as_python

Path = list[Any]


class Search:
    """Distances from one or several sources, along arcs or against them."""

    def __init__(
        self,
        graph: Graph,
        sources: Sequence[int],
        *,
        unit: bool = True,
        against: bool = False,
        cutoff: Any = None,
        by_levels: bool = True,
    ) -> None:
        """`sources` are places in the order in which NetworkX takes them, each once. `cutoff` bounds distances: if
        `by_levels`, as NetworkX's breadth-first search does, which asks whether to go on after each level."""
        self.graph, self.sources = graph, sources
        self.rows = rows = graph.backward if against else graph.forward
        self.weights = 1 if unit else rows.weights
        self.decimal = None if unit else rows.decimal
        run = session().bfs if unit else session().sssp
        found = run(rows.arcs, sources=[rows.arcs.id_of(place) for place in sources]).distance.values
        self.distance: NDArray[Any] = found if unit or rows.scale == 1 else summed(rows, found, sources)
        self.cutoff, self.by_levels = cutoff, by_levels
        if cutoff is not None:
            near = self._within(self.distance)
            near[list(sources)] = True
            self.distance = np.where(near, self.distance, -1)

    def _within(self, distance: NDArray[Any]) -> NDArray[np.bool_]:
        if self.cutoff is None:
            return np.ones(distance.size, dtype=bool)
        within: NDArray[np.bool_] = distance - 1 < self.cutoff if self.by_levels else distance <= self.cutoff
        return within

    @cached_property
    def settled(self) -> Settled:
        return settle(self.rows, self.distance, self.sources, self.weights)

    @property
    def order(self) -> Places:
        """What was reached, as NetworkX settles it."""
        return self.settled.order

    @property
    def nodes(self) -> list[Any]:
        """The same as nodes."""
        return self.graph.nodes_at(self.order)

    def length_to(self, place: int | None) -> Any:
        """The distance of a node; None where it was not reached, or there is none."""
        if place is None or self.distance[place] < 0:
            return None
        where = np.array([place])
        return as_python(self.distance[where], self._decimal(where))[0]

    def lengths(self) -> dict[Any, Any]:
        return dict(zip(self.nodes, as_python(self.distance[self.order], self._decimal(self.order))))

    def parents(self) -> Places:
        """One entry a vertex: place of the one before it, -1 where there is none."""
        arc = self.settled.arc
        return np.where(arc < 0, -1, self.rows.tails[arc] if self.rows.tails.size else -1)

    def path_to(self, place: int) -> Path:
        """Nodes from a source to a place that was reached."""
        parents, path = self.parents(), [place]
        while (place := int(parents[place])) >= 0:
            path.append(place)
        return self.graph.nodes_at(np.array(path[::-1]))

    def paths(self, join: Callable[[Path, Path], Path] = operator.add) -> dict[Any, Path]:
        """The path to each node: `join` puts a node behind, or before, that of its parent."""
        nodes, parents = self.nodes, self.parents()[self.order].tolist()
        paths: dict[int, Path] = {}
        for place, node, parent in zip(self.order.tolist(), nodes, parents):
            paths[place] = [node] if parent < 0 else join(paths[parent], [node])
        return dict(zip(nodes, paths.values()))

    def edges(self) -> list[tuple[Any, Any]]:
        """Parent and child of each node but the sources, in the order of the children."""
        found = self.order[self.settled.arc[self.order] >= 0]
        return list(zip(self.graph.nodes_at(self.parents()[found]), self.graph.nodes_at(found)))

    def predecessors(self) -> dict[Any, list[Any]]:
        """All nodes before each on shortest paths, as NetworkX settles them, none before a source; the nodes in the
        order in which it first sees them. Parallel edges are one."""
        rows, tight = self.rows, self.settled.tight
        tight = tight[self._within(self.distance[rows.heads[tight]])]  # a source is reached beyond any bound
        nodes = dict(zip(self.order.tolist(), self.nodes))
        before: dict[int, list[Any]] = {place: [] for place in self.sources}
        for head in rows.heads[self._seen_by()].tolist():
            before.setdefault(head, [])
        for head, tail in dict.fromkeys(zip(rows.heads[tight].tolist(), rows.tails[tight].tolist())):
            before[head].append(nodes[tail])
        return {nodes[place]: found for place, found in before.items()}

    def _seen_by(self) -> Places:
        """Arcs that lead to what is reached, as NetworkX looks at them."""
        rows = self.rows
        from_there = self.distance[rows.tails]
        near = self._within(from_there + self.weights)
        arcs = np.flatnonzero((from_there >= 0) & (self.distance[rows.heads] >= 0) & near)
        return in_order(rows, arcs, self.order)

    def _decimal(self, places: Places) -> NDArray[np.bool_] | None:
        """Whether NetworkX has the distances of places as floats: those of paths with a float among their weights."""
        if self.decimal is None:
            return None
        arc = self.settled.arc
        found = (arc >= 0) & self.decimal[arc]
        if self.decimal.all():
            return found[places]
        parent = np.where(arc < 0, np.arange(arc.size), self.rows.tails[arc])
        while not np.array_equal(further := parent[parent], parent):  # each step looks twice as far back
            found |= found[parent]
            parent = further
        return found[places]

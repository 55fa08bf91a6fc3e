"""The backend's graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import laneway.graph
from laneway.errors import UsageError
from laneway.networkx_backend.rows import Rows


class Graph:
    """A graph that functions of NetworkX run on Laneway's devices, where it stays between calls.

    It is made of a `laneway.Graph`, whose vertices are its nodes and whose weights are the edge attribute `attribute`,
    or by NetworkX's dispatch of one of its own graphs. It does not change. `directed=False` says that each arc has its
    like in the other direction, as `directed=False` of `Graph.from_edges` and `read_graph` makes them; `multigraph`,
    that parallel arcs are edges of their own. UsageError for parallel arcs where it is not said.

    Functions that the backend does not have raise NotImplementedError, or run on a converted graph where
    `nx.config.fallback_to_nx` is set.
    """

    __networkx_backend__ = "laneway"

    def __init__(
        self,
        graph: laneway.graph.Graph,
        *,
        directed: bool = True,
        multigraph: bool = False,
        attribute: str | None = "weight",
    ) -> None:
        if not isinstance(graph, laneway.graph.Graph):
            raise UsageError(f"graph must be a laneway.Graph, not {type(graph).__name__}")
        if not multigraph:
            _refuse_parallel_arcs(graph)
        decimal = np.ones(graph.arcs, dtype=bool) if graph.weight_scale != 1 else None
        self._set(Rows(graph, graph.weight_scale, decimal), None, directed, multigraph, attribute, {})

    @classmethod
    def of_rows(
        cls,
        forward: Rows,
        sources: NDArray[np.int64] | None,
        directed: bool,
        multigraph: bool,
        attribute: Any,
        attributes: dict[Any, Any],
    ) -> Graph:
        """The graph of rows in the order of a NetworkX graph; `sources` are those of `Rows.turned`."""
        graph = cls.__new__(cls)
        graph._set(forward, sources, directed, multigraph, attribute, attributes)
        return graph

    def _set(
        self,
        forward: Rows,
        sources: NDArray[np.int64] | None,
        directed: bool,
        multigraph: bool,
        attribute: Any,
        attributes: dict[Any, Any],
    ) -> None:
        self.forward = forward
        """Arcs by their tails."""
        self.attribute = attribute
        """Edge attribute that the weights are; None where none was asked for."""
        self.graph = attributes
        """Attributes of the graph itself."""
        self._sources = sources
        self._backward: Rows | None = None if directed else forward
        self._directed, self._multigraph = bool(directed), bool(multigraph)
        self.__networkx_cache__: dict[str, Any] = {}  # of graphs that NetworkX makes of this one

    @property
    def backward(self) -> Rows:
        """Arcs by their heads; made when first asked for, and kept."""
        if self._backward is None:
            self._backward = self.forward.turned(self._sources)
        return self._backward

    def unit(self, weight: Any) -> bool:
        """Whether every arc counts 1 for `weight`, which names an attribute, or is None.

        NotImplementedError where the graph does not have what was asked for: NetworkX would take 1 for what an edge
        lacks, but what was left out in converting it cannot be told from that.
        """
        if weight is None:
            return True
        if weight != self.attribute:
            raise NotImplementedError(f"this graph has {self.attribute!r} of its edges, not {weight!r}")
        return not self.forward.arcs.weighted

    def find(self, node: Any) -> int | None:
        """Place of a node; None where there is none."""
        return self.forward.arcs.numbering.find(node)

    def nodes_at(self, places: NDArray[np.int64] | None = None) -> list[Any]:
        """The nodes at some places, or all."""
        return self.forward.arcs.numbering.ids_of(places)

    def is_directed(self) -> bool:
        return self._directed

    def is_multigraph(self) -> bool:
        return self._multigraph

    def number_of_nodes(self) -> int:
        return self.forward.arcs.vertices

    order = number_of_nodes
    __len__ = number_of_nodes

    def number_of_edges(self) -> int:
        """Of an undirected graph each edge once, as NetworkX counts them."""
        arcs = self.forward.arcs
        return arcs.arcs if self._directed else (arcs.arcs + int(self.forward.loops.size)) // 2

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes_at())

    def __contains__(self, node: Any) -> bool:
        return self.find(node) is not None

    def __repr__(self) -> str:
        kind = ("Multi" if self._multigraph else "") + ("DiGraph" if self._directed else "Graph")
        return f"<laneway {kind} of NetworkX: {len(self)} nodes, {self.number_of_edges()} edges>"


def _refuse_parallel_arcs(graph: laneway.graph.Graph) -> None:
    heads, offsets = graph.heads, graph.offsets.astype(np.int64)
    rises = np.ones(graph.arcs, dtype=bool)  # from the arc before, or the first of its row
    rises[1:] = heads[1:] > heads[:-1]
    rises[offsets[offsets < graph.arcs]] = True
    if rises.all():
        return
    for first in range(0, graph.vertices, 2**24):  # rows, which may be in any order
        ends = offsets[first : first + 2**24 + 1]
        tails = np.repeat(np.arange(ends.size - 1, dtype=np.uint64), np.diff(ends))
        arcs = np.sort(tails << np.uint64(40) | heads[ends[0] : ends[-1]])
        again = np.flatnonzero(arcs[1:] == arcs[:-1])
        if again.size:
            arc = int(arcs[again[0]])
            tail, head = graph.id_of(first + (arc >> 40)), graph.id_of(arc % 2**40)
            raise UsageError(f"several arcs lead from {tail!r} to {head!r}: say multigraph=True, or make them one")

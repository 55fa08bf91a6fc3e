"""Graphs of NetworkX as the backend's, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import laneway.graph
from laneway.errors import UsageError
from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.rows import Rows, as_python
from laneway.numbering import Numbering
from laneway.weights import weights_of

WHOLE = (int, np.integer)
NUMBERS = (*WHOLE, float)


def convert_from_nx(
    graph: Any,
    edge_attrs: Mapping[Any, Any] | None = None,
    node_attrs: Mapping[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> Graph:
    """The backend's graph of one of NetworkX: of any kind, with one edge attribute at most, which holds weights.

    `edge_attrs` is its name with what edges weigh that lack it, as `{"weight": 1}`. Called by NetworkX's dispatch,
    which keeps the graph until the other one changes. Raises NotImplementedError for weights that `Graph` does not
    take, for decimals that do not fit 32 bits together, and where other attributes are to be kept.
    """
    if preserve_edge_attrs or preserve_node_attrs or node_attrs or len(edge_attrs or ()) > 1:
        raise NotImplementedError("only one edge attribute, which holds weights, goes along")
    attribute, default = next(iter((edge_attrs or {None: 1}).items()))
    try:
        numbering = Numbering.of(graph)
    except UsageError as error:
        raise NotImplementedError(str(error)) from None
    index = _Index(numbering)
    successors = [neighbors for _, neighbors in graph.adjacency()]
    offsets, heads = index.rows(successors, graph.is_multigraph())
    values = None if attribute is None else _values(successors, attribute, default, graph.is_multigraph())
    forward = _weighted(offsets, heads, values, numbering)
    sources = None
    if graph.is_directed():
        sources = index.rows(list(graph.pred.values()), graph.is_multigraph())[1]
    kept = dict(graph.graph) if preserve_graph_attrs else {}
    return Graph.of_rows(forward, sources, graph.is_directed(), graph.is_multigraph(), attribute, kept)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """What a function gives, as NetworkX has it: a backend's graph as one of NetworkX's kinds, with its weights; all
    else is so already."""
    if not isinstance(result, Graph):
        return result
    multigraph, directed = result.is_multigraph(), result.is_directed()
    made = {
        (False, False): nx.Graph,
        (False, True): nx.DiGraph,
        (True, False): nx.MultiGraph,
        (True, True): nx.MultiDiGraph,
    }[multigraph, directed]()
    made.graph.update(result.graph)
    nodes = result.nodes_at()
    made.add_nodes_from(nodes)
    rows = result.forward
    chosen = np.flatnonzero(directed | (rows.tails <= rows.heads))  # one of an edge that leads both ways
    ends = [(nodes[tail], nodes[head]) for tail, head in zip(rows.tails[chosen].tolist(), rows.heads[chosen].tolist())]
    if not rows.arcs.weighted or result.attribute is None:
        made.add_edges_from(ends)
    else:
        weights = as_python(rows.weights[chosen], None if rows.decimal is None else rows.decimal[chosen])
        made.add_edges_from((*pair, {result.attribute: weight}) for pair, weight in zip(ends, weights))
    return made


class _Index:
    """Finds the places of many nodes."""

    def __init__(self, numbering: Numbering) -> None:
        self.numbering = numbering
        if not numbering.from_zero:
            self.place_of = {node: place for place, node in enumerate(numbering.ids_of())}

    def rows(self, neighbors: list[Mapping[Any, Any]], multigraph: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets and heads of rows of neighbours, which come as often as edges lead there."""
        degrees = np.fromiter(map(len, neighbors), np.int64, len(neighbors))
        every: Iterable[Any] = chain.from_iterable(neighbors)
        if not self.numbering.from_zero:
            every = map(self.place_of.__getitem__, every)
        heads = np.fromiter(every, np.int64, int(degrees.sum()))
        offsets = np.concatenate([[0], np.cumsum(degrees)])
        if multigraph:
            parallel = (len(edges) for row in neighbors for edges in row.values())
            counts = np.fromiter(parallel, np.int64, heads.size)
            heads = np.repeat(heads, counts)
            offsets = np.concatenate([[0], np.cumsum(counts)])[offsets]
        return offsets, heads


def _values(neighbors: list[Mapping[Any, Any]], attribute: Any, default: Any, multigraph: bool) -> list[Any]:
    """The attribute of each edge, in the order of the rows."""
    if multigraph:
        every = (data for row in neighbors for edges in row.values() for data in edges.values())
    else:
        every = (data for row in neighbors for data in row.values())
    return [data.get(attribute, default) for data in every]


def _weighted(
    offsets: NDArray[np.int64], heads: NDArray[np.int64], values: list[Any] | None, numbering: Numbering
) -> Rows:
    """Rows with weights as NetworkX has them: whole numbers, floats, or some of both."""
    if not values:
        return Rows(laneway.graph.Graph.of_rows(offsets, heads, None, numbering), 1, None)
    kinds = set(map(type, values))
    if wrong := [kind.__name__ for kind in kinds if not issubclass(kind, NUMBERS)]:
        raise NotImplementedError(f"weights must be whole numbers or floats, not {wrong[0]}")
    whole = all(issubclass(kind, WHOLE) for kind in kinds)

    def name(place: int) -> str:
        tail = numbering.id_of(int(np.searchsorted(offsets, place, side="right")) - 1)
        return f"the weight of the edge from {tail!r} to {numbering.id_of(int(heads[place]))!r}"

    try:
        weights = weights_of(np.array(values, dtype=np.int64 if whole else np.float64), heads.size, name)
    except OverflowError:
        raise NotImplementedError("a weight is over the limit of 4294967295") from None
    except UsageError as error:
        raise NotImplementedError(str(error)) from None
    arcs = laneway.graph.Graph.of_rows(offsets, heads, weights, numbering)
    if arcs.weights_rounded:
        raise NotImplementedError("the weights have more decimals than 32 bits hold together")
    decimal = None if whole else np.fromiter((isinstance(value, float) for value in values), bool, len(values))
    return Rows(arcs, arcs.weight_scale, decimal)

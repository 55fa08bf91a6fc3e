"""NetworkX's triangles and clustering coefficients of undirected graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np

from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph


def triangles(G: Graph, nodes: Any = None) -> Any:
    if nodes is not None:
        _refuse_multigraph(G)
    return _of_nodes(G, nodes, session().triangles(G.forward.arcs).triangles.tolist())


def clustering(G: Graph, nodes: Any = None, weight: None = None) -> Any:
    _refuse_multigraph(G)
    found = session().local_clustering(G.forward.arcs).coefficient.tolist()
    return _of_nodes(G, nodes, [value or 0 for value in found])  # a whole 0, as NetworkX has it


def average_clustering(G: Graph, nodes: Any = None, weight: None = None, count_zeros: bool = True) -> Any:
    values = clustering(G, nodes).values()
    if not count_zeros:
        values = [value for value in values if value > 0]
    return sum(values) / len(values)


def transitivity(G: Graph) -> Any:
    _refuse_multigraph(G)
    degrees = np.diff(G.forward.offsets)
    degrees[G.forward.tails[G.forward.loops]] -= 1
    corners = 6 * session().triangles(G.forward.arcs).total
    return corners / int((degrees * (degrees - 1)).sum()) if corners else 0


def _of_nodes(graph: Graph, nodes: Any, values: list[Any]) -> Any:
    """The values of all nodes, of one, or of those among several that the graph has."""
    if nodes is None:
        return dict(zip(graph, values))
    place = graph.find(nodes)
    if place is not None:
        return values[place]
    if not isinstance(nodes, Iterable):
        raise nx.NetworkXError(f"Node {nodes} is not in the graph.")
    return {node: values[at] for node in nodes if (at := _find(graph, node)) is not None}


def _find(graph: Graph, node: Any) -> int | None:
    try:
        hash(node)
    except TypeError:
        raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from None
    return graph.find(node)


def _refuse_multigraph(graph: Graph) -> None:
    if graph.is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")

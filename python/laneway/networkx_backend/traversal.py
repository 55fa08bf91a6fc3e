"""NetworkX's breadth-first search, and what can be reached."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np

from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.search import Search
from laneway.networkx_backend.versions import older_than

Edge = tuple[Any, Any]


def bfs_edges(
    G: Graph, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: None = None
) -> Iterator[Edge]:
    yield from _search(G, source, reverse, depth_limit).edges()


def bfs_predecessors(G: Graph, source: Any, depth_limit: Any = None, sort_neighbors: None = None) -> Iterator[Edge]:
    for parent, child in bfs_edges(G, source, depth_limit=depth_limit):
        yield child, parent


def bfs_successors(
    G: Graph, source: Any, depth_limit: Any = None, sort_neighbors: None = None
) -> Iterator[tuple[Any, list[Any]]]:
    edges = _search(G, source, False, depth_limit).edges()
    if not edges or edges[0][0] != source:
        yield source, []
    for parent, children in groupby(edges, itemgetter(0)):
        yield parent, [child for _, child in children]


def bfs_layers(G: Graph, sources: Any) -> Iterator[list[Any]]:
    if sources in G:
        sources = [sources]
    places = []
    for node in dict.fromkeys(sources) if older_than("3.5") else set(sources):
        place = G.find(node)
        if place is None:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
        places.append(place)
    if not places:
        return
    found = Search(G, places)
    levels = found.distance[found.order]
    for layer in np.split(found.order, np.flatnonzero(np.diff(levels)) + 1):
        yield G.nodes_at(layer)


def descendants_at_distance(G: Graph, source: Any, distance: Any) -> set[Any]:
    place = G.find(source)
    if place is None:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(G.nodes_at(np.flatnonzero(Search(G, [place]).distance == distance))) if distance >= 0 else set()


def descendants(G: Graph, source: Any) -> set[Any]:
    return _reached(G, source, reverse=False)


def ancestors(G: Graph, source: Any) -> set[Any]:
    return _reached(G, source, reverse=True)


def _reached(graph: Graph, source: Any, reverse: bool) -> set[Any]:
    """All but the source."""
    return set(graph.nodes_at(np.flatnonzero(_search(graph, source, reverse, None).distance > 0)))


def _search(graph: Graph, source: Any, reverse: bool, depth_limit: Any) -> Search:
    place = graph.find(source)
    if place is None:
        kind = "digraph" if graph.is_directed() else "graph"
        raise nx.NetworkXError(f"The node {source} is not in the {kind}.")
    return Search(graph, [place], cutoff=depth_limit, against=reverse)

"""NetworkX's shortest paths that leave the choice of the method to it."""

from __future__ import annotations

from typing import Any

import networkx as nx

from laneway.networkx_backend import unweighted, weighted
from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.search import Path, Search
from laneway.networkx_backend.versions import older_than
from laneway.networkx_backend.weighted import Weight


def has_path(G: Graph, source: Any, target: Any) -> bool:
    return _edges_between(G, source, target) is not None


def shortest_path(
    G: Graph, source: Any = None, target: Any = None, weight: Weight = None, method: str = "dijkstra"
) -> Any:
    """Between one pair of nodes, which `table.one_pair` leaves to NetworkX where it has the graph, the path among all
    from the source."""
    _require_method(method)
    if source is None and target is None:
        every = (
            unweighted.all_pairs_shortest_path(G)
            if weight is None
            else weighted.all_pairs_dijkstra_path(G, weight=weight)
        )
        return dict(every) if older_than("3.5") else every
    if source is None:
        against = _against(G, target, weight, f"Source {target} not in G")
        return {node: path[::-1] for node, path in against.paths().items()}
    if target is not None:
        return _path_between(G, source, target, weight)
    if weight is None:
        return unweighted.single_source_shortest_path(G, source)
    return weighted.single_source_dijkstra_path(G, source, weight=weight)


def shortest_path_length(
    G: Graph, source: Any = None, target: Any = None, weight: Weight = None, method: str = "dijkstra"
) -> Any:
    _require_method(method)
    if source is None and target is None:
        if weight is None:
            return unweighted.all_pairs_shortest_path_length(G)
        return weighted.all_pairs_dijkstra_path_length(G, weight=weight)
    if source is None:
        return _against(G, target, weight, f"Source {target} is not in G").lengths()
    if target is None:
        if weight is None:
            return unweighted.single_source_shortest_path_length(G, source)
        return weighted.single_source_dijkstra_path_length(G, source, weight=weight)
    if weight is not None:
        return weighted.dijkstra_path_length(G, source, target, weight)
    length = _edges_between(G, source, target)
    if length is None:
        raise _no_path(source, target)
    return length


def _edges_between(graph: Graph, source: Any, target: Any) -> int | None:
    """Edges of a shortest path; None where there is no path."""
    found, place = _search_between(graph, source, target, None)
    return found.length_to(place)  # type: ignore[no-any-return]


def _path_between(graph: Graph, source: Any, target: Any, weight: Weight) -> Path:
    found, place = _search_between(graph, source, target, weight)
    if found.length_to(place) is None:
        raise _no_path(source, target)
    return found.path_to(place)


def _search_between(graph: Graph, source: Any, target: Any, weight: Weight) -> tuple[Search, int]:
    """A search from the source, and the target's place."""
    start, end = graph.find(source), graph.find(target)
    if start is None:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    if end is None:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    return Search(graph, [start], unit=graph.unit(weight)), end


def _no_path(source: Any, target: Any) -> nx.NetworkXNoPath:
    return nx.NetworkXNoPath(f"No path between {source} and {target}.")


def _against(graph: Graph, target: Any, weight: Weight, missing: str) -> Search:
    place = graph.find(target)
    if place is None:
        raise nx.NodeNotFound(missing if weight is None else f"Node {target} not found in graph")
    return Search(graph, [place], unit=graph.unit(weight), against=True)


def _require_method(method: str) -> None:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")

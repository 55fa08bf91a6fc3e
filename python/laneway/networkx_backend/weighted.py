"""NetworkX's shortest paths by weight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.search import Path, Search
from laneway.networkx_backend.unweighted import Cutoff

Lengths = dict[Any, Any]
Paths = dict[Any, Path]
Weight = Any
"""Name of an edge attribute; None: every edge counts 1."""


def dijkstra_path(G: Graph, source: Any, target: Any, weight: Weight = "weight") -> Path:
    return single_source_dijkstra(G, source, target, weight=weight)[1]  # type: ignore[no-any-return]


def dijkstra_path_length(G: Graph, source: Any, target: Any, weight: Weight = "weight") -> Any:
    _require([source], G)
    if source == target:
        return 0
    length = _search(G, [source], None, weight).length_to(G.find(target))
    if length is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return length


def single_source_dijkstra(
    G: Graph, source: Any, target: Any = None, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Any:
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def single_source_dijkstra_path(G: Graph, source: Any, cutoff: Cutoff = None, weight: Weight = "weight") -> Paths:
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


def single_source_dijkstra_path_length(
    G: Graph, source: Any, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Lengths:
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def multi_source_dijkstra(
    G: Graph, sources: Any, target: Any = None, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Any:
    """The pair of lengths and paths to all nodes, or to the target."""
    _require(sources, G)
    if target in sources:
        return 0, [target]
    found = _search(G, sources, cutoff, weight)
    if target is None:
        return found.lengths(), found.paths()
    length = found.length_to(place := G.find(target))
    if place is None or length is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return length, found.path_to(place)


def multi_source_dijkstra_path(G: Graph, sources: Any, cutoff: Cutoff = None, weight: Weight = "weight") -> Paths:
    _require(sources, G)
    return _search(G, sources, cutoff, weight).paths()


def multi_source_dijkstra_path_length(
    G: Graph, sources: Any, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Lengths:
    _require(sources, G)
    return _search(G, sources, cutoff, weight).lengths()


def all_pairs_dijkstra(
    G: Graph, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Any, tuple[Lengths, Paths]]]:
    for node in G:
        yield node, single_source_dijkstra(G, node, cutoff=cutoff, weight=weight)


def all_pairs_dijkstra_path_length(
    G: Graph, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    for node in G:
        yield node, single_source_dijkstra_path_length(G, node, cutoff, weight)


def all_pairs_dijkstra_path(G: Graph, cutoff: Cutoff = None, weight: Weight = "weight") -> Iterator[tuple[Any, Paths]]:
    for node in G:
        yield node, single_source_dijkstra_path(G, node, cutoff, weight)


def dijkstra_predecessor_and_distance(
    G: Graph, source: Any, cutoff: Cutoff = None, weight: Weight = "weight"
) -> tuple[dict[Any, list[Any]], Lengths]:
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} is not found in the graph")
    found = _search(G, [source], cutoff, weight)
    return found.predecessors(), found.lengths()


def _require(sources: Any, graph: Graph) -> None:
    if not sources:
        raise ValueError("sources must not be empty")
    for node in sources:
        if node not in graph:
            raise nx.NodeNotFound(f"Node {node} not found in graph")


def _search(graph: Graph, sources: Any, cutoff: Cutoff, weight: Weight) -> Search:
    places = [place for node in dict.fromkeys(sources) if (place := graph.find(node)) is not None]
    return Search(graph, places, unit=graph.unit(weight), cutoff=cutoff, by_levels=False)

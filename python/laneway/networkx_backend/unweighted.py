"""NetworkX's shortest paths in numbers of edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.search import Path, Search
from laneway.networkx_backend.versions import pairs_before

Cutoff = Any
"""A number, or None for no bound."""


def single_source_shortest_path_length(G: Graph, source: Any, cutoff: Cutoff = None) -> dict[Any, int]:
    return Search(G, [_place(G, source, f"Source {source} is not in G")], cutoff=cutoff).lengths()


def single_target_shortest_path_length(G: Graph, target: Any, cutoff: Cutoff = None) -> Any:
    place = _place(G, target, f"Target {target} is not in G")
    return pairs_before("3.5", Search(G, [place], cutoff=cutoff, against=True).lengths())


def all_pairs_shortest_path_length(G: Graph, cutoff: Cutoff = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    for node in G:
        yield node, single_source_shortest_path_length(G, node, cutoff)


def single_source_shortest_path(G: Graph, source: Any, cutoff: Cutoff = None) -> dict[Any, Path]:
    return Search(G, [_place(G, source, f"Source {source} not in G")], cutoff=cutoff).paths()


def single_target_shortest_path(G: Graph, target: Any, cutoff: Cutoff = None) -> dict[Any, Path]:
    place = _place(G, target, f"Target {target} not in G")
    return Search(G, [place], cutoff=cutoff, against=True).paths(lambda path, node: node + path)


def all_pairs_shortest_path(G: Graph, cutoff: Cutoff = None) -> Iterator[tuple[Any, dict[Any, Path]]]:
    for node in G:
        yield node, single_source_shortest_path(G, node, cutoff)


def predecessor(
    G: Graph, source: Any, target: Any = None, cutoff: Cutoff = None, return_seen: bool | None = None
) -> Any:
    bound = max(cutoff, 1) if cutoff else None  # asked for behind the first level; 0 is no bound
    found = Search(G, [_place(G, source, f"Source {source} not in G")], cutoff=bound)
    before = found.predecessors()
    if target is None:
        return (before, found.lengths()) if return_seen else before
    if target not in before:
        return ([], -1) if return_seen else []
    return (before[target], found.length_to(G.find(target))) if return_seen else before[target]


def _place(graph: Graph, node: Any, message: str) -> int:
    place = graph.find(node)
    if place is None:
        raise nx.NodeNotFound(message)
    return place

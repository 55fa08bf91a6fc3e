"""Which functions of NetworkX the backend offers, where each stands, and which calls of it are left to NetworkX.

To offer another one, write it in a module of this package, under NetworkX's name and with its arguments, and add a line
here. Nothing of this is loaded but this file when NetworkX is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Callable, Optional

Arguments = Mapping[str, Any]
Refusal = Callable[[Arguments], Optional[str]]
"""Why a call with these arguments is left to NetworkX; None where it is not."""


@dataclass(frozen=True)
class Offer:
    """One function of NetworkX that the backend has."""

    module: str
    """Of this package."""
    refusals: tuple[Refusal, ...] = ()
    notes: str = ""
    """What NetworkX's documentation of the function says of this backend."""


def weight_function(arguments: Arguments) -> str | None:
    return "weight is a function, which devices cannot call" if callable(arguments.get("weight")) else None


def bellman_ford(arguments: Arguments) -> str | None:
    method = arguments.get("method")
    return f"method {method!r} is not offered" if method != "dijkstra" and arguments.get("weight") is not None else None


def one_pair(arguments: Arguments) -> str | None:
    if arguments["source"] is None or arguments["target"] is None:
        return None
    if getattr(arguments["G"], "__networkx_backend__", None) == "laneway":
        return None  # NetworkX does not have that graph
    return "which of several shortest paths NetworkX finds from both ends is its own choice"


def sorted_neighbors(arguments: Arguments) -> str | None:
    return "sort_neighbors is a function" if arguments.get("sort_neighbors") is not None else None


def directed(arguments: Arguments) -> str | None:
    return "of directed graphs NetworkX counts triangles by directions" if arguments["G"].is_directed() else None


def weights_of_triangles(arguments: Arguments) -> str | None:
    return "triangles are counted without weights" if arguments["weight"] is not None else None


def odd_rules(arguments: Arguments) -> str | None:
    """Of ranks that are no shares of a whole."""
    alpha, tol = arguments["alpha"], arguments["tol"]
    if not (isinstance(alpha, Real) and 0 <= float(alpha) <= 1):
        return f"alpha must be from 0 to 1, not {alpha!r}"
    return None if isinstance(tol, Real) and float(tol) >= 0 else f"tol must be 0 or more, not {tol!r}"


def successors(arguments: Arguments) -> str | None:
    return "of directed graphs NetworkX looks at successors alone" if arguments["G"].is_directed() else None


def own_order(arguments: Arguments) -> str | None:
    """Of a colouring whose order is not known beforehand, or follows from how Python's sets are laid out."""
    strategy = arguments["strategy"]
    if callable(strategy):
        return "strategy is a function, which chooses as it goes"
    return f"strategy {strategy!r} chooses as it goes, or by the order of Python's sets" if strategy in OTHER else None


def interchanged(arguments: Arguments) -> str | None:
    return "colours are not interchanged" if arguments["interchange"] else None


OTHER = (
    *("smallest_last", "independent_set", "saturation_largest_first", "DSATUR"),
    *("connected_sequential", "connected_sequential_bfs", "connected_sequential_dfs"),
)
"""NetworkX's other strategies of colouring."""
PATHS = "Weights must be whole, from 0 to 2**32 - 1, or decimals that 32 bits hold together, at one power of ten."
RANKS = (
    "Ranks are within 2**-24 * alpha / (1 - alpha) of those of exact arithmetic, relative to each, however small tol "
    "is, and beside that whole numbers of 2**-62. Weights are as those of paths."
)
WEIGHTED = (weight_function,)
GENERIC = (weight_function, bellman_ford)

OFFERED: dict[str, Offer] = {
    # link analysis
    "pagerank": Offer("ranks", (odd_rules,), RANKS),
    # centrality
    "in_degree_centrality": Offer("degrees"),
    # components
    "connected_components": Offer("components"),
    "number_connected_components": Offer("components"),
    "is_connected": Offer("components"),
    "node_connected_component": Offer("components"),
    "weakly_connected_components": Offer("components"),
    "number_weakly_connected_components": Offer("components"),
    "is_weakly_connected": Offer("components"),
    # colouring
    "greedy_color": Offer("coloring", (successors, own_order, interchanged)),
    # communities
    "label_propagation_communities": Offer("communities"),
    # clustering
    "triangles": Offer("cluster"),
    "clustering": Offer("cluster", (directed, weights_of_triangles)),
    "average_clustering": Offer("cluster", (directed, weights_of_triangles)),
    "transitivity": Offer("cluster", (directed,)),
    # shortest paths in arcs
    "single_source_shortest_path_length": Offer("unweighted"),
    "single_target_shortest_path_length": Offer("unweighted"),
    "all_pairs_shortest_path_length": Offer("unweighted"),
    "single_source_shortest_path": Offer("unweighted"),
    "single_target_shortest_path": Offer("unweighted"),
    "all_pairs_shortest_path": Offer("unweighted"),
    "predecessor": Offer("unweighted"),
    # shortest paths by weight
    "dijkstra_path": Offer("weighted", WEIGHTED, PATHS),
    "dijkstra_path_length": Offer("weighted", WEIGHTED, PATHS),
    "single_source_dijkstra": Offer("weighted", WEIGHTED, PATHS),
    "single_source_dijkstra_path": Offer("weighted", WEIGHTED, PATHS),
    "single_source_dijkstra_path_length": Offer("weighted", WEIGHTED, PATHS),
    "multi_source_dijkstra": Offer("weighted", WEIGHTED, PATHS),
    "multi_source_dijkstra_path": Offer("weighted", WEIGHTED, PATHS),
    "multi_source_dijkstra_path_length": Offer("weighted", WEIGHTED, PATHS),
    "all_pairs_dijkstra": Offer("weighted", WEIGHTED, PATHS),
    "all_pairs_dijkstra_path": Offer("weighted", WEIGHTED, PATHS),
    "all_pairs_dijkstra_path_length": Offer("weighted", WEIGHTED, PATHS),
    "dijkstra_predecessor_and_distance": Offer("weighted", WEIGHTED, PATHS),
    # either
    "has_path": Offer("generic"),
    "shortest_path": Offer("generic", (*GENERIC, one_pair), PATHS),
    "shortest_path_length": Offer("generic", GENERIC, PATHS),
    # breadth-first search
    "bfs_edges": Offer("traversal", (sorted_neighbors,)),
    "bfs_predecessors": Offer("traversal", (sorted_neighbors,)),
    "bfs_successors": Offer("traversal", (sorted_neighbors,)),
    "bfs_layers": Offer("traversal"),
    "descendants_at_distance": Offer("traversal"),
    "descendants": Offer("traversal"),
    "ancestors": Offer("traversal"),
}

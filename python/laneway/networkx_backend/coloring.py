"""NetworkX's greedy colouring, by the strategies that are an order of all nodes, known beforehand."""

from __future__ import annotations

import random
from typing import Any, Callable

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph


def greedy_color(G: Graph, strategy: Any = "largest_first", interchange: bool = False) -> dict[Any, int]:
    """As NetworkX's: each node gets the least colour that no neighbour before it has."""
    if len(G) == 0:
        return {}
    if strategy not in ORDERS:
        raise nx.NetworkXError(f"strategy must be callable or a valid string. {strategy} not valid.")
    order = ORDERS[strategy](G)
    nodes = G.nodes_at(order)
    found = session().color(G.forward.arcs, order=nodes).color.values[order]
    return dict(zip(nodes, found.tolist()))


def _largest_first(graph: Graph) -> NDArray[np.int64]:
    """By falling degree, to which a self-loop adds two; nodes of one degree as they stand in the graph."""
    degree = np.diff(graph.forward.offsets).astype(np.int64)
    np.add.at(degree, graph.forward.tails[graph.forward.loops], 1)
    return np.argsort(-degree, kind="stable")


def _random_sequential(graph: Graph) -> NDArray[np.int64]:
    """As Python's own generator shuffles the nodes."""
    places = list(range(len(graph)))
    random.shuffle(places)
    return np.array(places)


ORDERS: dict[str, Callable[[Graph], NDArray[np.int64]]] = {
    "largest_first": _largest_first,
    "random_sequential": _random_sequential,
}
"""As NetworkX names them."""

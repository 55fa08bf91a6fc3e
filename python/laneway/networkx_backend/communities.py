"""NetworkX's communities by label propagation, of its methods the one that draws nothing."""

from __future__ import annotations

from collections.abc import ValuesView
from typing import Any

from laneway.networkx_backend.coloring import ORDERS
from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph

UNTIL_REST = 2**64 - 1
"""Rounds: each but the last gives some edge two ends of one label, so they end."""


def label_propagation_communities(G: Graph) -> ValuesView[set[Any]]:
    """By the classes of the colouring that NetworkX takes. No two neighbours are of one class, so that it is the same
    whether its nodes take labels at once or one by one. NetworkX refuses directed graphs before it dispatches."""
    arcs = G.forward.arcs
    order = G.nodes_at(ORDERS["largest_first"](G))
    classes = session().color(arcs, order=order).color
    found = session().label_propagation(arcs, rounds=UNTIL_REST, classes=classes)
    communities: dict[Any, set[Any]] = {}
    for node, label in zip(G, found.label.values.tolist()):
        communities.setdefault(label, set()).add(node)
    return communities.values()

"""NetworkX's components: of undirected graphs, and of directed ones whichever way their arcs lead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph
from laneway.programs.cc import ComponentsResult


def connected_components(G: Graph) -> Iterator[set[Any]]:
    found = _find(G)
    members = np.argsort(found.component.values, kind="stable")  # components are numbered by their first nodes
    for places in np.split(members, np.cumsum(found.sizes)[:-1]) if len(G) else ():
        yield set(G.nodes_at(places))


def number_connected_components(G: Graph) -> int:
    return _find(G).components


def is_connected(G: Graph) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return _find(G).components == 1


def node_connected_component(G: Graph, n: Any) -> set[Any]:
    place = G.find(n)
    if place is None:
        raise KeyError(n)
    component = _find(G).component.values
    return set(G.nodes_at(np.flatnonzero(component == component[place])))


weakly_connected_components = connected_components
number_weakly_connected_components = number_connected_components
is_weakly_connected = is_connected


def _find(graph: Graph) -> ComponentsResult:
    return session().connected_components(graph.forward.arcs)

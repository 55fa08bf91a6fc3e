"""NetworkX's components: of undirected graphs, and of directed ones whichever way their arcs lead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from networkx.utils import not_implemented_for

from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph
from laneway.programs.cc import ComponentsResult


def _components(G: Graph) -> Iterator[set[Any]]:
    found = _find(G)
    members = np.argsort(found.component.values, kind="stable")  # components are numbered by their first nodes
    for places in np.split(members, np.cumsum(found.sizes)[:-1]) if len(G) else ():
        yield set(G.nodes_at(places))


def _number_of_components(G: Graph) -> int:
    return _find(G).components


def _is_whole(G: Graph) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return _find(G).components == 1


def _component_of(G: Graph, n: Any) -> set[Any]:
    place = G.find(n)
    if place is None:
        raise KeyError(n)
    component = _find(G).component.values
    return set(G.nodes_at(np.flatnonzero(component == component[place])))


def _find(graph: Graph) -> ComponentsResult:
    return session().connected_components(graph.forward.arcs)


# NetworkX 3.2 does not look at the kind of graph itself before it dispatches all of these.
undirected, directed = not_implemented_for("directed"), not_implemented_for("undirected")
connected_components = undirected(_components)
number_connected_components = undirected(_number_of_components)
is_connected = undirected(_is_whole)
node_connected_component = undirected(_component_of)
weakly_connected_components = directed(_components)
number_weakly_connected_components = directed(_number_of_components)
is_weakly_connected = directed(_is_whole)

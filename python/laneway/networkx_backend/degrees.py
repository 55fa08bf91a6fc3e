"""NetworkX's centralities by degree."""

from __future__ import annotations

from typing import Any

from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph


def in_degree_centrality(G: Graph) -> dict[Any, float]:
    if len(G) <= 1:
        return dict.fromkeys(G, 1)
    share = 1.0 / (len(G) - 1.0)
    degrees = session().indegree(G.forward.arcs).in_degree.tolist()
    return {node: degree * share for node, degree in zip(G, degrees)}

"""NetworkX's PageRank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from laneway.errors import UsageError
from laneway.networkx_backend.devices import session
from laneway.networkx_backend.graph import Graph
from laneway.programs.pagerank import within_rounding
from laneway.programs.proportions import VertexNumbers, proportions_of


def pagerank(
    G: Graph,
    alpha: float = 0.85,
    personalization: VertexNumbers = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: VertexNumbers = None,
    weight: Any = "weight",
    dangling: VertexNumbers = None,
) -> dict[Any, float]:
    """As NetworkX's. NotImplementedError where ranks still change by no more than what rounding may do: doubles of the
    host may get below `tol`."""
    if len(G) == 0:
        return {}
    if isinstance(personalization, Mapping) and not any(personalization.get(node, 0) for node in G):
        raise ZeroDivisionError
    for name, given in (("personalization", personalization), ("nstart", nstart), ("dangling", dangling)):
        try:
            proportions_of(name, G.forward.arcs, given)
        except UsageError as error:
            raise NotImplementedError(str(error)) from None
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    found = session().pagerank(
        G.forward.arcs,
        float(alpha),
        personalization,
        max_iter,
        float(tol),
        nstart,
        None if G.unit(weight) else "weight",
        dangling,
    )
    if found.converged:
        return dict(zip(G, found.rank.tolist()))
    if within_rounding(found.rules.alpha, found.residual):
        raise NotImplementedError(f"shares of 24 bits cannot tell whether ranks change by less than tol {tol:g}")
    raise nx.PowerIterationFailedConvergence(max_iter)

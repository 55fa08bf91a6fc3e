"""Dividing a graph by METIS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from laneway._core import Graph
from laneway.errors import UsageError


def metis_parts(graph: Graph, n_parts: int) -> NDArray[np.uint32]:
    """PE of each vertex, so that few arcs join different PEs. Raises UsageError where pymetis is not installed.

    METIS takes undirected simple graphs only: directions, self-loops and parallel arcs are dropped for it.
    """
    try:
        import pymetis
    except ImportError:
        raise UsageError("partition 'metis' needs pymetis: pip install 'laneway[metis]'") from None
    if n_parts == 1 or graph.vertices == 0:
        return np.zeros(graph.vertices, dtype=np.uint32)
    from scipy import sparse

    shape = (graph.vertices, graph.vertices)
    ones = np.ones(graph.arcs, dtype=np.int8)
    directed = sparse.csr_array((ones, graph.heads.astype(np.int64), graph.offsets.astype(np.int64)), shape=shape)
    undirected = sparse.csr_array((directed + directed.T).astype(bool))
    undirected.setdiag(False)
    undirected.eliminate_zeros()
    adjacency = pymetis.CSRAdjacency(undirected.indptr, undirected.indices)
    _, parts = pymetis.part_graph(n_parts, adjacency)
    return np.asarray(parts, dtype=np.uint32)

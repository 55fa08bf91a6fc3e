"""Dividing a graph among devices."""

from __future__ import annotations

from typing import Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arrays import as_array
from laneway.compiled_output import compiled_output_to_stderr
from laneway.errors import UsageError
from laneway.graph import Graph
from laneway.watching import described

DIVISIONS = ("metis", "dealt", "dealt-metis")
"""Divisions that have a name."""

Partition = Union[None, str, ArrayLike]


def as_parts(graph: Graph, partition: ArrayLike | None) -> NDArray[np.uint32] | None:
    """PE of each vertex where the caller says it; UsageError for what is no such array."""
    if partition is None:
        return None
    parts = as_array("partition", partition)
    if parts.shape != (graph.vertices,) or parts.dtype.kind not in "iu":
        raise UsageError(f"partition must hold one whole number for each of {graph.vertices} vertices")
    if parts.size and not 0 <= int(parts.min()) <= int(parts.max()) < 2**32:
        raise UsageError(f"partition names PEs from {parts.min()} to {parts.max()}")
    return np.ascontiguousarray(parts, dtype=np.uint32)


def named_parts(graph: Graph, division: str, n_parts: int) -> NDArray[np.uint32]:
    """PE of each vertex by one of DIVISIONS. Raises UsageError where pymetis is needed and not installed.

    The dealt ones cut the graph into several pieces for each PE, as without a name or by METIS, and deal them in turn.
    """
    if division == "dealt":
        return _core.dealt_parts(graph, n_parts)
    if division == "metis":
        return metis_parts(graph, n_parts)
    return metis_parts(graph, _core.dealt_pieces * n_parts) % np.uint32(n_parts)


def metis_parts(graph: Graph, n_parts: int) -> NDArray[np.uint32]:
    """PE of each vertex, so that few arcs join different PEs. Raises UsageError where pymetis is not installed.

    METIS divides them k ways at once, however few the parts are. It takes undirected simple graphs only: directions,
    self-loops and parallel arcs are dropped for it. What it has to say, where there are fewer vertices than parts for
    example, it says on standard error.
    """
    try:
        import pymetis
    except ImportError:
        raise UsageError("division by METIS needs pymetis: pip install 'laneway[metis]'") from None
    if n_parts == 1 or graph.vertices == 0:
        return np.zeros(graph.vertices, dtype=np.uint32)
    from scipy import sparse

    shape = (graph.vertices, graph.vertices)
    ones = np.ones(graph.arcs, dtype=bool)  # of which any number add up to one
    directed = sparse.csr_array((ones, graph.heads.astype(np.int64), graph.offsets.astype(np.int64)), shape=shape)
    undirected = sparse.csr_array(directed + directed.T)
    undirected.setdiag(False)
    undirected.eliminate_zeros()
    adjacency = pymetis.CSRAdjacency(undirected.indptr, undirected.indices)
    with described("partitioning by METIS"), compiled_output_to_stderr():
        # pymetis would bisect for up to 8 parts.
        _, parts = pymetis.part_graph(n_parts, adjacency, recursive=False)
    return np.asarray(parts, dtype=np.uint32)

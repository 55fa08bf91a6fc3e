"""Answers by SciPy and NumPy alone, as plainly as they are defined: what the library's own core has no part in."""

from __future__ import annotations

from typing import Any

import laneway as lw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Values = NDArray[Any]
"""One value a vertex, in the graph's order."""


def matrix_of(graph: lw.Graph) -> Any:
    """1 for each ordered pair that an arc joins, however many do; nothing for self-loops."""
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets.astype(np.int64)))
    other = tails != graph.heads
    pairs = tails[other], graph.heads[other]
    matrix = sparse.csr_array((np.ones(pairs[0].size, dtype=np.int64), pairs), shape=(graph.vertices,) * 2)
    matrix.data[:] = 1
    return matrix


def neighbours_of(given: Any) -> Any:
    """The same, whichever way arcs lead."""
    both = given + given.T
    both.data[:] = 1
    return both


def components(graph: lw.Graph) -> Values:
    """Weak components, numbered in the order of their first vertices."""
    _, labels = sparse.csgraph.connected_components(matrix_of(graph), directed=True, connection="weak")
    _, first = np.unique(labels, return_index=True)
    return np.asarray(np.argsort(np.argsort(first))[labels])


def triangles(graph: lw.Graph) -> Values:
    """Of each vertex: half the walks of two steps that end at one of its neighbours."""
    both = neighbours_of(matrix_of(graph))
    return np.asarray((both @ both).multiply(both).sum(axis=1) // 2)


def clustering(graph: lw.Graph) -> Values:
    """Of v: arcs from u to w with both u and w near v, of all that there could be."""
    given = matrix_of(graph)
    both = neighbours_of(given)
    among, degree = (both @ given).multiply(both).sum(axis=1), both.sum(axis=1)
    return np.divide(among, degree * (degree - 1), out=np.zeros(graph.vertices), where=degree > 1)


def labels(graph: lw.Graph, rounds: int) -> Values:
    """LDBC's CDLP: each vertex begins with its own label, and in a round all at once take the most frequent label of
    their neighbours, of several the least. An arc counts at both of its ends."""
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets.astype(np.int64)))
    other = tails != graph.heads
    ends = np.concatenate([tails[other], graph.heads[other]]).astype(np.int64)
    others = np.concatenate([graph.heads[other], tails[other]]).astype(np.int64)
    label = np.arange(graph.vertices)
    for _ in range(rounds):
        pairs, times = np.unique(ends * graph.vertices + label[others], return_counts=True)
        vertex, heard = np.divmod(pairs, graph.vertices)
        best = np.lexsort((heard, -times, vertex))
        changed, first = np.unique(vertex[best], return_index=True)
        label[changed] = heard[best][first]
    return np.asarray(graph.ids[label])

"""Graphs in memory, and what programs take as one."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.edges import Edges, edges_of_frame, edges_of_networkx, edges_of_pairs
from laneway.errors import UsageError
from laneway.numbering import NO_LABELS, Numbering
from laneway.weights import weights_of, whole_indices

if TYPE_CHECKING:
    from scipy import sparse

GraphLike = Union["Graph", Any]
"""A Graph, a SciPy sparse matrix or array, or a NetworkX graph."""


class Graph(_core.Graph):
    """A directed graph in compressed sparse rows: read, generated, or made of what is in memory.

    Its vertices have ids: the file's numbers, 0 to n - 1, or the names of the nodes it was made of. Programs take a
    vertex by its id and give values in the order of `ids`.
    """

    def __init__(self, data: _core.GraphData, numbering: Numbering | None = None) -> None:
        super().__init__(data)
        labels = self.labels.copy() if self.labels.size else NO_LABELS
        self.numbering = numbering or Numbering(self.vertices, self.first, labels)

    @classmethod
    def from_csr(
        cls,
        indptr: ArrayLike,
        indices: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        names: Iterable[Hashable] | None = None,
    ) -> Graph:
        """The graph of compressed sparse rows: the arcs of vertex v lead to `indices[indptr[v]:indptr[v + 1]]`.

        `indptr` has n + 1 entries, `indices` and `weights` one for each arc. Weights are from 0 to 2**32 - 1; decimals
        are multiplied by `graph.weight_scale`, a power of ten, as those of files are; None: every arc weighs 1. `names`
        are the vertices' ids, n different hashable objects; None calls them 0 to n - 1. All arrays are copied. Raises
        UsageError for arrays that are no such rows, naming the first wrong entry.
        """
        offsets, heads = whole_indices("indptr", indptr), whole_indices("indices", indices)
        found = weights_of(weights, heads.size, lambda place: f"weights[{place}]")
        numbering = Numbering(max(offsets.size - 1, 0)) if names is None else Numbering.of(names)
        if numbering.count != max(offsets.size - 1, 0):
            raise UsageError(f"{numbering.count} names for {offsets.size - 1} vertices")
        return cls._of_rows(offsets, heads, found, numbering)

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike | Iterable[tuple[Hashable, Hashable]],
        weights: ArrayLike | None = None,
        *,
        vertices: int | Iterable[Hashable] | None = None,
        directed: bool = True,
    ) -> Graph:
        """The graph of pairs (tail, head): an array of shape (m, 2), or any iterable of pairs of vertices.

        Vertices are whole numbers or any hashable names. Those that occur make the graph: numbers in rising order,
        names in the order in which they come. `vertices` says which there are: n for 0 to n - 1, or their ids in order.
        `weights`, one for each pair, are those of `from_csr`. `directed=False` lets each pair stand for both
        directions; a self-loop is one arc. Raises UsageError for what is no pair, and for a vertex outside `vertices`.
        """
        return cls._of_edges(edges_of_pairs(edges, weights, vertices), directed)

    @classmethod
    def from_scipy(cls, matrix: Any, *, names: Iterable[Hashable] | None = None) -> Graph:
        """The graph of a square SciPy sparse matrix or array: each stored entry (i, j) is an arc from i to j.

        Its value is the arc's weight, also a stored 0; a matrix of ones or of True gives an unweighted graph.
        Duplicates add up where the matrix is in coordinates, as SciPy adds them when it makes rows of it; where it is
        in rows or columns they are parallel arcs. `names` are those of `from_csr`. Raises UsageError for a matrix that
        is not square and for values that are no weights.
        """
        from scipy import sparse

        if not sparse.issparse(matrix):
            raise UsageError(f"matrix must be a SciPy sparse matrix or array, not {type(matrix).__name__}")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            shape = " x ".join(str(size) for size in matrix.shape)
            raise UsageError(f"a graph needs a square matrix, not {shape}")
        if matrix.format == "coo":  # its sums must not wrap around in narrow types, nor hide what is no weight
            weights_of(matrix.data, matrix.nnz, lambda place: f"the matrix's data[{place}]")
            matrix = matrix.astype({"i": np.int64, "u": np.uint64}.get(matrix.dtype.kind, matrix.dtype))
        rows = matrix.tocsr()
        data = None if (rows.data == 1).all() else rows.data
        found = weights_of(data, rows.nnz, lambda place: f"the matrix's data[{place}]")
        numbering = Numbering(rows.shape[0]) if names is None else Numbering.of(names)
        if numbering.count != rows.shape[0]:
            raise UsageError(f"{numbering.count} names for {rows.shape[0]} vertices")
        offsets, heads = whole_indices("indptr", rows.indptr), whole_indices("indices", rows.indices)
        return cls._of_rows(offsets, heads, found, numbering)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = "weight") -> Graph:
        """The graph of a NetworkX graph of any kind, with its nodes as vertices, in the order of `list(graph)`.

        `weight` is the edge attribute that holds weights, 1 where an edge lacks it; None, or a graph in which no edge
        has it, gives an unweighted graph. Edges of undirected graphs lead both ways; parallel edges of multigraphs are
        arcs each. Raises UsageError for an attribute that is no weight, naming the edge.
        """
        if not is_networkx(graph):
            raise UsageError(f"graph must be a NetworkX graph, not {type(graph).__name__}")
        return cls._of_edges(edges_of_networkx(graph, weight), graph.is_directed())

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        source: Hashable = "source",
        target: Hashable = "target",
        edge_attr: Hashable | list[Hashable] | None = None,
        *,
        directed: bool = True,
    ) -> Graph:
        """The graph of a pandas data frame with one edge a row.

        `source` and `target` name the columns of vertices, `edge_attr` that of weights, or a list of that one column;
        None: every arc weighs 1. A row is one arc, from source to target, as with all graphs here; for what
        `networkx.from_pandas_edgelist` makes unless it is told otherwise, an undirected graph, say `directed=False`.
        Vertices and weights are those of `from_edges`. Raises UsageError for a column that is missing, for several
        columns of weights, and for a row that lacks a vertex.
        """
        return cls._of_edges(edges_of_frame(frame, source, target, edge_attr), directed)

    @classmethod
    def _of_rows(
        cls, offsets: NDArray[np.int64], heads: NDArray[np.int64], weights: _core.Weights | None, numbering: Numbering
    ) -> Graph:
        data = _core.graph_from_csr(offsets, heads, weights, numbering.first, numbering.labels, False)
        return cls(data, numbering)

    @classmethod
    def _of_edges(cls, edges: Edges, directed: bool) -> Graph:
        numbering = edges.numbering
        data = _core.graph_from_arcs(
            edges.tails,
            edges.heads,
            edges.weights,
            numbering.count,
            numbering.first,
            numbering.labels,
            not directed,
        )
        return cls(data, numbering)

    @property
    def ids(self) -> NDArray[Any]:
        """What the vertices are called, in the order of the arrays; read only. Whole numbers, or objects where vertices
        have names."""
        return self.numbering.ids

    def index_of(self, id: Any) -> int:
        """Place in the arrays of the vertex that is called `id`; UsageError if there is none."""
        return self.numbering.place(id)

    def id_of(self, index: int) -> Any:
        """What the vertex at place `index` is called; UsageError outside 0..n - 1."""
        return self.numbering.id_of(index)

    def to_scipy(self, *, parallel: str = "least") -> sparse.csr_array:
        """A SciPy sparse array of shape (n, n) with the arcs' weights, in the graph's own unit: int64, or float64 where
        `weight_scale` is not 1; ones where it has no weights.

        An entry has one value. Of parallel arcs it is the "least" weight, as for shortest paths, or their "sum". "keep"
        stores an entry for each arc, in their order: exact, but SciPy adds such entries up without a word, as in
        `scipy.sparse.csgraph`.
        """
        from scipy import sparse

        if parallel not in ("least", "sum", "keep"):
            raise UsageError(f"parallel must be 'least', 'sum' or 'keep', not {parallel!r}")
        index = np.int32 if max(self.arcs, self.vertices) < 2**31 else np.int64
        data: NDArray[Any] = self.weights.astype(np.int64) if self.weighted else np.ones(self.arcs, dtype=np.int64)
        rows, shape = (self.heads.astype(index), self.offsets.astype(index)), (self.vertices, self.vertices)
        matrix = sparse.csr_array((data, *rows), shape=shape)
        if parallel == "sum":
            matrix.sum_duplicates()
        elif parallel == "least" and self.arcs:
            matrix.sort_indices()
            heads, offsets = matrix.indices, matrix.indptr
            first = np.ones(self.arcs, dtype=bool)  # of its row or of its head
            first[1:] = heads[1:] != heads[:-1]
            first[offsets[:-1][np.diff(offsets) > 0]] = True
            offsets = np.concatenate([[0], np.cumsum(first)])[offsets].astype(index)
            data = np.minimum.reduceat(matrix.data, np.flatnonzero(first))
            matrix = sparse.csr_array((data, heads[first], offsets), shape=shape)
        if self.weight_scale != 1:
            matrix.data = matrix.data / self.weight_scale
        return matrix

    def __reduce__(self) -> Any:
        scaled = (self.weights, self.weight_scale, self.weights_rounded) if self.weighted else None
        return _restored, (type(self), self.offsets, self.heads, scaled, self.numbering)


def _restored(
    cls: type[Graph],
    offsets: NDArray[np.uint64],
    heads: NDArray[Any],
    scaled: tuple[NDArray[np.uint32], int, bool] | None,
    numbering: Numbering,
) -> Graph:
    """A graph from its pickled parts."""
    weights = None if scaled is None else _core.Weights(*scaled)
    rows = (offsets.astype(np.int64), heads.astype(np.int64))
    data = _core.graph_from_csr(*rows, weights, numbering.first, numbering.labels, heads.dtype == np.uint64)
    return cls(data, numbering)


def is_networkx(graph: object) -> bool:
    """Whether `graph` is a NetworkX graph; imports nothing, as there is none where NetworkX is not loaded."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(graph, networkx.Graph)


def as_graph(graph: GraphLike) -> Graph:
    """What a program takes as a graph, as a Graph; UsageError for anything else."""
    if isinstance(graph, Graph):
        return graph
    if is_networkx(graph):
        return Graph.from_networkx(graph)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(graph):
        return Graph.from_scipy(graph)
    kind = type(graph).__name__
    raise UsageError(f"graph must be a SciPy sparse matrix, a NetworkX graph or what read_graph gives, not {kind}")

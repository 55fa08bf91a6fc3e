"""Graphs in memory, and what programs take as one."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arguments import require_switch
from laneway.arrays import refuse_masked
from laneway.edges import Edges, edges_of_frame, edges_of_networkx, edges_of_pairs, require_attribute
from laneway.errors import UsageError
from laneway.numbering import NO_LABELS, Numbering
from laneway.weights import way_out, weights_of, whole_indices

if TYPE_CHECKING:
    from scipy import sparse

GraphLike = Union["Graph", Any]
"""A Graph, a SciPy sparse matrix or array, or a NetworkX graph."""


class Graph(_core.Graph):
    """A directed graph in compressed sparse rows: read, generated, or made of what is in memory.

    Its vertices have ids: the file's numbers, 0 to n - 1, or the names of the nodes it was made of. Programs take a
    vertex by its id and give values in the order of `ids`. Two are equal that have the same ids, arcs in the same order
    and weights.
    """

    def __init__(self, data: _core.GraphData, numbering: Numbering | None = None) -> None:
        super().__init__(data)
        labels = self.labels.copy() if self.labels.size else NO_LABELS
        self.numbering = numbering or Numbering(self.vertices, self.first, labels)
        ids = self.numbering.count if self.numbering.names is None else len(self.numbering.names)
        if not ids == self.numbering.count == self.vertices:
            raise UsageError(f"{ids} ids for {self.vertices} vertices")

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
        return cls.of_rows(offsets, heads, found, numbering)

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

        Vertices are whole numbers, also where floats hold them, times of NumPy, which keep their unit, or any hashable
        names. Those that occur make the graph: where all are numbers, in rising order, else in the order in which they
        come. `vertices` says which there are: n for 0 to n - 1, or their ids in order.
        `weights`, one for each pair, are those of `from_csr`. `directed=False` lets each pair stand for both
        directions; a self-loop is one arc. Raises UsageError for what is no pair, and for a vertex outside `vertices`.
        """
        require_switch("directed", directed)
        return cls._of_edges(edges_of_pairs(edges, weights, vertices), directed)

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, names: Iterable[Hashable] | None = None, weight: str | None = "weight"
    ) -> Graph:
        """The graph of a square SciPy sparse matrix or array: each stored entry (i, j) is an arc from i to j.

        Its value is the arc's weight, also a stored 0; a matrix of ones or of True gives an unweighted graph.
        Duplicates add up where the matrix is in coordinates, as SciPy adds them when it makes rows of it; where it is
        in rows or columns they are parallel arcs. `weight=None` takes the arcs alone, whatever the values are. `names`
        are those of `from_csr`. Raises UsageError for a matrix that is not square and for values that are no weights.
        """
        from scipy import sparse

        if not sparse.issparse(matrix):
            raise UsageError(f"matrix must be a SciPy sparse matrix or array, not {type(matrix).__name__}")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            shape = " x ".join(str(size) for size in matrix.shape)
            raise UsageError(f"a graph needs a square matrix, not {shape}")
        require_weight(weight)
        name = lambda place: f"the matrix's data[{place}]"  # noqa: E731
        refuse_masked("the matrix's data", getattr(matrix, "data", None))
        with way_out("Graph.from_scipy"):
            if matrix.format == "coo" and weight is not None:
                weights_of(matrix.data, matrix.nnz, name)  # sums must not hide what is no weight, nor wrap around
                matrix = matrix.astype({"i": np.int64, "u": np.uint64}.get(matrix.dtype.kind, matrix.dtype))
            rows = matrix.tocsr()
            found = None
            if weight is not None and not (rows.data == 1).all():
                found = weights_of(rows.data, rows.nnz, name)
        numbering = Numbering(rows.shape[0]) if names is None else Numbering.of(names)
        if numbering.count != rows.shape[0]:
            raise UsageError(f"{numbering.count} names for {rows.shape[0]} vertices")
        offsets, heads = whole_indices("indptr", rows.indptr), whole_indices("indices", rows.indices)
        return cls.of_rows(offsets, heads, found, numbering)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = "weight") -> Graph:
        """The graph of a NetworkX graph of any kind, with its nodes as vertices, in the order of `list(graph)`.

        `weight` is the edge attribute that holds weights, 1 where an edge lacks it; None, or a graph in which no edge
        has it, gives an unweighted graph. Edges of undirected graphs lead both ways; parallel edges of multigraphs are
        arcs each. Raises UsageError for an attribute that is no weight, naming the edge.
        """
        if not is_networkx(graph):
            raise UsageError(f"graph must be a NetworkX graph, not {type(graph).__name__}")
        with way_out("Graph.from_networkx"):
            edges = edges_of_networkx(graph, weight)
        return cls._of_edges(edges, graph.is_directed())

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        source: Hashable = "source",
        target: Hashable = "target",
        edge_attr: Hashable | list[Hashable] | None = "weight",
        *,
        directed: bool = True,
    ) -> Graph:
        """The graph of a pandas data frame with one edge a row.

        `source` and `target` name the columns of vertices, `edge_attr` that of weights, or a list of that one column;
        None, or a frame without a column "weight": every arc weighs 1. A row is one arc, from source to target, as with
        all graphs here; for what `networkx.from_pandas_edgelist` makes unless it is told otherwise, an undirected
        graph, say `directed=False`.
        Vertices and weights are those of `from_edges`. Raises UsageError for a column that is missing, for several
        columns of weights, and for a row that lacks a vertex.
        """
        require_switch("directed", directed)
        return cls._of_edges(edges_of_frame(frame, source, target, edge_attr), directed)

    @classmethod
    def of_rows(
        cls, offsets: NDArray[np.int64], heads: NDArray[np.int64], weights: _core.Weights | None, numbering: Numbering
    ) -> Graph:
        """The graph of rows and weights that have the compiled part's form."""
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

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Graph):
            return NotImplemented
        return self._sizes == other._sizes and (
            self.numbering == other.numbering
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.heads, other.heads)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash(self._sizes)

    @property
    def _sizes(self) -> tuple[int, ...]:
        """What equal graphs have alike, at little cost."""
        return (self.vertices, self.arcs, self.weighted, self.weight_scale, self.weights_rounded)

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


def is_sparse(graph: object) -> bool:
    """Whether `graph` is a sparse matrix or array of SciPy; imports nothing, as with NetworkX."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(graph))


def require_weight(weight: str | None) -> None:
    """UsageError for a `weight` that says nothing where there are no names to choose from."""
    if weight not in ("weight", None):
        raise UsageError(f"weight must be 'weight', for the graph's weights, or None, not {weight!r}")


def as_graph(graph: GraphLike, weight: str | None = "weight") -> Graph:
    """What a program takes as a graph, as a Graph; UsageError for anything else. `weight` names the attribute of a
    NetworkX graph that holds weights; None takes the arcs alone of what is no Graph yet."""
    if is_networkx(graph):
        return Graph.from_networkx(graph, weight=weight)
    require_weight(weight)
    if isinstance(graph, Graph):
        return graph
    if is_sparse(graph):
        return Graph.from_scipy(graph, weight=weight)
    kind = type(graph).__name__
    raise UsageError(f"graph must be a SciPy sparse matrix, a NetworkX graph or what read_graph gives, not {kind}")


def as_arcs(graph: GraphLike, weight: str | None) -> tuple[Graph, bool]:
    """What a program that does not look at weights takes as a graph, and whether it has weights, which the result must
    say: they may be any. UsageError for what is no graph. `weight` is that of `as_graph`."""
    given = cast("Any", graph)
    if is_networkx(given):
        require_attribute(weight)
        none = object()
        weighted = weight is not None and any(edge[-1] is not none for edge in given.edges(data=weight, default=none))
        return Graph.from_networkx(given, weight=None), weighted
    require_weight(weight)
    arcs = as_graph(graph, weight=None)
    return arcs, arcs.weighted if arcs is given else bool((given.tocsr().data != 1).any())

"""Masked arrays, wherever arrays come in: what a mask hides is refused."""

from __future__ import annotations

from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from scipy import sparse

GRAPH = lw.Graph.from_edges([(0, 1), (1, 2)])
POINTS = np.array([[0.0], [1.0], [5.0]])


def hidden(values: Any, place: Any = 1) -> np.ma.MaskedArray[Any, Any]:
    """The values with one of them masked."""
    array = np.ma.array(values)
    array[place] = np.ma.masked
    return array


def matrix_with(data: Any) -> Any:
    matrix = sparse.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2))
    matrix.data = data
    return matrix


ENTRIES: dict[str, tuple[Callable[[], Any], str]] = {
    "indptr": (lambda: lw.Graph.from_csr(hidden([0, 1, 1]), [0]), r"indptr\[1\]"),
    "indices": (lambda: lw.Graph.from_csr([0, 2], hidden([0, 0])), r"indices\[1\]"),
    "csr weights": (lambda: lw.Graph.from_csr([0, 2], [0, 0], hidden([1.0, 2.0])), r"weights\[1\]"),
    "csr names": (lambda: lw.Graph.from_csr([0, 0, 0], [], names=hidden([4, 5])), r"vertices\[1\]"),
    "edges": (lambda: lw.Graph.from_edges(hidden([[0, 1], [1, 2]], (1, 0))), r"edges\[1, 0\]"),
    "edges of floats": (lambda: lw.Graph.from_edges(hidden([[0.0, 1.0], [1.0, 2.0]], (0, 1))), r"edges\[0, 1\]"),
    "list of masked rows": (lambda: lw.Graph.from_edges(list(hidden([[0, 1], [1, 2]], (1, 0)))), r"edges\[1\]"),
    "edges' weights": (lambda: lw.Graph.from_edges([(0, 1), (1, 2)], hidden([3, 4])), r"weights\[1\]"),
    "list of weights": (lambda: lw.Graph.from_edges([(0, 1), (1, 2)], [3, np.ma.masked]), r"weights\[1\]"),
    "vertices": (lambda: lw.Graph.from_edges([(0, 1)], vertices=hidden([0, 1, 2], 2)), r"vertices\[2\]"),
    "a matrix's data": (lambda: lw.Graph.from_scipy(matrix_with(hidden([1.0, 2.0]))), r"the matrix's data\[1\]"),
    "a matrix's ones": (lambda: lw.bfs(matrix_with(hidden([1.0, 1.0])), 0), r"the matrix's data\[1\]"),
    "partition": (lambda: lw.sssp(GRAPH, 0, partition=hidden([0, 0, 0])), r"partition\[1\]"),
    "personalization": (
        lambda: lw.pagerank(GRAPH, personalization=hidden([1, 2, 3])),
        "personalization of vertex 1",
    ),
    "nstart": (lambda: lw.pagerank(GRAPH, nstart=hidden([1.0, 2.0, 3.0], 2)), "nstart of vertex 2"),
    "dangling": (lambda: lw.pagerank(GRAPH, dangling=hidden([1, 2, 3])), "dangling of vertex 1"),
    "dangling of a vertex": (lambda: lw.pagerank(GRAPH, dangling={0: 1, 2: np.ma.masked}), "dangling of vertex 2"),
    "points": (lambda: lw.kmeans(hidden(POINTS, (1, 0)), 1), "points: row 2, column 1"),
    "list of points": (lambda: lw.kmeans(list(hidden(POINTS, (1, 0))), 1), "points: row 2, column 1"),
    "centers": (lambda: lw.kmeans(POINTS, 2, init=hidden([[0.0], [1.0]], (1, 0))), "init: row 2, column 1"),
    "sample_weight": (lambda: lw.kmeans(POINTS, 1, sample_weight=hidden([1, 2, 3])), "sample_weight of point 2"),
    "sequences": (lambda: lw.kmer(hidden(["ACGT", "GGG"]), 2), r"sequences\[1\]"),
    "values of vertices": (lambda: lw.VertexArray(hidden([1, 2, 3]), GRAPH.numbering), r"values\[1\]"),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_a_mask_hides_is_refused(entry: str) -> None:
    call, name = ENTRIES[entry]
    with pytest.raises(lw.UsageError, match=f"^{name} is masked"):
        call()


def test_masks_that_hide_nothing_change_nothing() -> None:
    ones = np.ma.ones(3)
    ranks = lw.pagerank(GRAPH, personalization=ones, partition=np.ma.zeros(3, dtype=int), devices="cpu:1")
    assert ranks == lw.pagerank(GRAPH, personalization=np.ones(3), devices="cpu:1")
    assert lw.Graph.from_edges(np.ma.array([[0, 1], [1, 2]])) == GRAPH
    assert lw.kmeans(np.ma.array(POINTS), 1, sample_weight=ones, devices="cpu:1").sizes.tolist() == [3]


@pytest.mark.parametrize("sources", [[np.ma.masked], [0, np.ma.masked], hidden([0, 1])])
def test_a_masked_vertex_is_none(sources: Any) -> None:
    for graph in (GRAPH, lw.Graph.from_edges([(0, "b")])):
        with pytest.raises(lw.UsageError, match="masked"):
            lw.bfs(graph, sources=sources, devices="cpu:1")
        with pytest.raises(lw.UsageError, match="masked"):
            lw.VertexArray(np.zeros(graph.vertices), graph.numbering).of(sources)


def test_the_estimator_looks_at_masks() -> None:
    pytest.importorskip("sklearn.base")
    estimator = lw.KMeans(1, devices="cpu:1")
    with pytest.raises(lw.UsageError, match=r"X\[1, 0\] is masked"):
        estimator.fit(hidden(POINTS, (1, 0)))
    estimator.fit(POINTS)
    for call in (estimator.predict, estimator.transform, estimator.score):
        with pytest.raises(lw.UsageError, match=r"X\[1, 0\] is masked"):
            call(hidden(POINTS, (1, 0)))
    with pytest.raises(lw.UsageError, match="sample_weight of point 2 is masked"):
        estimator.score(POINTS, sample_weight=hidden([1, 2, 3]))

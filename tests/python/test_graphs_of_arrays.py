"""Graphs of rows and of pairs of vertices."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from memory_graphs import arcs


def test_rows() -> None:
    graph = lw.Graph.from_csr([0, 3, 3, 4], [2, 0, 2, 1], [7, 0, 5, 2**32 - 1])
    assert (graph.vertices, graph.arcs, graph.weighted, graph.weight_scale) == (3, 4, True, 1)
    assert arcs(graph) == [(0, 2, 7), (0, 0, 0), (0, 2, 5), (2, 1, 2**32 - 1)]
    assert graph.ids.tolist() == [0, 1, 2]
    assert graph.ids.dtype == np.int64
    assert not lw.Graph.from_csr([0, 1, 1], np.array([1], dtype=np.uint8)).weighted
    assert lw.Graph.from_csr([0], []).vertices == 0
    named = lw.Graph.from_csr([0, 1, 2], [1, 0], names=["b", "a"])
    assert (named.ids.tolist(), named.index_of("a"), named.id_of(0)) == (["b", "a"], 1, "b")


def test_arrays_are_copied() -> None:
    indptr, indices, weights = np.array([0, 1, 1]), np.array([1]), np.array([3])
    graph = lw.Graph.from_csr(indptr, indices, weights)
    indptr[1], indices[0], weights[0] = 0, 9, 8
    assert arcs(graph) == [(0, 1, 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "indptr is empty"),
        (([1, 1], [0]), r"indptr\[0\] = 1 is not 0"),
        (([0, 2, 1], [0]), r"indptr\[2\] = 1 is less than indptr\[1\] = 2"),
        (([0, 2], [0]), "the last entry of indptr, 2, is not the length of indices, 1"),
        (([0, 1], [1]), r"indices\[0\] = 1 is outside a graph of 1 vertices"),
        (([0, 1], [-1]), r"indices\[0\] = -1 is outside"),
        (([0.0, 1.0], [0]), "indptr must be a list of whole numbers, not float64"),
        (([0, 1], [True]), "indices must be a list of whole numbers, not bool"),
        (([0, 1], [[0]]), "indices must be a list of whole numbers"),
        (([0, 1], np.array([2**63], dtype=np.uint64)), "indices holds 9223372036854775808"),
        (([0, 1], [0], [1, 2]), "2 weights for 1 arcs"),
        (([0, 1], [0], []), "0 weights for 1 arcs"),
        (([0, 1], [0], [[1], [2, 3]]), "weights must be a list of numbers"),
        (([0, 1], [[1], [2, 3]]), "indices must be a list of numbers"),
        (([0, 1], [0], [[1]]), r"weights must be one number an arc, not an array of shape \(1, 1\)"),
    ],
)
def test_wrong_rows(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(lw.UsageError, match=message):
        lw.Graph.from_csr(*arguments)
    with pytest.raises(lw.UsageError, match=r"1 names for 2 vertices"):
        lw.Graph.from_csr([0, 1, 1], [0], names=["a"])
    with pytest.raises(lw.UsageError, match="vertices must be several ids, not 7"):
        lw.Graph.from_csr([0, 1, 1], [0], names=7)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["1", "2"], "weights must be numbers, not <U1"),
        ([1, None], r"weights\[1\] is None, not a number"),
        ([1j, 2], "weights must be numbers, not complex128"),
        (np.array([1, "x"], dtype=object), r"weights\[1\] is 'x', not a number"),
        (np.ma.array([1, 2], mask=[False, True]), r"weights\[1\] is masked"),
        ([0.4, 4e9], r"weights\[0\]: weight 0\.4 beside one of 4000000000 would become 0"),
    ],
)
def test_what_is_no_number(weights: Any, message: str) -> None:
    with pytest.raises(lw.UsageError, match=message):
        lw.Graph.from_csr([0, 2], [0, 0], weights)


@pytest.mark.parametrize(
    ("weights", "whole", "scale"),
    [
        ([1, 2], [1, 2], 1),
        ([True, False], [1, 0], 1),
        ([1.0, 2.0], [1, 2], 1),
        ([0.1, 2], [1, 20], 10),
        (np.array([0.1, 2.25], dtype=np.float32), [10, 225], 100),
        (np.array([0.5, 2], dtype=np.float16), [5, 20], 10),
        (np.array([7, 9], dtype=np.uint64), [7, 9], 1),
        ([Decimal("0.001"), Fraction(1, 4)], [1, 250], 1000),
        (np.array([np.float32(0.1), 1], dtype=object), [1, 10], 10),
        (np.array([3, 10**3], dtype=object), [3, 1000], 1),
    ],
)
def test_weights_are_exact(weights: Any, whole: list[int], scale: int) -> None:
    graph = lw.Graph.from_csr([0, 2, 2], [0, 1], weights)
    assert (graph.weights.tolist(), graph.weight_scale, graph.weights_rounded) == (whole, scale, False)


def test_rounding_is_told() -> None:
    graph = lw.Graph.from_csr([0, 2], [0, 0], [1 / 3, 2])
    assert (graph.weights.tolist(), graph.weight_scale, graph.weights_rounded) == ([333333333, 2 * 10**9], 10**9, True)


def test_edges() -> None:
    graph = lw.Graph.from_edges([(70, 10), (10, 1000000), (70, 70)], [1, 2, 3])
    assert graph.ids.tolist() == [10, 70, 1000000]
    assert arcs(graph) == [(10, 1000000, 2), (70, 10, 1), (70, 70, 3)]
    assert arcs(lw.Graph.from_edges(np.array([[2, 0], [1, 2]], dtype=np.int32))) == [(1, 2, 1), (2, 0, 1)]
    both = lw.Graph.from_edges([(70, 10), (10, 1000000), (70, 70)], [1, 2, 3], directed=False)
    assert sorted(arcs(both)) == [(10, 70, 1), (10, 1000000, 2), (70, 10, 1), (70, 70, 3), (1000000, 10, 2)]
    names = lw.Graph.from_edges(pair for pair in [("b", "a"), ("a", (1, 2)), (None, "b")])
    assert names.ids.tolist() == ["b", "a", (1, 2), None]
    assert arcs(names) == [("b", "a", 1), ("a", (1, 2), 1), (None, "b", 1)]
    assert lw.Graph.from_edges([(0, 1)], vertices=4).ids.tolist() == [0, 1, 2, 3]
    assert lw.Graph.from_edges([("a", "c")], vertices="abcd").ids.tolist() == ["a", "b", "c", "d"]
    assert lw.Graph.from_edges([], vertices=2).arcs == 0
    assert lw.Graph.from_edges(np.zeros((0, 2))).vertices == 0
    assert lw.Graph.from_edges([(3, -1), (2, 3)]).ids.tolist() == [-1, 2, 3]
    assert lw.Graph.from_edges(np.array([[3, -1], [2, 3]])).ids.tolist() == [-1, 2, 3]
    assert lw.Graph.from_edges([(2**64, -1), (2, 3)]).ids.tolist() == [-1, 2, 3, 2**64]
    assert lw.Graph.from_edges(np.array([[1.0, 5.0]])).ids.tolist() == [1, 5]
    assert lw.Graph.from_edges([(2**64 - 1, 5)]).ids.tolist() == [5, 2**64 - 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(0, 1, 2)],), r"edges\[0\] is \(0, 1, 2\), not a pair of vertices"),
        (([(0, 1), 5],), r"edges\[1\] is 5, not a pair"),
        ((["ab"],), r"edges\[0\] is 'ab', not a pair"),
        (([list],), r"edges\[0\] is <class 'list'>, not a pair"),
        (([np.array(5)],), r"edges\[0\] is array\(5\), not a pair"),
        (([np.ones((3, 1, 1))],), r"^edges\[0\] is array\(\[\[\[1\.\]\], .*, not a pair of vertices$"),
        (([{1, 2}],), r"edges\[0\] is \{1, 2\}, not a pair"),
        (([{0: 1, 1: 2}],), r"edges\[0\] is \{0: 1, 1: 2\}, not a pair"),
        (("ab",), "edges must be pairs of vertices, not str"),
        ((7,), "edges must be pairs of vertices, not int"),
        ((np.zeros((2, 3), dtype=int),), r"edges must have shape \(m, 2\), not \(2, 3\)"),
        ((np.array([[0.5, 1]]),), "vertices must be whole numbers or names, not float64 with fractions"),
        (([(0, [1])],), "a vertex must be hashable"),
        (([(0, 1)], [1, 2]), "2 weights for 1 arcs"),
        (([(0, 1)], [Fraction(10**400)]), r"weights\[0\] is over the limit"),
        (([(0, 1)], [Fraction(-(10**400), 3)]), r"weights\[0\] is negative"),
        (([(0, 1)], [Decimal("sNaN")]), r"weights\[0\] is not a number"),
        (([(0, 5)], None), "vertex 5 is outside 0..2"),
        ((np.array([[0, np.inf]], dtype=np.float16),), "vertices must be whole numbers or names, not float16"),
        (([(-1, 1)], None), "edges must be a whole number from 0"),
    ],
)
def test_wrong_edges(arguments: tuple[Any, ...], message: str) -> None:
    options = {"vertices": 3} if arguments[-1] is None else {}
    with pytest.raises(lw.UsageError, match=message):
        lw.Graph.from_edges(*arguments, **options)
    with pytest.raises(lw.UsageError, match="no vertex is called 'c'"):
        lw.Graph.from_edges([("a", "c")], vertices=["a", "b"])


@pytest.mark.parametrize("directed", ["no", None, np.array([False, True])])
def test_directed_is_a_switch(directed: Any) -> None:
    with pytest.raises(lw.UsageError, match="directed must be False or True, not "):
        lw.Graph.from_edges([(0, 1)], directed=directed)


def frame_of(pairs: np.ndarray) -> lw.Graph:
    pandas = pytest.importorskip("pandas")
    return lw.Graph.from_pandas(pandas.DataFrame(pairs, columns=["source", "target"]))


@pytest.mark.parametrize("make", [lambda pairs: lw.Graph.from_edges(pairs.tolist()), lw.Graph.from_edges, frame_of])
@pytest.mark.parametrize("first", [0, 10, -10])
def test_a_float_that_is_whole_is_that_number(make: Callable[[Any], lw.Graph], first: int) -> None:
    graph = make(np.array([[first + 1.0, first + 5.0], [first + 5.0, first]]))
    assert graph == lw.Graph.from_edges([(first + 1, first + 5), (first + 5, first)])
    assert [type(each) for each in graph.ids.tolist()] == [int] * 3
    for kind in (int, float, np.float32, np.int16, Fraction):
        result = lw.bfs(graph, kind(first + 1), devices="cpu:1")
        assert (result[kind(first)], kind(first + 5) in result) == (2, True)
        assert result.distance.of([kind(first + 5)]).tolist() == [1]
        assert lw.bfs(graph, sources=np.array([first + 1], dtype=kind if kind is not Fraction else object)) == result
    for other in (first + 0.5, math.nan, math.inf, 1e400, "0", None):
        assert other not in result
        with pytest.raises(lw.UsageError, match="source"):
            lw.bfs(graph, sources=[other], devices="cpu:1")
    assert lw.Graph.from_edges([(0.0, 1.0)], vertices=[1, 0]).ids.tolist() == [1, 0]


def test_floats_with_fractions_in_a_list_are_names() -> None:
    assert lw.Graph.from_edges([(0.5, 2.0)]).ids.tolist() == [0.5, 2.0]

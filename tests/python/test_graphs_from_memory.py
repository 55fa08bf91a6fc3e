"""Graphs of arrays, SciPy matrices, NetworkX graphs and data frames: the same answers as their own libraries give."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")

DEVICES = "cpu:2"


def arcs(graph: lw.Graph) -> list[tuple[Any, ...]]:
    """(tail, head, weight) of all arcs, by ids, in the order of the arrays."""
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets).astype(int))
    weights = graph.weights.tolist() if graph.weighted else [1] * graph.arcs
    ends = zip(tails.tolist(), graph.heads.tolist(), weights)
    return [(graph.id_of(tail), graph.id_of(head), weight) for tail, head, weight in ends]


def random_matrix(seed: int, n: int = 60, density: float = 0.06) -> Any:
    """Weights from 1 to 50."""
    return sparse.random_array((n, n), density=density, rng=seed, data_sampler=lambda size: 1 + np.arange(size) % 50)


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


BAD_WEIGHTS = [
    ([2, -1], r" is negative"),
    ([2, 2**32], r"4294967296,? is over the limit of 4294967295"),
    ([2, 2**63 - 1], r"over the limit"),
    ([2, 2**63], r"over the limit"),
    ([2, 10**30], r"over the limit"),
    ([2, -(10**30)], r"is negative"),
    ([0.5, -0.5], r"is negative: -0.5"),
    ([0.5, math.nan], r"is not a number"),
    ([0.5, math.inf], r"over the limit"),
    ([0.5, -math.inf], r"is negative"),
    ([0.5, 5e9], r"over the limit"),
]


@pytest.mark.parametrize(("weights", "message"), BAD_WEIGHTS)
def test_wrong_weights(weights: list[Any], message: str) -> None:
    with pytest.raises(lw.UsageError, match=r"^weights\[1\].*" + message):
        lw.Graph.from_csr([0, 2], [0, 0], weights)
    with pytest.raises(lw.UsageError, match=r"^weights\[1\].*" + message):
        lw.Graph.from_edges([("a", "b"), ("b", "c")], weights)
    graph = networkx.DiGraph()
    graph.add_edge("a", "b", weight=weights[0])
    graph.add_edge("b", "c", weight=weights[1])
    with pytest.raises(lw.UsageError, match="^'weight' of the edge from 'b' to 'c'.*" + message):
        lw.sssp(graph, "a", devices=DEVICES)
    frame = pandas.DataFrame({"source": [1, 2], "target": [2, 3], "cost": weights})
    missing = frame["cost"].isna().any()
    with pytest.raises(lw.UsageError, match="row 1 of the data frame has no 'cost'" if missing else message):
        lw.Graph.from_pandas(frame, edge_attr="cost")
    if max(abs(weights[1]), 0) < 2**63 or isinstance(weights[1], float):
        matrix = sparse.coo_array((weights, ([0, 1], [1, 0])), shape=(2, 2))
        for each in (matrix, matrix.tocsr(), matrix.tocsc()):
            with pytest.raises(lw.UsageError, match=r"^the matrix's data\[\d\].*" + message):
                lw.Graph.from_scipy(each)


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


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.dok_array]
)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float32, np.float64])
def test_scipy_matrices(kind: Callable[[Any], Any], dtype: type) -> None:
    for seed in range(5):
        matrix = kind(random_matrix(seed).astype(dtype))
        expected = csgraph.dijkstra(matrix.tocsr(), indices=seed)
        result = lw.sssp(matrix, seed, devices=DEVICES)
        assert np.array_equal(result.length, expected)
        assert result.distance[0] == result.distance.of(0)
        levels = csgraph.dijkstra(matrix.tocsr(), indices=seed, unweighted=True)
        assert np.array_equal(lw.bfs(matrix, seed, devices=DEVICES).length, levels)


def test_scipy_there_and_back() -> None:
    for seed, factor in ((1, 1), (2, 0.25), (3, 0.1)):
        matrix = random_matrix(seed).tocsr()
        matrix.data = np.round(matrix.data * factor, 2)
        back = lw.Graph.from_scipy(matrix).to_scipy()
        assert (back != matrix).nnz == 0
        assert back.data.dtype == (np.int64 if factor == 1 else np.float64)
    ones = random_matrix(4).astype(bool)
    graph = lw.Graph.from_scipy(ones)
    assert not graph.weighted
    assert (graph.to_scipy() != ones).nnz == 0
    graph = lw.Graph.from_edges([(0, 2), (2, 1), (0, 1), (0, 2), (0, 2)], [0.5, 3, 1, 0.4, 2])
    for parallel, entries, value in (("least", 3, 0.4), ("sum", 3, 2.9), ("keep", 5, 2.9)):
        matrix = graph.to_scipy(parallel=parallel)
        assert (matrix.nnz, matrix[0, 2], matrix[0, 1], matrix[2, 1]) == (entries, pytest.approx(value), 1, 3)
    assert np.array_equal(csgraph.dijkstra(graph.to_scipy(), indices=0), lw.sssp(graph, 0, devices=DEVICES).length)
    assert arcs(lw.Graph.from_scipy(graph.to_scipy(parallel="keep"))) == arcs(graph)
    with pytest.raises(lw.UsageError, match="parallel must be 'least', 'sum' or 'keep', not 'max'"):
        graph.to_scipy(parallel="max")


def test_stored_zeros_are_arcs_and_duplicates_add_up() -> None:
    zero = sparse.csr_array(([0, 5], [1, 2], [0, 1, 2, 2]), shape=(3, 3))
    assert lw.sssp(zero, 0, devices=DEVICES).distance.tolist() == [0, 0, 5]
    twice = sparse.coo_array((np.array([100, 100, 3], dtype=np.int8), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert arcs(lw.Graph.from_scipy(twice)) == [(0, 1, 200), (1, 0, 3)]
    edges = sparse.coo_array((np.array([True, True]), ([0, 0], [1, 1])), shape=(2, 2))
    assert arcs(lw.Graph.from_scipy(edges)) == [(0, 1, 1)]
    unsorted = sparse.csr_array(([4, 3], [2, 1], [0, 2, 2, 2]), shape=(3, 3))
    assert arcs(lw.Graph.from_scipy(unsorted)) == [(0, 2, 4), (0, 1, 3)]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_array((2, 3)), "a graph needs a square matrix, not 2 x 3"),
        (sparse.csr_array(([1j], [0], [0, 1]), shape=(1, 1)), "weights must be numbers, not complex128"),
        (np.eye(3), "must be a SciPy sparse matrix or array, not ndarray"),
        ("matrix", "not str"),
    ],
)
def test_wrong_matrices(matrix: Any, message: str) -> None:
    with pytest.raises(lw.UsageError, match=message):
        lw.Graph.from_scipy(matrix)


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
    assert lw.Graph.from_edges([(-1, 3)]).ids.tolist() == [-1, 3]
    assert lw.Graph.from_edges(np.array([[1.0, 5.0]])).ids.tolist() == [1, 5]
    assert lw.Graph.from_edges([(2**64 - 1, 5)]).ids.tolist() == [5, 2**64 - 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(0, 1, 2)],), r"edges\[0\] is \(0, 1, 2\), not a pair of vertices"),
        (([(0, 1), 5],), r"edges\[1\] is 5, not a pair"),
        ((["ab"],), r"edges\[0\] is 'ab', not a pair"),
        (("ab",), "edges must be pairs of vertices, not str"),
        ((7,), "edges must be pairs of vertices, not int"),
        ((np.zeros((2, 3), dtype=int),), r"edges must have shape \(m, 2\), not \(2, 3\)"),
        ((np.array([[0.5, 1]]),), "vertices must be whole numbers or names, not float64 with fractions"),
        (([(0, [1])],), "a vertex must be hashable"),
        (([(0, 1)], [1, 2]), "2 weights for 1 arcs"),
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


def networkx_graphs() -> list[Any]:
    """Graphs of all kinds, some with weights, loops, parallel edges and nodes of many types."""
    numbers = networkx.gnm_random_graph(40, 90, seed=1)
    directed = networkx.gnm_random_graph(40, 120, seed=2, directed=True)
    for place, (tail, head) in enumerate(directed.edges()):
        if place % 3:
            directed[tail][head]["weight"] = place % 7 + (0.25 if place % 2 else 0)
    multiple = networkx.MultiGraph([("a", "b", {"weight": 7}), ("a", "b", {"weight": 2}), ("b", "b", {"weight": 1})])
    multiple.add_edge("b", ("tuple", 1))
    multiple.add_edge("alone", frozenset([3]), weight=0)
    arrows = networkx.MultiDiGraph([(9, 4, {"weight": 5}), (9, 4, {"weight": 3}), (4, 7), (7, 9)])
    return [
        numbers,
        directed,
        multiple,
        arrows,
        networkx.grid_2d_graph(5, 6),
        networkx.path_graph(["x"]),
        networkx.Graph([(30, -5)]),
    ]


@pytest.mark.parametrize("graph", networkx_graphs(), ids=lambda graph: f"{type(graph).__name__}-{len(graph)}")
def test_networkx_answers(graph: Any) -> None:
    for source in list(graph)[:3]:
        result = lw.sssp(graph, source, devices=DEVICES)
        assert result.to_dict() == pytest.approx(networkx.single_source_dijkstra_path_length(graph, source))
        assert lw.bfs(graph, source, devices=DEVICES).to_dict() == networkx.single_source_shortest_path_length(
            graph, source
        )
        assert result.ids.tolist() == list(graph)
        for node in graph:
            path = result.path_to(node)
            if math.isinf(result[node]):
                assert path == []
            else:
                assert (path[0], path[-1]) == (source, node)
                assert networkx.path_weight(networkx.DiGraph(least(graph)), path, "weight") == pytest.approx(
                    result[node]
                )


def least(graph: Any) -> Any:
    """The graph with the least of all parallel edges and weights of 1 where there are none."""
    simple = networkx.DiGraph()
    simple.add_nodes_from(graph)
    directed = graph.to_directed()
    for tail, head, weight in directed.edges(data="weight", default=1):
        known = simple.get_edge_data(tail, head, {"weight": math.inf})["weight"]
        simple.add_edge(tail, head, weight=min(weight, known))
    return simple


def test_networkx_weights() -> None:
    graph = networkx.DiGraph([("a", "b", {"cost": 2.5}), ("b", "c", {})])
    assert not lw.Graph.from_networkx(graph).weighted
    costs = lw.Graph.from_networkx(graph, weight="cost")
    assert (costs.weights.tolist(), costs.weight_scale) == ([25, 10], 10)
    assert not lw.Graph.from_networkx(graph, weight=None).weighted
    result = lw.sssp(costs, "a", devices=DEVICES)
    assert (result["b"], result["c"], result.to_dict()) == (2.5, 3.5, {"a": 0, "b": 2.5, "c": 3.5})
    assert result.distance.of("c") == 35
    assert result.length.of("c") == 3.5
    with pytest.raises(lw.UsageError, match="source: no vertex is called 'z'"):
        lw.sssp(costs, "z", devices=DEVICES)
    with pytest.raises(lw.UsageError, match="no vertex is called 'z'"):
        result["z"]
    with pytest.raises(lw.UsageError, match="must be a NetworkX graph, not dict"):
        lw.Graph.from_networkx({})


def test_frames() -> None:
    frame = pandas.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "cost": [1.5, 2, 4]})
    graph = lw.Graph.from_pandas(frame, edge_attr="cost")
    expected = networkx.from_pandas_edgelist(frame, edge_attr="cost", create_using=networkx.DiGraph)
    assert graph.ids.tolist() == list(expected)
    lengths = networkx.single_source_dijkstra_path_length(expected, "a", weight="cost")
    assert lw.sssp(graph, "a", devices=DEVICES).to_dict() == lengths
    assert arcs(lw.Graph.from_pandas(frame, edge_attr=["cost"])) == arcs(graph)
    numbers = pandas.DataFrame({"u": [30, 7], "v": [7, 9]}, index=[5, 6])
    undirected = lw.Graph.from_pandas(numbers, "u", "v", directed=False)
    assert arcs(undirected) == [(7, 30, 1), (7, 9, 1), (9, 7, 1), (30, 7, 1)]
    nullable = lw.Graph.from_pandas(numbers.astype("Int64"), "u", "v")
    assert nullable.ids.tolist() == [7, 9, 30]
    result = lw.bfs(undirected, 30, devices=DEVICES)
    table = pandas.DataFrame({"vertex": result.ids, "hops": result.distance})
    assert table.set_index("vertex")["hops"].to_dict() == {7: 1, 9: 2, 30: 0}
    for wrong, message in (
        (lambda: lw.Graph.from_pandas(frame, "from"), "no column 'from'"),
        (lambda: lw.Graph.from_pandas(frame, edge_attr="weight"), "no column 'weight'"),
        (
            lambda: lw.Graph.from_pandas(frame, edge_attr=["cost", "source"]),
            r"one column, of weights, not \['cost', 'so",
        ),
        (lambda: lw.Graph.from_pandas(frame, edge_attr=True), "one column, of weights, not True"),
        (lambda: lw.Graph.from_pandas([1]), "must be a pandas data frame, not list"),
        (lambda: lw.Graph.from_pandas(frame.replace("c", None)), "row 1 of the data frame has no 'target'"),
    ):
        with pytest.raises(lw.UsageError, match=message):
            wrong()


def programs() -> list[Callable[[Any], Any]]:
    return [
        lambda graph: lw.sssp(graph, 0, devices=DEVICES),
        lambda graph: lw.bfs(graph, 0, devices=DEVICES),
        lambda graph: lw.pagerank(graph, devices=DEVICES),
        lambda graph: lw.color(graph, devices=DEVICES),
        lambda graph: lw.indegree(graph, devices=DEVICES),
    ]


@pytest.mark.parametrize("program", programs())
def test_all_programs_take_all_kinds(program: Callable[[Any], Any]) -> None:
    matrix = random_matrix(7)
    directed = networkx.from_scipy_sparse_array(matrix, create_using=networkx.DiGraph)
    answers = [program(given) for given in (matrix, matrix.tocsc(), directed, lw.Graph.from_scipy(matrix))]
    assert all(answer == answers[0] for answer in answers)
    with pytest.raises(lw.UsageError, match="not list"):
        program([[0, 1], [1, 0]])


@pytest.mark.parametrize("program", programs())
def test_results_speak_of_vertices_as_the_graph_does(program: Callable[[Any], Any], tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    path.write_text("# ids with gaps\n0 70 5\n70 1000000 1\n0 1000000 9\n")
    graph = lw.read_graph(path)
    result = program(graph)
    assert result.ids.tolist() == graph.ids.tolist() == [0, 70, 1000000]
    values = getattr(result, result.values_name)
    assert [values.of(vertex) for vertex in (0, 70, 1000000)] == values.tolist()
    assert result.to_dict() == {vertex: result[vertex] for vertex in (0, 70, 1000000)}
    for place in (0, 1, 70):
        with pytest.raises(lw.UsageError, match="could mean a vertex or a place"):
            values[place]
    with pytest.raises(lw.UsageError, match="vertex 1 is none of the 3"):
        result[1]
    uses_them = isinstance(result, lw.PageRankResult) or result.to_dict() == {0: 0, 70: 5, 1000000: 6}
    assert result.weights_ignored == (not uses_them), "sssp and pagerank use them"
    assert list(result) == [0, 70, 1000000] and 70 in result and 1 not in result
    assert not program(lw.Graph.from_csr(graph.offsets, graph.heads)).weights_ignored


def test_dimacs_counts_from_1(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.sssp(graph, 1, devices=DEVICES)
    assert [result[vertex] for vertex in range(1, 7)] == [0, 4, 4, 14, math.inf, math.inf]
    assert result.distance.of(1) == 0
    with pytest.raises(lw.UsageError, match="vertices of this graph are not called 0, 1, 2"):
        result.distance[1]
    with pytest.raises(lw.UsageError, match=r"vertex 0 is outside 1\.\.6"):
        result[0]


def answer_of(graph: lw.Graph) -> lw.Result:
    return lw.sssp(graph, 10, devices="cpu:1")


def kinds() -> list[lw.Graph]:
    return [
        lw.Graph.from_edges([(10, 20), (20, 30)], [0.5, 3]),
        lw.Graph.from_edges([(10, "b"), ("b", None)]),
        lw.Graph.from_csr([0, 1, 1], [1], [1 / 3], names=[10, 11]),
    ]


@pytest.mark.parametrize("graph", kinds(), ids=repr)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_graphs_and_results_are_copied_whole(graph: lw.Graph, again: Callable[[Any], Any]) -> None:
    twin = again(graph)
    assert arcs(twin) == arcs(graph)
    assert (twin.weighted, twin.weight_scale, twin.weights_rounded) == (
        graph.weighted,
        graph.weight_scale,
        graph.weights_rounded,
    )
    assert twin.ids.tolist() == graph.ids.tolist()
    for program in (lw.sssp, lw.bfs):
        result = program(graph, 10, devices="cpu:1")
        same = again(result)
        assert same == result == program(twin, 10, devices="cpu:2")
        last = graph.id_of(graph.vertices - 1)
        assert same.path_to(last) == result.path_to(last)
        assert (same.report.posted, same.report.devices) == (result.report.posted, result.report.devices)
        assert np.array_equal(same.report.messages, result.report.messages)
        assert result != program(graph, graph.id_of(1), devices="cpu:1")
        assert result != 5


def test_files_keep_their_ids_when_pickled(small: Path, tmp_path: Path) -> None:
    for path, text, ids in (
        (small, None, list(range(1, 7))),
        (tmp_path / "s.txt", "10 1000000\n1000000 70\n", [10, 70, 1000000]),
    ):
        if text is not None:
            path.write_text(text)
        for bits in (32, 64):
            twin = pickle.loads(pickle.dumps(lw.read_graph(path, ids=bits)))
            assert twin.ids.tolist() == ids
            assert twin.heads.dtype == (np.uint32 if bits == 32 else np.uint64)
            assert arcs(twin) == arcs(lw.read_graph(path))


def test_written_graphs_tell_their_unit(tmp_path: Path) -> None:
    path = tmp_path / "g.gr"
    lw.write_graph(networkx.DiGraph([("a", "b", {"weight": 0.25})]), path)
    assert path.read_text() == "c weights are multiplied by 100\np sp 2 1\na 1 2 25\n"
    lw.write_graph(sparse.csr_array(([3], [1], [0, 1, 1]), shape=(2, 2)), path)
    assert path.read_text() == "p sp 2 1\na 1 2 3\n"
    with pytest.raises(lw.UsageError, match="not str"):
        lw.write_graph("graph", path)
    assert path.read_text() == "p sp 2 1\na 1 2 3\n", "what is refused leaves the file as it was"


def test_other_processes() -> None:
    graph = kinds()[0]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(answer_of, (graph,))
    assert result == answer_of(graph)
    assert result.path_to(30) == [10, 20, 30]


def test_reports_show_and_pickle() -> None:
    report = lw.sssp(lw.generate_grid(30, 30), 0, devices=DEVICES, progress=True).report
    assert repr(report).startswith("<laneway.Report: 2 devices, ")
    assert f"{report.posted} messages posted, {report.carried} carried, {report.served} served>" in repr(report)
    twin = pickle.loads(pickle.dumps(report))
    for name in ("devices", "run_seconds", "posted", "direct", "carried", "served", "buffer_bytes"):
        assert getattr(twin, name) == getattr(report, name)
    for name in ("messages", "chunks", "bytes", "progress"):
        assert np.array_equal(getattr(twin, name), getattr(report, name))
    assert repr(twin) == repr(report)

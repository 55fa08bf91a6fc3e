"""Graphs of SciPy matrices, NetworkX graphs and data frames: the same answers as their own libraries give."""

from __future__ import annotations

import math
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from memory_graphs import DEVICES, arcs, random_matrix
from scipy import sparse
from scipy.sparse import csgraph

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")


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
    for wrong in ([], ("a", []), True):
        for take in (lw.Graph.from_networkx, lw.indegree):
            with pytest.raises(
                lw.UsageError, match=r"weight must name an attribute of edges, .*not (\[\]|\('a', \[\]\)|True)"
            ):
                take(graph, weight=wrong)


def test_frames() -> None:
    frame = pandas.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "cost": [1.5, 2, 4]})
    graph = lw.Graph.from_pandas(frame, edge_attr="cost")
    expected = networkx.from_pandas_edgelist(frame, edge_attr="cost", create_using=networkx.DiGraph)
    assert graph.ids.tolist() == list(expected)
    lengths = networkx.single_source_dijkstra_path_length(expected, "a", weight="cost")
    assert lw.sssp(graph, "a", devices=DEVICES).to_dict() == lengths
    assert arcs(lw.Graph.from_pandas(frame, edge_attr=["cost"])) == arcs(graph)
    named = frame.rename(columns={"cost": "weight"})
    assert arcs(lw.Graph.from_pandas(named)) == arcs(graph)
    assert not lw.Graph.from_pandas(named, edge_attr=None).weighted
    assert not lw.Graph.from_pandas(frame).weighted
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
        (lambda: lw.Graph.from_pandas(frame, edge_attr="km"), "no column 'km'"),
        (
            lambda: lw.Graph.from_pandas(frame, edge_attr=["cost", "source"]),
            r"one column, of weights, not \['cost', 'so",
        ),
        (lambda: lw.Graph.from_pandas(frame, edge_attr=True), "one column, of weights, not True"),
        (lambda: lw.Graph.from_pandas(frame, edge_attr={}), "one column, of weights, not {}"),
        (lambda: lw.Graph.from_pandas(frame, edge_attr=frame["cost"]), "^edge_attr must name one column, .*weight$"),
        (lambda: lw.Graph.from_pandas(frame, ["source"]), r"source must name a column .*, not \['source'\]"),
        (lambda: lw.Graph.from_pandas(pandas.concat([frame, frame], axis=1)), "several columns 'source'"),
        (lambda: lw.Graph.from_pandas(pandas.DataFrame), "must be a pandas data frame, not type"),
        (lambda: lw.Graph.from_pandas([1]), "must be a pandas data frame, not list"),
        (lambda: lw.Graph.from_pandas(frame.replace("c", None)), "row 1 of the data frame has no 'target'"),
    ):
        with pytest.raises(lw.UsageError, match=message):
            wrong()

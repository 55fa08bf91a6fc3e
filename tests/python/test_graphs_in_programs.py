"""Graphs in memory in all programs, and copies of graphs and results."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
from pathlib import Path
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from memory_graphs import DEVICES, arcs, random_matrix
from scipy import sparse

networkx = pytest.importorskip("networkx")


def programs() -> list[Callable[[Any], Any]]:
    return [
        lambda graph: lw.sssp(graph, 0, devices=DEVICES),
        lambda graph: lw.bfs(graph, 0, devices=DEVICES),
        lambda graph: lw.pagerank(graph, devices=DEVICES),
        lambda graph: lw.color(graph, devices=DEVICES),
        lambda graph: lw.indegree(graph, devices=DEVICES),
        lambda graph: lw.connected_components(graph, devices=DEVICES),
        lambda graph: lw.triangles(graph, devices=DEVICES),
        lambda graph: lw.local_clustering(graph, devices=DEVICES),
        lambda graph: lw.label_propagation(graph, devices=DEVICES),
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


ARCS_ALONE: list[Callable[..., Any]] = [
    lambda graph, **options: lw.bfs(graph, 0, devices=DEVICES, **options),
    lambda graph, **options: lw.color(graph, devices=DEVICES, **options),
    lambda graph, **options: lw.indegree(graph, devices=DEVICES, **options),
    lambda graph, **options: lw.connected_components(graph, devices=DEVICES, **options),
    lambda graph, **options: lw.triangles(graph, devices=DEVICES, **options),
    lambda graph, **options: lw.local_clustering(graph, devices=DEVICES, **options),
    lambda graph, **options: lw.label_propagation(graph, devices=DEVICES, **options),
    lambda graph, **options: lw.pagerank(graph, devices=DEVICES, **{"weight": None, **options}),
]


def negative() -> list[Any]:
    """Graphs with the same arcs and weights that no graph here can hold."""
    data, ends = np.array([-1.0, 2, np.nan, np.inf]), ([0, 1, 0, 2], [1, 2, 2, 0])
    matrix = sparse.coo_array((data, ends), shape=(3, 3))
    weighted = networkx.DiGraph()
    weighted.add_nodes_from(range(3))
    weighted.add_weighted_edges_from(zip(*ends, data))
    return [matrix, matrix.tocsr(), matrix.astype(complex).tocsc(), weighted]


@pytest.mark.parametrize("program", ARCS_ALONE)
def test_programs_without_weights_take_any_and_say_so(program: Callable[..., Any]) -> None:
    plain = lw.Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 0)])
    expected = program(plain)
    assert not expected.weights_ignored
    ones = sparse.csr_array(([1, 1, 1, 1], [1, 2, 2, 0], [0, 2, 3, 4]), shape=(3, 3))
    for graph in (ones, networkx.DiGraph([(0, 1), (1, 2), (0, 2), (2, 0)])):
        assert not program(graph).weights_ignored
    for graph in negative():
        result = program(graph)
        assert result.to_dict() == expected.to_dict()
        assert result.weights_ignored == (program is not ARCS_ALONE[-1] or sparse.issparse(graph))
        assert program(graph, weight=None).weights_ignored == sparse.issparse(graph)
    named = networkx.Graph([(0, 1, {"cost": -3})])
    assert not program(named).weights_ignored
    if program is not ARCS_ALONE[-1]:
        assert program(named, weight="cost").weights_ignored
    weighted = lw.Graph.from_edges([(0, 1)], [5])
    assert program(weighted).weights_ignored and program(weighted, weight=None).weights_ignored
    for graph in (plain, ones):
        with pytest.raises(
            lw.UsageError, match="weight must be 'weight', for the graph's weights, or None, not 'cost'"
        ):
            program(graph, weight="cost")


@pytest.mark.parametrize("graph", negative(), ids=lambda graph: type(graph).__name__)
def test_refused_weights_come_with_a_way_out(graph: Any) -> None:
    make = lw.Graph.from_networkx if isinstance(graph, networkx.Graph) else lw.Graph.from_scipy
    message = rf"; Graph.{make.__name__}\(..., weight=None\) takes the arcs alone$"
    for program in (make, lambda each: lw.sssp(each, 0), lw.pagerank):
        with pytest.raises(lw.UsageError, match=message):
            program(graph)
    made = make(graph, weight=None)
    assert not made.weighted
    assert sorted(arcs(made)) == [(0, 1, 1), (0, 2, 1), (1, 2, 1), (2, 0, 1)]


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
    assert twin == graph and hash(twin) == hash(graph)
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


def test_graphs_are_equal_that_have_the_same_content() -> None:
    edges, weights = [(10, 20), (20, 30), (10, 30)], [0.5, 3, 1]
    graph = lw.Graph.from_edges(edges, weights)
    for other in (
        lw.Graph.from_edges(edges),
        lw.Graph.from_edges(edges, [0.5, 3, 2]),
        lw.Graph.from_edges(edges, [5, 30, 10]),
        lw.Graph.from_edges([(10, 20), (20, 30), (20, 10)], weights),
        lw.Graph.from_edges([(11, 20), (20, 30), (11, 30)], weights),
        lw.Graph.from_edges([("10", "20"), ("20", "30"), ("10", "30")], weights),
        lw.Graph.from_edges(edges, weights, vertices=[10, 20, 30, 40]),
        5,
        None,
    ):
        assert graph != other
    assert {graph, lw.Graph.from_edges(edges, np.array(weights))} == {graph}
    assert lw.generate_grid(9, 7) == lw.generate_grid(9, 7) != lw.generate_grid(9, 7, seed=2)


@pytest.mark.parametrize("program", programs())
def test_results_are_as_long_as_their_dictionary(program: Callable[[Any], Any]) -> None:
    result = program(lw.Graph.from_edges([(0, 1), (2, 0)], vertices=5))
    assert len(result) == len(list(result)) == 5


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
    for name in ("devices", "run_seconds", "posted", "direct", "carried", "served", "buffer_bytes", "device_bytes"):
        assert getattr(twin, name) == getattr(report, name)
    for name in ("messages", "chunks", "bytes", "progress"):
        assert np.array_equal(getattr(twin, name), getattr(report, name))
    assert repr(twin) == repr(report)

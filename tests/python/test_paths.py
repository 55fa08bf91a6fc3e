"""Sources, predecessors and paths of shortest paths, in Python and on the command line."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import Run, device_lists, names
from laneway import _core
from laneway.references import paths as references
from scipy.sparse import csgraph
from test_bad_input import assert_refused

# Zero weights in circles, two shortest paths to 5, a part that is not reached.
ODD = """p sp 9 14
a 1 2 5
a 2 3 0
a 3 4 0
a 4 2 0
a 4 1 0
a 1 6 2
a 6 5 3
a 1 7 3
a 7 5 2
a 5 5 0
a 8 9 0
a 9 8 0
a 1 3 5
a 1 2 9
"""
ODD_PREDECESSORS = [-1, 1, 1, 3, 6, 1, 1, -1, -1]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.gr"
    path.write_text(ODD)
    return path


def test_predecessors_form_a_tree(odd: Path) -> None:
    graph = lw.read_graph(odd)
    for devices in ("cpu:1", "cpu:3", "checked:2"):
        result = lw.sssp(graph, 1, devices=devices)
        assert result.predecessor.tolist() == ODD_PREDECESSORS
        assert result.predecessor.of(5) == 6, "of two as short, the vertex that stands first"
        assert [result.path_to(vertex) for vertex in (1, 4, 5, 8)] == [[1], [1, 3, 4], [1, 6, 5], []]
    with pytest.raises(lw.UsageError, match="could mean a vertex or a place"):
        result.predecessor[5]
    with pytest.raises(lw.UsageError, match=r"vertex 10 is outside 1\.\.9"):
        result.path_to(10)
    assert lw.bfs(graph, 1, devices="cpu:2").path_to(4) == [1, 3, 4]


@pytest.mark.parametrize("devices", device_lists())
def test_new_york(new_york: Path, devices: str) -> None:
    graph = lw.read_graph(new_york)
    sources = [1, 100000, 264346, 1]
    for program in (lw.sssp, lw.bfs):
        result = program(graph, sources=sources, devices=devices)
        unit = program is lw.bfs
        places = [source - 1 for source in sources]
        matrix = graph.to_scipy().astype(float)
        expected = csgraph.dijkstra(matrix, indices=places, min_only=True, unweighted=unit)
        assert np.array_equal(result.length, expected)
        assert references.verify(graph, sources, result.distance.values, unit, result.trees.before).mismatches == 0
        assert result.sources == [1, 100000, 264346]
        assert result == program(graph, sources=sources[::-1], devices="cpu:1")
        assert np.array_equal(result.predecessor, program(graph, sources=sources, devices="cpu:1").predecessor)
        path = result.path_to(77777)
        hops = zip(path[:-1], path[1:])
        steps = [1 if unit else matrix[tail - 1, head - 1] for tail, head in hops]
        assert path[0] in sources
        assert sum(steps) == result[77777]


def test_paths_with_names() -> None:
    graph = lw.Graph.from_edges([("a", ("b", 2)), (("b", 2), None), ("z", "y")], [0.5, 0.25, 1])
    result = lw.sssp(graph, sources={"a"}, devices="cpu:2")
    assert result.path_to(None) == ["a", ("b", 2), None]
    assert result.predecessor.tolist() == [None, "a", ("b", 2), None, None]
    assert result.sources == ["a"]
    assert lw.sssp(graph, sources=["z", "a"], devices="cpu:2").to_dict() == {
        "a": 0,
        ("b", 2): 0.5,
        None: 0.75,
        "z": 0,
        "y": 1,
    }
    both = lw.sssp(graph, sources=["z", ("b", 2)], devices="cpu:2")
    assert [both.path_to(vertex) for vertex in ("y", None, "a")] == [["z", "y"], [("b", 2), None], []]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either source or sources"),
        ({"source": 1, "sources": [1]}, "either source or sources"),
        ({"sources": []}, "at least one vertex"),
        ({"sources": 1}, "sources must be several vertices, not 1"),
        ({"sources": "12"}, "sources must be several vertices, not '12'"),
        ({"sources": [1, 10]}, r"vertex 10 is outside 1\.\.9"),
        ({"sources": [1, 2.5]}, "source must be a whole number"),
        ({"source": [1, 2]}, r"source must be one vertex, not \[1, 2\]: sources takes several"),
        ({"source": np.arange(200)}, "^source must be one vertex, not array.*: sources takes several$"),
    ],
)
def test_wrong_sources(odd: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.UsageError, match=message):
        lw.sssp(lw.read_graph(odd), devices="cpu:1", **arguments)


@pytest.mark.parametrize("options", [["--source", "1,8"], ["--source", "1", "--source", "8"], ["--source", "8, 1 ,8"]])
@pytest.mark.parametrize("program", ["sssp", "bfs"])
def test_command(laneway: Run, odd: Path, tmp_path: Path, program: str, options: list[str]) -> None:
    files = ["--output", "d.npz", "--json", "r.json"]
    done = laneway(program, odd, *options, "--predecessors", "--verify", "--devices", "cpu:2", *files)
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    assert "vertices 1, 8" in words or "vertices 8, 1" in words
    assert "verified" in done.stdout and "yes" in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert sorted(set(report["sources"])) == [1, 8]
    result = getattr(lw, program)(lw.read_graph(odd), sources=[1, 8], devices="cpu:1")
    with np.load(tmp_path / "work" / "d.npz") as file:
        assert sorted(file) == ["distance", "ids", "predecessor"]
        assert file["ids"].tolist() == list(range(1, 10))
        assert file["distance"].tolist() == result.distance.tolist()
        assert file["predecessor"].dtype == np.int64
        assert file["predecessor"].tolist() == result.predecessor.tolist()


def test_output_has_predecessors_when_asked(laneway: Run, odd: Path, tmp_path: Path) -> None:
    assert laneway("sssp", odd, "--source", 1, "--devices", "cpu:1", "--output", "d.npz").returncode == 0
    with np.load(tmp_path / "work" / "d.npz") as file:
        assert sorted(file) == ["distance", "ids"]


def test_predecessors_that_nothing_shows_are_refused(laneway: Run, odd: Path) -> None:
    options = ["--source", 1, "--devices", "cpu:1", "--predecessors"]
    assert_refused(laneway("sssp", odd, *options, "--json", "r.json"), "--predecessors is for --output or --verify")
    for shown in (["--verify"], ["--output", "d.npz"]):
        assert laneway("bfs", odd, *options, *shown).returncode == 0


@pytest.mark.parametrize("source", ["", "1,", "1;2", "one", "-1", "1.0", "²"])
def test_wrong_sources_on_the_command_line(laneway: Run, odd: Path, tmp_path: Path, source: str) -> None:
    done = laneway("sssp", odd, f"--source={source}", "--devices", "cpu:1", "--json", "r.json")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "--source must be a vertex such as 1, or several such as 1,5,9, not" in done.stderr
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize(
    ("vertex", "wrong"), [(4, 2), (3, -1), (2, 4), (5, 1), (1, 3), (8, 9), (9, 1)], ids=lambda each: str(each)
)
def test_wrong_predecessors_are_named(odd: Path, vertex: int, wrong: int) -> None:
    graph = lw.read_graph(odd)
    result = lw.sssp(graph, 1, devices="cpu:1")
    distance = result.distance.values
    before = result.trees.before.copy()
    assert references.verify(graph, [1], distance, False, before).mismatches == 0
    if vertex == 2:
        before[2] = 3  # and so 4 - 3 - 4 is a circle of arcs that all fit
        before[3] = 2
        graph = lw.Graph.from_csr(*with_arc_back(graph), names=range(1, 10))
    else:
        before[vertex - 1] = wrong - 1 if wrong > 0 else -1
    check = references.verify(graph, [1], distance, False, before)
    assert check.mismatches >= 1
    assert "predecessor" in check.first_mismatch and "on no shortest path" in check.first_mismatch


def with_arc_back(graph: lw.Graph) -> tuple[Any, Any, Any]:
    """Rows of the graph with one more arc, of weight 0, from 4 to 3."""
    at = int(graph.offsets[3])
    offsets = graph.offsets.astype(int) + (np.arange(10) > 3)
    return offsets, np.insert(graph.heads, at, 2), np.insert(graph.weights, at, 0)


@pytest.mark.parametrize(
    ("command", "told"),
    [(["sssp", "--source", "1"], False), (["bfs", "--source", "1"], True), (["color"], True), (["indegree"], True)],
)
def test_weights_that_do_not_count_are_told(
    laneway: Run, odd: Path, tmp_path: Path, command: list[str], told: bool
) -> None:
    for options, weighted in (([], True), (["--unweighted"], False)):
        done = laneway(command[0], odd, *command[1:], *options, "--devices", "cpu:1", "--json", "r.json")
        assert done.returncode == 0, done.stderr
        assert ("weights" in done.stdout and "not used" in done.stdout) == (told and weighted)
        graph = json.loads((tmp_path / "work" / "r.json").read_text())["graph"]
        assert (graph["weighted"], graph["weights_ignored"]) == (weighted, told and weighted)


def test_weights_that_no_graph_holds(laneway: Run, tmp_path: Path) -> None:
    matrix, rounded = tmp_path / "m.mtx", tmp_path / "r.wel"
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.5\n2 1 -2\n")
    refused = laneway("bfs", matrix, "--source", 1, "--devices", "cpu:1")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"laneway: {matrix}:4: negative weight '-2'; unweighted reading takes the arcs alone\n"
    assert laneway("bfs", matrix, "--source", 1, "--devices", "cpu:1", "--unweighted").returncode == 0
    rounded.write_text("0 1 0.3333333333\n1 0 4\n")
    done = laneway("sssp", rounded, "--source", 0, "--devices", "cpu:1", "--json", "r.json")
    assert "rounded to 1/1000000000 of the file's unit" in done.stdout
    assert json.loads((tmp_path / "work" / "r.json").read_text())["graph"]["weights_rounded"] is True
    graph = lw.read_graph(rounded)
    assert lw.sssp(graph, 0, devices="cpu:1").weights_rounded and lw.pagerank(graph, devices="cpu:1").weights_rounded
    assert not lw.bfs(graph, 0, devices="cpu:1").weights_rounded
    assert not lw.pagerank(graph, weight=None, devices="cpu:1").weights_rounded


def test_many_threads_ask_for_paths_and_one_tree_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = _core.predecessors

    def counted(*arguments: Any) -> Any:
        made.append(1)
        return make(*arguments)

    monkeypatch.setattr(_core, "predecessors", counted)
    result = lw.sssp(lw.generate_grid(300, 300, keep=1), 0, devices="cpu:1")
    together = threading.Barrier(8)

    def ask(vertex: int) -> list[int]:
        together.wait()
        return result.path_to(vertex)

    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(ask, range(300, 308)))
    assert [path[-1] for path in paths] == list(range(300, 308))
    assert len(made) == 1


def test_a_signal_handler_asks_for_a_path_while_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = lw.sssp(lw.Graph.from_edges([(0, 1), (1, 2)]), 0, devices="cpu:1")
    make = _core.predecessors
    paths: list[list[int]] = []

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(_core, "predecessors", make)
        paths.append(result.path_to(2))  # as a handler does that runs here
        return make(*arguments)

    monkeypatch.setattr(_core, "predecessors", interrupted)
    paths.append(result.path_to(2))
    assert paths == [[0, 1, 2]] * 2

"""Divisions that have a name, and what METIS prints, which stays out of the way of standard output."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import Run, divisions, metis
from laneway.compiled_output import compiled_output_to_stderr
from laneway.partition import metis_parts, named_parts
from programs import run_program

METIS = pytest.mark.skipif(importlib.util.find_spec("pymetis") is None, reason="pymetis is not installed")
LOUD = "Cannot bisect a graph with 0 vertices"  # what METIS says of more parts than vertices

PARTS = """
import sys, laneway as lw
print("before")
lw.sssp(lw.generate_kronecker(3, 20), 0, devices="cpu:24", partition="metis")
print("behind")
"""


@pytest.mark.parametrize("partition", [metis()])
def test_the_command(laneway: Run, partition: str) -> None:
    assert laneway("generate", "kronecker", 3, 20, "--output", "g.gr").returncode == 0
    done = laneway("sssp", "g.gr", "--source", 1, "--devices", "cpu:24", "--partition", partition, "--json", "r.json")
    assert done.returncode == 0, done.stderr
    assert "*" not in done.stdout
    assert done.stdout.startswith("sssp g.gr from vertex 1\n")
    assert LOUD in done.stderr


@pytest.mark.parametrize("partition", [metis()])
@pytest.mark.parametrize("closed", ["", "2>&-", ">&-"])
def test_a_script(partition: str, closed: str) -> None:
    words = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, PARTS.replace("metis", partition)]
    done = run_program(words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("" if closed == ">&-" else "before\nbehind\n")
    assert (LOUD in done.stderr) == (closed == "")


def test_several_threads_divert_once_and_the_last_brings_it_back(capfd: pytest.CaptureFixture[str]) -> None:
    c = ctypes.CDLL(None)
    entered, may_leave = threading.Barrier(3), threading.Barrier(3)

    def work() -> None:
        with compiled_output_to_stderr():
            entered.wait()
            c.puts(b"within")
            may_leave.wait()

    c.puts(b"before")
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    entered.wait()
    may_leave.wait()
    for thread in threads:
        thread.join()
    c.puts(b"behind")
    c.fflush(None)
    assert capfd.readouterr() == ("before\nbehind\n", "within\nwithin\n")


def test_descriptors_are_given_back() -> None:
    before = Path(f"/proc/{os.getpid()}/fd")
    count = len(list(before.iterdir()))
    for _ in range(3):
        with compiled_output_to_stderr():
            pass
    assert len(list(before.iterdir())) == count


def test_many_parallel_arcs_are_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as a byte counts to, which would come round to none."""
    pymetis = pytest.importorskip("pymetis")
    seen: list[list[int]] = []

    def part_graph(parts: int, adjacency: Any, **options: object) -> tuple[int, list[int]]:
        seen.append(np.diff(adjacency.adj_starts).tolist())
        return 0, [0, 1]

    monkeypatch.setattr(pymetis, "part_graph", part_graph)
    graph = lw.Graph.from_edges(np.array([[0, 1]] * 256), directed=True)
    lw.bfs(graph, 0, partition="metis", devices="cpu:2")
    assert seen == [[1, 1]]


@pytest.mark.parametrize("parts", [2, 3, 8, 9])
def test_metis_divides_k_ways(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """Also where there are few parts, for which pymetis bisects unless it is told."""
    pymetis = pytest.importorskip("pymetis")
    divide, given = pymetis.part_graph, []

    def part_graph(number: int, *rest: Any, **options: Any) -> Any:
        given.append((number, options["recursive"]))
        return divide(number, *rest, **options)

    monkeypatch.setattr(pymetis, "part_graph", part_graph)
    side = 40
    places = np.arange(side * side).reshape(side, side)
    pairs = np.array([*zip(places[:, :-1].flat, places[:, 1:].flat), *zip(places[:-1].flat, places[1:].flat)])
    graph = lw.Graph.from_edges(pairs, directed=False)
    found = metis_parts(graph, parts)
    assert given == [(parts, False)]
    assert np.bincount(found, minlength=parts).min() > side * side / parts / 2
    assert np.count_nonzero(found[pairs[:, 0]] != found[pairs[:, 1]]) < len(pairs) / 10


def ranges_of(graph: lw.Graph, n_parts: int) -> np.ndarray[Any, Any]:
    """One range of vertices for each part, of nearly as many arcs."""
    return np.minimum(graph.offsets[:-1] * n_parts // graph.arcs, n_parts - 1)


def work_at_once(graph: lw.Graph, parts: np.ndarray[Any, Any], n_parts: int) -> tuple[float, float]:
    """Of a search from a corner, step by step: how many parts' worth of work goes on at once, and the least share of
    steps in which a part has work."""
    distance = lw.sssp(graph, 0, devices="cpu:1").distance.values
    steps = distance // (distance.max() // 200 + 1)
    work = np.zeros((steps.max() + 1, n_parts), dtype=np.int64)
    np.add.at(work, (steps, parts), 1)
    return work.sum() / work.max(axis=1).sum(), (work > 0).mean(axis=0).min()


@pytest.mark.parametrize(("dealt", "whole"), [("dealt", None), pytest.param("dealt-metis", "metis", marks=METIS)])
def test_a_search_of_a_grid_soon_meets_all_parts(dealt: str, whole: str | None) -> None:
    graph = lw.generate_grid(120, 160, seed=1)
    before = work_at_once(graph, ranges_of(graph, 4) if whole is None else named_parts(graph, whole, 4), 4)
    assert before[0] < 2 and before[1] < 0.5, "one part after the other"
    parts = named_parts(graph, dealt, 4)
    assert np.bincount(parts).min() > graph.vertices / 5
    at_once, in_steps = work_at_once(graph, parts, 4)
    assert at_once > 1.2 * before[0] and in_steps > 0.6
    assert whole or (at_once > 2.6 and in_steps > 0.8)


def test_dealt_divisions_cut_few_more_arcs() -> None:
    graph = lw.generate_grid(120, 640, seed=1)
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets.astype(np.int64)))
    parts = named_parts(graph, "dealt", 4)
    assert np.mean(parts[tails] != parts[graph.heads]) < 0.05


@pytest.mark.parametrize("division", divisions())
def test_more_parts_than_vertices(division: str) -> None:
    graph = lw.Graph.from_edges([(0, 1), (1, 2)])
    assert lw.bfs(graph, 0, devices="cpu:3", partition=division).distance.tolist() == [0, 1, 2]
    assert named_parts(graph, division, 1).tolist() == [0, 0, 0]
    with pytest.raises(lw.UsageError, match="partition must be None, 'metis', 'dealt', 'dealt-metis' or an array"):
        lw.bfs(graph, 0, partition=division + "s")

"""Breadth-first search by levels: the same answers as without them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run, divisions


def test_same_as_without_levels(all_devices: list[str]) -> None:
    undirected = lw.generate_kronecker(10, 20_000, seed=3)
    directed = lw.generate_kronecker(10, 20_000, seed=4, symmetric=False)
    for graph in (undirected, directed, lw.generate_grid(40, 30, seed=1)):
        for sources in ([1], [0, graph.vertices - 1]):
            wanted = lw.bfs(graph, sources=sources, method="asynchronous", devices="cpu:1")
            assert wanted.levels is wanted.pulled is None
            for devices in all_devices:
                result = lw.bfs(graph, sources=sources, method="levels", devices=devices)
                assert result == wanted
                assert result.items == result.reached
                assert result.levels is not None and result.pulled is not None
                assert result.distance.max() <= result.levels <= result.distance.max() + 1
                assert result.pulled > 0 or graph.arcs < 20_000, "most arcs of such graphs leave one level"
                assert np.array_equal(result.predecessor, wanted.predecessor)


@pytest.mark.parametrize("partition", [[v * 5 % 3 for v in range(256)], *divisions()])
@pytest.mark.parametrize("symmetric", [False, True])
def test_partitions(partition: object, symmetric: bool) -> None:
    graph = lw.generate_kronecker(8, 2_000, seed=5, symmetric=symmetric)
    result = lw.bfs(graph, 1, method="levels", devices="cpu:3", partition=partition)  # type: ignore[arg-type]
    assert result == lw.bfs(graph, 1, method="asynchronous", devices="cpu:1")


def test_sessions_keep_the_graph() -> None:
    graph = lw.generate_kronecker(9, 5_000, seed=6)
    with lw.Session(devices="cpu:2") as session:
        results = [session.bfs(graph, sources=list(range(v + 1)), method="levels") for v in (0, 3, 1)]
        assert results[1].partition_seconds == results[2].partition_seconds == 0
    how = {"method": "asynchronous", "devices": "cpu:1"}
    assert results == [lw.bfs(graph, sources=list(range(v + 1)), **how) for v in (0, 3, 1)]  # type: ignore[arg-type]


def test_the_method_that_suits_the_graph(laneway: Run, small: Path, tmp_path: Path) -> None:
    crowd, town = lw.generate_kronecker(10, 40_000, seed=3), lw.generate_grid(40, 30, seed=1)
    with lw.Session(devices="cpu:2") as session:
        for graph, method in ((crowd, "levels"), (town, "asynchronous"), (crowd, "levels")):
            result = session.bfs(graph, 1)
            assert result.method == method and (result.levels is not None) == (method == "levels")
            other = "levels" if method == "asynchronous" else "asynchronous"
            assert result == session.bfs(graph, 1, method=other), "the same distances"
        for switch in ({"delta": 2}, {"priorities": False}, {"fused": False}):
            result = session.bfs(crowd, 1, **switch)  # type: ignore[arg-type]
            assert result.method == "asynchronous", "levels have no such thing"
            assert result == session.bfs(crowd, 1) and (result.waves == 1) == ("fused" not in switch)
    assert laneway("bfs", small, "--source", 1, "--devices", "cpu:1", "--json", "r.json").returncode == 0
    work = json.loads((tmp_path / "work" / "r.json").read_text())["work"]
    assert work["method"] == "asynchronous" and work["items"] >= work["min_items"] == 4


@pytest.mark.parametrize("devices", ["cpu:3", "checked:2"])
def test_command(laneway: Run, small: Path, tmp_path: Path, devices: str) -> None:
    words = ["--method", "levels", "--devices", devices, "--verify", "--predecessors", "--json", "r.json"]
    done = laneway("bfs", small, "--source", 1, *words)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["result"]["reached"] == 4
    assert set(report["work"]) == {"method", "levels", "pulled"}
    assert report["work"]["method"] == "levels"
    assert report["work"]["levels"] == 3
    assert "yes" in done.stdout.split("verified")[1].splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "level"], "--method must be auto, levels or asynchronous, not 'level'"),
        (["--method", "levels", "--delta", "3"], "--delta is for method asynchronous"),
        (["--method", "levels", "--no-priorities"], "--no-priorities is for method asynchronous"),
        (["--method", "levels", "--no-fused"], "--no-fused is for method asynchronous"),
        (["--method", "asynchronous", "--delta", "3", "--no-priorities"], "--delta is for runs with priorities"),
        (
            ["--method", "levels", "--partition", "halves"],
            "--partition must be metis, dealt or dealt-metis, not halves",
        ),
    ],
)
def test_bad_options(laneway: Run, small: Path, options: list[str], message: str) -> None:
    done = laneway("bfs", small, "--source", 1, *options)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr

"""Shortest paths as work items: the same answers as by the worklist of keys, what is counted, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import ROOT, Run, device_lists, divisions
from laneway.references import paths as references

GRAPHS = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "graphs"


def items(graph: lw.Graph, sources: list[Any], devices: str, **options: Any) -> lw.Result:
    """The result, which is that of the other method, with counts that fit together."""
    result = lw.sssp(graph, sources=sources, devices=devices, method="near-far", **options)
    assert references.verify(graph, sources, result.distance.values, False, result.trees.before).mismatches == 0
    assert result.useful is not None and result.sent is not None and result.suppressed is not None
    assert result.items >= result.useful >= result.min_items == result.reached
    assert result.report.carried == result.sent
    return result


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", *(each for each in device_lists() if "cuda" in each)])
def test_new_york(new_york: Path, devices: str) -> None:
    graph = lw.read_graph(new_york)
    result = items(graph, [1], devices)
    assert (result.reached, result.checksum) == (264_346, 22798374856756248)
    assert result.items < 3 * result.min_items, "near items come first"
    assert (result.sent == 0) == (len(result.report.devices) == 1)


@pytest.mark.parametrize(
    ("name", "source"),
    [("4elt.graph.gz", 1), ("bremen_dist.gr.gz", 7), ("facebook_combined.txt.gz", 0), ("wiki-Vote.txt.gz", 30)],
)
def test_graphs_of_others(name: str, source: int) -> None:
    if not (GRAPHS / name).exists():
        pytest.skip(f"shared data not at hand: {name}")
    graph = lw.read_graph(GRAPHS / name)
    assert items(graph, [source], "cpu:1") == items(graph, [source], "cpu:3")


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_shapes(devices: str) -> None:
    checked = devices.startswith("checked")
    edges = [(0, 1), (1, 2), (2, 0), (5, 6), (6, 6)]
    parts = lw.Graph.from_edges(edges, [2.5, 0, 4, 1, 3])  # in two, with decimals and a zero
    result = items(parts, [6, 1], devices)
    assert result.to_dict() == {0: 4, 1: 0, 2: 0, 6: 0}
    assert result.path_to(0) == [1, 2, 0] and result.path_to(5) == []
    alone = items(lw.Graph.from_csr([0, 0, 0, 0], [], []), [2], devices)
    assert (alone.reached, alone.items, alone.sent) == (1, 1, 0)
    leaves = 300 if checked else 100_000
    offsets = np.r_[0, np.full(leaves + 1, leaves)]
    star = lw.Graph.from_csr(offsets, np.arange(1, leaves + 1), 1 + np.arange(leaves) % 9)
    assert items(star, [0], devices).items == leaves + 1, "a leaf is one item"
    length = 100 if checked else 20_000
    chain = lw.Graph.from_csr(np.r_[np.arange(length), length - 1], np.arange(1, length), np.arange(length - 1) % 5)
    assert items(chain, [0], devices, delta=1).items == length
    random = lw.generate_kronecker(5 if checked else 9, 150 if checked else 6_000, seed=3)
    assert items(random, [0], devices) == lw.sssp(random, 0, devices="cpu:1")


def test_useless_items_are_not_sent() -> None:
    """Each vertex of a complete graph has arcs from all others: of those of one device, the least counts."""
    n = 200
    heads = np.tile(np.arange(n), n)
    weights = (np.repeat(np.arange(n), n) ^ heads) + 1
    graph = lw.Graph.from_csr(np.arange(n + 1) * n, heads, weights)
    result = items(graph, [1], "cpu:2")
    assert result.suppressed is not None and result.sent is not None
    assert result.suppressed > 3 * result.sent > 0
    assert items(graph, [1], "cpu:1").suppressed == 0


@pytest.mark.parametrize("method", ["near-far", "asynchronous"])
def test_switches_change_the_work_and_not_the_answer(method: str) -> None:
    place = np.arange(3600).reshape(60, 60)
    edges = [
        np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()]),
        np.column_stack([place[:-1].ravel(), place[1:].ravel()]),
    ]
    weights = np.random.default_rng(4).integers(1, 1000, 2 * 60 * 59)
    graph = lw.Graph.from_edges(np.concatenate(edges), weights, directed=False)
    first = lw.sssp(graph, 0, devices="cpu:2", method=method)
    for switches in ({"priorities": False}, {"fused": False}, {"priorities": False, "fused": False}):
        other = lw.sssp(graph, 0, devices="cpu:2", method=method, **switches)  # type: ignore[arg-type]
        assert other == first, switches
        if method == "near-far" or "fused" in switches:
            assert ("priorities" not in switches) == (other.items < 3 * other.min_items)
        assert (other.waves == 1) == ("fused" not in switches)
    with lw.Session(devices="cpu:1") as session:
        result = session.sssp(graph, 0, method=method, priorities=False, fused=False)
        assert result == first and result.items > 3 * result.min_items


@pytest.mark.parametrize("program", [partial(lw.sssp, method="near-far"), lw.sssp, lw.bfs])
def test_a_width_of_steps_that_there_are_not(program: Callable[..., Any]) -> None:
    graph = lw.generate_grid(4, 3, seed=1)
    with pytest.raises(lw.UsageError, match="delta is for runs with priorities: it is the width of a priority step"):
        program(graph, 0, devices="cpu:1", delta=4, priorities=False)


@pytest.mark.parametrize("partition", [[v * 5 % 3 for v in range(256)], *divisions()])
def test_partitions(partition: Any) -> None:
    graph = lw.generate_kronecker(8, 2_000, seed=5)
    assert items(graph, [1, 7], "cpu:3", partition=partition) == lw.sssp(graph, sources=[7, 1], devices="cpu:1")


def test_sessions_keep_the_graph() -> None:
    graph = lw.generate_grid(40, 30, seed=6)
    with lw.Session(devices="cpu:2") as session:
        results = [session.sssp(graph, sources=list(range(v + 1)), method="near-far") for v in (0, 3, 1)]
        assert results[1].partition_seconds == results[2].partition_seconds == 0 < results[0].partition_seconds
    assert results == [lw.sssp(graph, sources=list(range(v + 1)), devices="cpu:1") for v in (0, 3, 1)]


@pytest.mark.parametrize("devices", ["cpu:3", "checked:2"])
def test_command(laneway: Run, small: Path, tmp_path: Path, devices: str) -> None:
    words = [
        "--method",
        "near-far",
        "--no-priorities",
        "--no-fused",
        "--devices",
        devices,
        "--verify",
        "--predecessors",
        "--json",
        "r.json",
    ]
    done = laneway("sssp", small, "--source", 1, *words)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["result"]["reached"] == report["work"]["min_items"] == 4
    assert set(report["work"]) == {
        *("method", "items", "min_items", "delta", "useful", "sent", "suppressed", "waves", "overflowed"),
    }
    assert report["work"]["waves"] > 1
    assert report["work"]["items"] >= report["work"]["useful"] >= 4
    assert "yes" in done.stdout.split("verified")[1].splitlines()[0]
    assert f"{report['work']['sent']} sent" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "levels"], "method must be asynchronous or near-far, not 'levels'"),
        (["--method", "near-far", "--delta", "0"], "delta must be a whole number from 1"),
        (
            ["--method", "near-far", "--partition", "halves"],
            "--partition must be metis, dealt or dealt-metis, not halves",
        ),
    ],
)
def test_bad_options(laneway: Run, small: Path, options: list[str], message: str) -> None:
    done = laneway("sssp", small, "--source", 1, *options)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr


def test_bad_sources() -> None:
    graph = lw.generate_grid(4, 4)
    for arguments, message in (
        ({}, "either source or sources"),
        ({"sources": []}, "at least one"),
        ({"source": 99}, "99"),
        ({"source": 0, "partition": [7] * 16}, "7"),
    ):
        with pytest.raises(lw.UsageError, match=message):
            lw.sssp(graph, method="near-far", devices="cpu:2", **arguments)  # type: ignore[arg-type]

"""Components, triangles, clustering and label propagation: commands, functions and independent answers."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import independent_answers
import laneway as lw
import numpy as np
import pytest
from conftest import ROOT, Run, divisions
from laneway.references import cc, cdlp, triangles

networkx = pytest.importorskip("networkx")

SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data"))
GRAPHS = ["facebook_combined.txt.gz", "wiki-Vote.txt.gz", "bcsstk13.mtx.gz", "4elt.graph.gz", "copter2.graph.gz"]

METHODS = ["afforest", "router"]


def shared_graph(name: str) -> lw.Graph:
    if not (SHARED / "graphs" / name).exists():
        pytest.skip(f"no {SHARED / 'graphs' / name}")
    return lw.read_graph(SHARED / "graphs" / name, unweighted=True)


@pytest.mark.parametrize("name", [*GRAPHS, "soc-Slashdot0902.txt.gz", "pace16-NW.gr.xz"])
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3"])
@pytest.mark.parametrize("method", METHODS)
def test_components_are_those_of_scipy(name: str, devices: str, method: str) -> None:
    graph = shared_graph(name)
    wanted = independent_answers.components(graph)
    result = lw.connected_components(graph, method=method, devices=devices)
    assert result.components == wanted.max() + 1
    assert np.array_equal(result.component.values, wanted), "numbered by first vertices"
    assert np.array_equal(np.sort(result.sizes), np.sort(np.bincount(wanted)))


@pytest.mark.parametrize("name", GRAPHS)
def test_triangles_are_those_of_scipy(name: str) -> None:
    graph = shared_graph(name)
    counts = independent_answers.triangles(graph)
    result = lw.triangles(graph, devices="cpu:3")
    assert np.array_equal(result.triangles.values, counts)
    assert result.total == counts.sum() // 3
    wanted = independent_answers.clustering(graph)
    assert np.allclose(lw.local_clustering(graph, devices="cpu:3").coefficient.values, wanted, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_networkx_counts_the_same(seed: int) -> None:
    graph = networkx.gnp_random_graph(60, 0.1, seed=seed)
    assert lw.triangles(graph, devices="cpu:2").to_dict() == networkx.triangles(graph)
    clustering = lw.local_clustering(graph, devices="cpu:2")
    assert clustering.to_dict() == pytest.approx(networkx.clustering(graph))
    assert clustering.average == pytest.approx(networkx.average_clustering(graph))
    directed = networkx.gnp_random_graph(60, 0.02, seed=seed, directed=True)
    result = lw.connected_components(directed, devices="cpu:2")
    parts = [{v for v in directed if result[v] == number} for number in range(result.components)]
    assert parts == list(networkx.weakly_connected_components(directed))


def test_same_on_any_devices(all_devices: list[str]) -> None:
    graph = lw.generate_kronecker(9, 4_000, seed=3)
    programs: list[Callable[..., Any]] = [lw.connected_components, lw.triangles, lw.local_clustering]
    programs.append(lw.label_propagation)
    for program in programs:
        alone = program(graph, devices="cpu:1")
        for devices in all_devices:
            assert program(graph, devices=devices) == alone, program


@pytest.mark.parametrize("program", [lw.connected_components, lw.label_propagation])
@pytest.mark.parametrize("partition", [[v * 7 % 3 for v in range(256)], *divisions()])
def test_partitions(program: Callable[..., Any], partition: Any) -> None:
    graph = lw.generate_kronecker(8, 1_000, seed=5)
    alone = program(graph, devices="cpu:1")
    assert program(graph, devices="cpu:3", partition=partition) == alone


def test_labels_are_names_of_vertices() -> None:
    graph = networkx.Graph([("b", "a"), ("a", "c"), ("c", "b"), ("d", "e"), ("e", "f"), ("f", "d")])
    result = lw.label_propagation(graph, devices="cpu:2", rounds=30)
    assert result.to_dict() == {**dict.fromkeys("abc", "b"), **dict.fromkeys("def", "d")}
    assert (result.labels, result.converged) == (2, True)
    assert [result[name] for name in "acf"] == ["b", "b", "d"]
    assert lw.label_propagation(graph, rounds=0, devices="cpu:1").to_dict() == {v: v for v in graph}


def test_labels_by_classes(all_devices: list[str]) -> None:
    graph = networkx.karate_club_graph()
    order = sorted(graph, key=graph.degree, reverse=True)
    expected = list(networkx.community.label_propagation_communities(graph))
    for devices in all_devices:
        classes = lw.color(graph, order=order, devices=devices).color
        result = lw.label_propagation(graph, rounds=100, classes=classes, devices=devices)
        assert [{v for v in graph if result[v] == label} for label in dict.fromkeys(result.label)] == expected
        assert (result.labels, result.converged) == (len(expected), True)
        other = [7 * int(each) - 3 for each in classes]
        again = lw.label_propagation(graph, rounds=100, classes=other, devices=devices)
        assert again == result, "only their order counts"
        assert not lw.label_propagation(graph, rounds=result.rounds - 1, classes=classes, devices=devices).converged


def test_wrong_classes() -> None:
    graph = networkx.path_graph(3)
    for wrong in ([0, 1], [[0, 1, 0]], [0.0, 1.0, 0.0], ["a", "b", "a"], 1):
        with pytest.raises(lw.UsageError, match=r"^classes must hold one whole number for each of 3 vertices$"):
            lw.label_propagation(graph, classes=wrong, devices="cpu:1")
    empty = lw.label_propagation(networkx.Graph(), classes=[], devices="cpu:1")
    assert empty.label.size == 0


COMMANDS = ["cc", "triangles", "lcc", "cdlp"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_commands(laneway: Run, small: Path, tmp_path: Path, command: str, devices: str) -> None:
    done = laneway(command, small, "--devices", devices, "--verify", "--output", "o.npz", "--json", "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against Laneway's one-core" in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["program"] == command
    name = {"cc": "component", "triangles": "triangles", "lcc": "coefficient", "cdlp": "label"}[command]
    with np.load(tmp_path / "work" / "o.npz") as file:
        values = file[name].tolist()
        assert file["ids"].tolist() == [1, 2, 3, 4, 5, 6]
    wanted = {
        "cc": [0, 0, 0, 0, 1, 1],
        "triangles": [2, 2, 1, 1, 0, 0],
        "lcc": pytest.approx([1 / 3, 1 / 3, 1 / 2, 1 / 2, 0, 0]),
        "cdlp": [1, 1, 1, 1, 5, 6],  # the last two change places in each round
    }
    assert values == wanted[command]
    results = {
        "cc": {"components": 2, "largest": 4, "of_one_vertex": 0},
        "triangles": {"triangles": 2, "max": 2, "corners": 4},
        "lcc": {"average": pytest.approx(5 / 18), "above_0": 4},
        "cdlp": {"labels": 3, "largest": 4, "converged": False},
    }
    assert report["result"] == results[command]


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_components_by_router(laneway: Run, small: Path, tmp_path: Path, devices: str) -> None:
    words = ["cc", small, "--method", "router", "--devices", devices]
    done = laneway(*words, "--verify", "--output", "o.npz", "--json", "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against Laneway's one-core" in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["method"] == "router"
    assert report["result"] == {"components": 2, "largest": 4, "of_one_vertex": 0}
    number = len(report["devices"])
    assert report["messages"]["carried"] == 7 + 6 * number, "arcs that are no loops, and a forest of each device"
    assert len(report["device_peak_bytes"]) == number
    assert min(report["device_peak_bytes"]) > max(report["buffer_bytes"]) // 4 > 0
    with np.load(tmp_path / "work" / "o.npz") as file:
        assert file["component"].tolist() == [0, 0, 0, 0, 1, 1]


def test_sessions_route_components_between_other_programs() -> None:
    graph = lw.generate_kronecker(9, 2_000, seed=3)
    with lw.Session(devices="cpu:2") as session:
        alone = session.connected_components(graph)
        for _ in range(3):
            assert session.connected_components(graph, method="router") == alone
            assert session.connected_components(graph) == alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cdlp", "GRAPH", "--rounds", "-1"], "rounds must be a whole number"),
        (["cdlp", "GRAPH", "--rounds", "x"], "Invalid value for '--rounds'"),
        (["cc", "GRAPH", "--partition", "halves"], "--partition must be metis, dealt or dealt-metis, not halves"),
        (["cc", "GRAPH", "--method", "rounds"], "method must be afforest or router, not 'rounds'"),
        (["cc", "GRAPH", "--method", "router", "--partition", "metis"], "partition is for method afforest"),
        (["cc", "GRAPH", "--method", "router", "--buffer-bytes", "31"], "buffer_bytes = 31 is too little"),
        (["triangles", "GRAPH", "--partition", "metis"], "--partition"),
        (["lcc", "missing.gr"], "missing.gr"),
        (["lcc", "GRAPH", "--devices", "gpu"], "gpu"),
    ],
)
def test_bad_options(laneway: Run, small: Path, words: list[str], message: str) -> None:
    done = laneway(*[small if word == "GRAPH" else word for word in words])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_wrong_answers_are_named(small: Path) -> None:
    graph = lw.read_graph(small)

    def wrong(result: Any, value: Any) -> Any:
        name = result.values_name
        values = getattr(result, name)
        return dataclasses.replace(result, **{name: lw.VertexArray([*values.tolist()[:5], value], values.numbering)})

    components = lw.connected_components(graph, devices="cpu:1")
    checked = cc.verify(graph, wrong(components, 0))
    assert (checked.mismatches, checked.first_mismatch) == (1, "vertex 6 is in component 0, not 1")
    counts = lw.triangles(graph, devices="cpu:1")
    checked = triangles.verify_triangles(graph, wrong(counts, 7))
    assert (checked.mismatches, checked.first_mismatch) == (1, "vertex 6 has 7 triangles, not 0")
    clustering = lw.local_clustering(graph, devices="cpu:1")
    checked = triangles.verify_clustering(graph, wrong(clustering, 0.25))
    assert (checked.mismatches, checked.first_mismatch) == (1, "vertex 6 has coefficient 0.25, not 0.0")
    labels = lw.label_propagation(graph, devices="cpu:1", rounds=3)
    assert cdlp.verify(graph, labels, 3).mismatches == 0
    checked = cdlp.verify(graph, wrong(labels, 3), 3)
    assert (checked.mismatches, checked.first_mismatch) == (1, f"vertex 6 has label 3, not {labels[6]}")

"""Graph colouring: the command, the function, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run, divisions, names
from laneway.references import color as reference
from laneway.verification import Verification


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_odd_graph(laneway: Run, small: Path, tmp_path: Path, devices: str) -> None:
    done = laneway("color", small, "--devices", devices, "--verify", "--output", "c.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against Laneway's one-core greedy colouring" in done.stdout
    with np.load(tmp_path / "work" / "c.npz") as file:
        color = file["color"].tolist()
    assert sorted(color[:3]) == [0, 1, 2]  # a triangle
    assert color[3] not in (color[0], color[1])
    assert sorted(color[4:]) == [0, 1]


@pytest.mark.parametrize("partition", [None, *divisions()])
def test_same_colours_on_any_devices(all_devices: list[str], partition: str | None) -> None:
    graph = lw.generate_kronecker(10, 60_000, seed=3)
    alone = lw.color(graph, devices="cpu:1")
    assert reference.verify(graph, alone).mismatches == 0
    assert alone.colors == alone.color.max() + 1
    for devices in all_devices:
        result = lw.color(graph, devices=devices, partition=partition)
        assert np.array_equal(result.color, alone.color)
        assert result.rounds <= alone.color.size
        assert result.report.carried == result.report.served
    assert not np.array_equal(lw.color(graph, order=2, devices="cpu:1").color, alone.color)


def test_report(laneway: Run, new_york: Path, tmp_path: Path) -> None:
    done = laneway("color", new_york, "--devices", "cpu:2", "--json", "r.json", "--plot", "r.svg")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert (report["program"], report["order"]) == ("color", 1)
    counts = report["result"]["vertices_of_color"]
    assert len(counts) == report["result"]["colors"] < 8
    assert min(counts) > 0 and sum(counts) == 264346
    assert 5 < report["work"]["rounds"] < 30
    assert names(tmp_path / "work") == ["r.json", "r.svg"]


def test_wrong_colours_are_named(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.color(graph, devices="cpu:1")
    right = result.color.tolist()

    def check(last: int) -> Verification:
        wrong = lw.VertexArray([*right[:5], last], result.color.numbering)
        return reference.verify(graph, dataclasses.replace(result, color=wrong))

    assert check(7).mismatches == 1
    assert check(7).first_mismatch == f"vertex 6 has colour 7, not {right[5]}"
    assert check(right[4]).first_mismatch == f"vertex 5 has colour {right[4]}, as a neighbour has"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--order", "-1"], "order must be a whole number"),
        (["--partition", "halves"], "--partition must be metis, dealt or dealt-metis, not halves"),
        (["--devices", "gpu"], "gpu"),
    ],
)
def test_bad_options(laneway: Run, small: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = laneway("color", small, *options, "--json", "r.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert names(tmp_path / "work") == []


def test_bad_arguments(small: Path, tmp_path: Path) -> None:
    graph = lw.read_graph(small)
    with pytest.raises(lw.UsageError, match="what read_graph gives, not ndarray"):
        lw.color(np.zeros(3))
    with pytest.raises(lw.UsageError, match="one whole number for each of 6 vertices"):
        lw.color(graph, partition=[0, 1])
    (tmp_path / "empty.gr").write_text("p sp 0 0\n")
    assert lw.color(lw.read_graph(tmp_path / "empty.gr"), devices="cpu:2").colors == 0


def test_vertices_choose_in_a_given_order(small: Path) -> None:
    graph = lw.read_graph(small)
    order = [4, 3, 2, 1, 6, 5]
    for devices in ("cpu:1", "cpu:3", "checked:2"):
        result = lw.color(graph, order=order, devices=devices)
        assert result.order is None and result[4] == 0 and result[6] == 0
        assert reference.verify(graph, result).mismatches == 0
    path = lw.Graph.from_edges([(v, v + 1) for v in range(50)], directed=False)
    for given in (range(51), np.arange(51)[::-1]):
        assert np.array_equal(lw.color(path, order=given, devices="cpu:2").color.values, np.arange(51) % 2)
    with lw.Session(devices="cpu:2") as session:
        first = session.color(graph).color.values
        assert session.color(graph, order=order)[4] == 0
        assert np.array_equal(session.color(graph).color.values, first)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([1, 2, 3], "each of the 6 vertices once"),
        ([1, 1, 2, 3, 4, 5], "once"),
        ([1, 2, 3, 4, 5, 7], "vertex 7"),
        ("abc", "order"),
    ],
)
def test_orders_that_are_none(small: Path, order: object, message: str) -> None:
    with pytest.raises(lw.UsageError, match=message):
        lw.color(lw.read_graph(small), order=order)  # type: ignore[arg-type]

"""PageRank by residual push: the function, the command, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import Run, divisions
from laneway.references import pagerank as reference

CASES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "coarse": {"tol": 1e-4},
    "fine": {"tol": 1e-11},
    "other alpha": {"alpha": 0.5},
    "arcs alike": {"weight": None},
    "personal": {"personalization": {3: 1, 5: 2.5, 17: 0}},
    "dangling": {"dangling": {1: 1, 40: 3}},
    "both": {"personalization": {2: 1}, "dangling": {7: 1}, "weight": None},
}


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
@pytest.mark.parametrize("case", CASES)
def test_ranks_are_those_of_rest(case: str, devices: str) -> None:
    scale, arcs = (5, 100) if devices.startswith("checked") else (8, 1500)
    graph = lw.generate_kronecker(scale, arcs, symmetric=False, max_weight=9, seed=5)  # some vertices have no arcs
    options = {"tol": 1e-8, **CASES[case]}
    if devices.startswith("checked"):
        options.pop("dangling", None)  # names vertices that the small graph does not have
    result = lw.pagerank(graph, method="push", devices=devices, **options)
    assert result.converged and 0 <= result.residual < options["tol"] * graph.vertices
    check = reference.verify(graph, result)
    assert (check.mismatches, check.first_mismatch) == (0, "")
    rest = lw.pagerank(graph, devices="cpu:1", **{**options, "tol": 1e-9})
    allowed = 12 * (result.residual + rest.residual) + 1e-6
    assert np.abs(result.rank.values - rest.rank.values).sum() < allowed
    assert result.rank.values.sum() == pytest.approx(1, abs=1e-9)
    assert result.rounds == 0 and result.pushes is not None and result.sent is not None
    assert (result.sent > 0) == (devices != "cpu:1")


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
@pytest.mark.parametrize("switches", [("priorities",), ("fused",), ("priorities", "fused")])
def test_switches_keep_the_promise(switches: tuple[str, ...], devices: str) -> None:
    scale, arcs = (5, 100) if devices.startswith("checked") else (8, 1500)
    graph = lw.generate_kronecker(scale, arcs, symmetric=False, max_weight=9, seed=5)
    off: dict[str, Any] = dict.fromkeys(switches, False)
    result = lw.pagerank(graph, method="push", tol=1e-6, devices=devices, **off)
    assert result.converged
    check = reference.verify(graph, result)
    assert (check.mismatches, check.first_mismatch) == (0, "")
    assert result.looks is not None and result.pushes is not None and result.adds is not None
    assert result.looks >= result.pushes > graph.vertices and result.adds > graph.arcs
    assert "priorities" not in switches or result.suppressed == 0  # without, every sum goes as soon as it is seen


def test_order_saves_work() -> None:
    graph = lw.generate_kronecker(10, 20_000, seed=5)
    adds = [
        lw.pagerank(graph, method="push", tol=1e-2 / graph.vertices, devices="cpu:1", priorities=on).adds
        for on in (True, False)
    ]
    assert adds[0] is not None and adds[1] is not None and adds[0] < adds[1]


@pytest.mark.parametrize("partition", [None, *divisions()])
def test_a_session_keeps_the_graph(partition: str | None) -> None:
    graph = lw.generate_kronecker(8, 1500, symmetric=False, seed=5)
    alone = lw.pagerank(graph, tol=1e-9, devices="cpu:1").rank.values
    with lw.Session(devices="cpu:2") as session:
        for start in (None, {1: 1}, None):
            result = session.pagerank(graph, personalization=start, tol=1e-9, method="push", partition=partition)
            assert result.converged
            differs = np.abs(result.rank.values - alone).sum()
            assert differs < 1e-4 if start is None else differs > 0.1


def test_command(laneway: Run, new_york: Path, tmp_path: Path) -> None:
    options = ["--method", "push", "--tol", 1e-9, "--devices", "cpu:2", "--json", "r.json", "--verify"]
    done = laneway("pagerank", new_york, *options, "--unweighted", "--output", "r.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert "push, converged" in done.stdout and "yes, against SciPy power iteration, at rest" in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["method"] == "push" and report["result"]["converged"]
    assert report["work"]["pushes"] > report["graph"]["vertices"]
    # Roads hardly cross from one device to the other, and what crosses goes as sums.
    assert 0 < report["work"]["sent"] < report["work"]["pushes"] / 100
    with np.load(tmp_path / "work" / "r.npz") as file:
        assert file["rank"].sum() == pytest.approx(1)


def test_command_with_switches(laneway: Run, small: Path, tmp_path: Path) -> None:
    options = ["--method", "push", "--tol", 1e-9, "--devices", "cpu:2", "--no-priorities", "--no-fused"]
    done = laneway("pagerank", small, *options, "--json", "r.json", "--verify")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert (report["priorities"], report["fused"]) == (False, False)
    assert report["work"]["looks"] >= report["work"]["pushes"] and report["work"]["suppressed"] == 0


def test_wrong_ranks_are_named(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.pagerank(graph, method="push", tol=1e-9, devices="cpu:1")
    wrong = result.rank.values.copy()
    wrong[1] += 1e-6
    check = reference.verify(graph, dataclasses.replace(result, rank=lw.VertexArray(wrong, result.rank.numbering)))
    assert check.mismatches == 1
    assert "most that of vertex 2: " in check.first_mismatch


def test_a_star_whose_ranks_never_rest() -> None:
    """The hub's sum of shares goes on changing in its last bits, for ever."""
    leaves = 100_000
    graph = lw.Graph.from_edges(np.column_stack([np.zeros(leaves, int), np.arange(1, leaves + 1)]), directed=False)
    result = lw.pagerank(graph, method="push", tol=1e-3 / graph.vertices, devices="cpu:2")
    check = reference.verify(graph, result)
    assert (check.mismatches, check.first_mismatch) == (0, "")
    wrong = result.rank.values.copy()
    wrong[0] += 0.02
    check = reference.verify(graph, dataclasses.replace(result, rank=lw.VertexArray(wrong, result.rank.numbering)))
    assert check.mismatches == 1 and "most that of vertex 0: " in check.first_mismatch


def test_a_reference_that_cannot_tell_says_so(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that are about as far from those of rest as they may be, and rounds that hardly come nearer."""
    monkeypatch.setattr(reference, "REST_ROUNDS", 10)
    graph = lw.read_graph(small)
    result = lw.pagerank(graph, method="push", alpha=0.9999, tol=1e-9, devices="cpu:1")
    moved = result.rank.values + 1e-5 * np.array([1, -1, 0, 0, 0, 0])
    result = dataclasses.replace(result, residual=1e-9, rank=lw.VertexArray(moved, result.rank.numbering))
    check = reference.verify(graph, result)
    assert check.mismatches == 1
    assert check.first_mismatch.startswith("the reference cannot tell: all ranks differ by ")


def test_a_residual_that_says_nothing_is_no_verification(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.pagerank(graph, method="push", alpha=np.float64(1 - 1e-7), tol=1e-3, devices="cpu:1")
    check = reference.verify(graph, dataclasses.replace(result, residual=1e-6))
    assert check.mismatches == 1
    assert "says nothing of ranks at this alpha: a smaller tol would" in check.first_mismatch
    near = lw.pagerank(graph, method="push", alpha=np.float32(0.5), tol=1e-9, devices="cpu:1")
    assert reference.verify(graph, near).mismatches == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pushed"}, "method must be pull or push, not 'pushed'"),
        ({"method": "push", "alpha": 1}, "alpha must be 1 - 1e-09 or less by method push"),
        ({"method": "push", "alpha": 1 - 1e-13}, "alpha must be 1 - 1e-09 or less by method push"),
        ({"method": "push", "tol": 10**400}, "tol must be a number of 0 or more, not 1000"),
        ({"method": "push", "rounds": 3}, "rounds is for method pull"),
        ({"method": "push", "max_iter": 3}, "max_iter is for method pull"),
        ({"method": "push", "nstart": {1: 1}}, "nstart is for method pull"),
        ({"priorities": False}, "priorities is for method push"),
        ({"fused": False}, "fused is for method push"),
        ({"method": "push", "fused": 2}, "fused must be False or True, not 2"),
    ],
)
def test_bad_arguments(small: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.UsageError, match=message):
        lw.pagerank(lw.read_graph(small), **options)

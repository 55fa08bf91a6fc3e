"""In-degrees: the command, the function, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run, device_lists, names
from laneway.references import indegree as reference

SMALL_IN_DEGREES = [1, 2, 2, 2, 0, 1]


@pytest.mark.parametrize("walk", ["lists", "arcs"])
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_odd_graph(laneway: Run, small: Path, tmp_path: Path, walk: str, devices: str) -> None:
    done = laneway("indegree", small, "--walk", walk, "--devices", devices, "--verify", "--output", "d.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against numpy.bincount" in done.stdout
    with np.load(tmp_path / "work" / "d.npz") as file:
        assert file["in_degree"].dtype == np.uint64
        assert file["in_degree"].tolist() == SMALL_IN_DEGREES


@pytest.mark.parametrize("devices", device_lists())
def test_power_law_graph(devices: str) -> None:
    graph = lw.generate_kronecker(13, 200_000, symmetric=False, seed=3)
    expected = np.bincount(graph.heads, minlength=graph.vertices)
    for walk in ("lists", "arcs"):
        result = lw.indegree(graph, walk=walk, devices=devices)
        assert np.array_equal(result.in_degree, expected.astype(np.uint64))
        assert result.report.posted == graph.arcs
        assert result.report.carried == result.report.served


def test_report(laneway: Run, small: Path, tmp_path: Path) -> None:
    done = laneway("indegree", small, "--devices", "cpu:2", "--json", "r.json", "--plot", "r.svg")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert (report["program"], report["walk"]) == ("indegree", "lists")
    assert report["result"]["sum"] == report["messages"]["posted"] == 8
    assert report["result"]["reached"] == 5
    assert names(tmp_path / "work") == ["r.json", "r.svg"]


def test_wrong_in_degrees_are_named(small: Path) -> None:
    graph = lw.read_graph(small)
    right = np.array(SMALL_IN_DEGREES, dtype=np.uint64)
    assert reference.verify(graph, right).mismatches == 0
    right[2] += 1
    right[4] = 7
    check = reference.verify(graph, right)
    assert check.mismatches == 2
    assert check.first_mismatch == "vertex 3 has 2 arcs to it, not 3"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--walk", "edges"], "walk must be lists or arcs, not edges"),
        (["--devices", "gpu"], "gpu"),
        (["--timeout", "0"], "timeout must be a positive number of seconds"),
        (["--timeout", "1e10"], "seconds below 1e9, not 10000000000.0"),
    ],
)
def test_bad_options(laneway: Run, small: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = laneway("indegree", small, *options, "--json", "r.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert names(tmp_path / "work") == []


def test_bad_arguments(small: Path) -> None:
    graph = lw.read_graph(small)
    with pytest.raises(lw.UsageError, match="what read_graph gives, not ndarray"):
        lw.indegree(np.zeros(3))
    with pytest.raises(lw.UsageError, match="walk must be"):
        lw.indegree(graph, walk="")
    with pytest.raises(lw.UsageError, match="one string"):
        lw.indegree(graph, devices=2)

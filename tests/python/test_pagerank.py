"""PageRank: the command, the function, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run, device_lists, metis, names
from laneway.references import pagerank as reference


def dense_ranks(graph: lw.Graph, rounds: int) -> np.ndarray:
    """Ranks by products with the full matrix; column v says where the rank of v goes."""
    n = graph.vertices
    matrix = np.zeros((n, n))
    for tail in range(n):
        heads = graph.heads[graph.offsets[tail] : graph.offsets[tail + 1]]
        np.add.at(matrix[:, tail], heads, 1 / max(len(heads), 1))
        if not len(heads):
            matrix[:, tail] = 1 / n
    rank = np.full(n, 1 / n)
    for _ in range(rounds):
        rank = 0.15 / n + 0.85 * matrix @ rank
    return rank


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_odd_graph(laneway: Run, small: Path, tmp_path: Path, devices: str) -> None:
    done = laneway("pagerank", small, "--devices", devices, "--rounds", 7, "--verify", "--output", "r.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against SciPy power iteration" in done.stdout
    with np.load(tmp_path / "work" / "r.npz") as file:
        assert file["rank"].dtype == np.float64
        assert file["rank"] == pytest.approx(dense_ranks(lw.read_graph(small), 7), rel=4e-7)


@pytest.mark.parametrize("partition", [None, metis()])
def test_same_bits_on_any_devices(partition: str | None) -> None:
    graph = lw.generate_kronecker(12, 100_000, symmetric=False, seed=3)
    alone = lw.pagerank(graph, devices="cpu:1")
    assert reference.verify(graph, alone).mismatches == 0
    assert alone.rank.sum() == pytest.approx(1, abs=1e-7)
    for devices in device_lists():
        result = lw.pagerank(graph, devices=devices, partition=partition)
        assert np.array_equal(result.rank, alone.rank)
        assert result.change == alone.change
        assert result.report.carried == result.report.served


def test_tolerance_ends_early(laneway: Run, new_york: Path, tmp_path: Path) -> None:
    options = ["--rounds", 500, "--tolerance", 1e-4, "--devices", "cpu:2", "--json", "r.json", "--verify"]
    done = laneway("pagerank", new_york, *options)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["program"] == "pagerank"
    assert 10 < report["work"]["rounds"] < 500
    assert 0 < report["result"]["change"] < 1e-4
    assert len(report["result"]["highest"]) == 5
    # A share goes once to each device that needs it, and roads hardly cross from one to the other.
    assert 0 < report["messages"]["carried"] < report["work"]["rounds"] * report["graph"]["arcs"] / 100


def test_wrong_ranks_are_named(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.pagerank(graph, devices="cpu:1")
    right = result.rank.copy()
    result.rank.values[1] *= 1 + 1e-6
    result.rank.values[4] += 1e-6
    check = reference.verify(graph, result)
    assert check.mismatches == 2
    assert check.first_mismatch.startswith("vertex 2 has rank ")
    result.rank[:] = right
    assert reference.verify(graph, result).mismatches == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--damping", "1.5"], "damping must be a number from 0 to 1, not 1.5"),
        (["--damping", "nan"], "damping must be a number from 0 to 1, not nan"),
        (["--tolerance", "-1"], "tolerance must be a number of 0 or more, not -1.0"),
        (["--rounds", "-1"], "rounds must be a whole number"),
        (["--partition", "halves"], "--partition must be metis, not halves"),
    ],
)
def test_bad_options(laneway: Run, small: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = laneway("pagerank", small, *options, "--json", "r.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert names(tmp_path / "work") == []


def test_bad_arguments(small: Path, tmp_path: Path) -> None:
    graph = lw.read_graph(small)
    with pytest.raises(lw.UsageError, match="what read_graph gives, not ndarray"):
        lw.pagerank(np.zeros(3))
    with pytest.raises(lw.UsageError, match="damping must be"):
        lw.pagerank(graph, damping="0.85")
    with pytest.raises(lw.UsageError, match="one whole number for each of 6 vertices"):
        lw.pagerank(graph, partition=[0, 1])
    (tmp_path / "empty.gr").write_text("p sp 0 0\n")
    with pytest.raises(lw.UsageError, match="no vertices"):
        lw.pagerank(lw.read_graph(tmp_path / "empty.gr"))

"""PageRank: the command, the function, and what they refuse."""

from __future__ import annotations

import dataclasses
import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import Run, divisions, names
from laneway.references import pagerank as reference
from test_bad_input import assert_refused


def dense_ranks(graph: lw.Graph, rounds: int) -> np.ndarray:
    """Ranks by products with the full matrix; column v says where the rank of v goes."""
    n = graph.vertices
    matrix = np.zeros((n, n))
    for tail in range(n):
        arcs = slice(int(graph.offsets[tail]), int(graph.offsets[tail + 1]))
        weights = graph.weights[arcs].astype(float)
        if weights.sum() == 0:
            matrix[:, tail] = 1 / n
        else:
            np.add.at(matrix[:, tail], graph.heads[arcs], weights / weights.sum())
    rank = np.full(n, 1 / n)
    for _ in range(rounds):
        rank = 0.15 / n + 0.85 * matrix @ rank
    return rank


def as_networkx(graph: lw.Graph) -> Any:
    networkx = pytest.importorskip("networkx")
    made = networkx.MultiDiGraph()
    made.add_nodes_from(graph.id_of(place) for place in range(graph.vertices))
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets.astype(np.int64)))
    for tail, head, weight in zip(tails.tolist(), graph.heads.tolist(), graph.weights.tolist()):
        made.add_edge(graph.id_of(tail), graph.id_of(head), weight=weight)
    return made


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_odd_graph(laneway: Run, small: Path, tmp_path: Path, devices: str) -> None:
    done = laneway("pagerank", small, "--devices", devices, "--rounds", 7, "--verify", "--output", "r.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against SciPy power iteration" in done.stdout
    with np.load(tmp_path / "work" / "r.npz") as file:
        assert file["rank"].dtype == np.float64
        assert file["rank"] == pytest.approx(dense_ranks(lw.read_graph(small), 7), rel=4e-7)


NETWORKX = {
    "as it is": {},
    "coarse": {"tol": 1e-3},
    "fine": {"tol": 1e-9},
    "other alpha": {"alpha": 0.5},
    "arcs alike": {"weight": None},
    "personal": {"personalization": {3: 1, 5: 2.5, 17: 0}},
    "dangling": {"dangling": {1: 1, 40: 3}},
    "other start": {"nstart": {4: 1, 9: 2.5, 200: 0}, "weight": None},
    "both": {"personalization": {2: 1}, "dangling": {7: 1}, "weight": None},
}


@pytest.mark.parametrize("case", NETWORKX)
def test_networkx_has_the_same_ranks(case: str) -> None:
    networkx = pytest.importorskip("networkx")
    graph = lw.generate_kronecker(8, 1500, symmetric=False, max_weight=9, seed=5)  # some vertices have no arcs
    options = NETWORKX[case]
    expected = networkx.pagerank(as_networkx(graph), **options)
    result = lw.pagerank(graph, **options, devices="cpu:2")
    assert result.converged
    assert result.residual < options.get("tol", 1e-6) * graph.vertices
    assert result.rank == pytest.approx([expected[v] for v in range(graph.vertices)], rel=1e-6, abs=1e-12)
    # NetworkX fails where its rounds do not suffice: one fewer than ours do not.
    with pytest.raises(networkx.PowerIterationFailedConvergence):
        networkx.pagerank(as_networkx(graph), **options, max_iter=result.rounds - 1)
    short = lw.pagerank(graph, **options, max_iter=result.rounds - 1, devices="cpu:3")
    assert (short.converged, short.rounds) == (False, result.rounds - 1)
    for each in (result, short):
        check = reference.verify(graph, each)
        assert (check.mismatches, check.first_mismatch) == (0, "")
        assert check.reference.endswith("converged") == each.converged


def test_arguments_have_the_order_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    theirs = inspect.signature(networkx.pagerank).parameters
    ours = list(inspect.signature(lw.pagerank).parameters.values())[: len(theirs) - 2]
    wanted = [each for each in theirs.values() if each.name not in ("backend", "backend_kwargs")]
    assert [each.name for each in ours[1 : len(wanted)]] == [each.name for each in wanted[1:]]
    assert [each.default for each in ours[1 : len(wanted)]] == [each.default for each in wanted[1:]]
    graph = lw.generate_grid(5, 5)
    assert lw.pagerank(graph, 0.5, {3: 1}, devices="cpu:1") == lw.pagerank(
        graph, alpha=0.5, personalization={3: 1}, devices="cpu:2"
    )


def test_rounds_go_on_from_given_ranks() -> None:
    graph = lw.generate_kronecker(8, 1500, symmetric=False, max_weight=9, seed=5)
    half, whole = (lw.pagerank(graph, rounds=rounds, devices="cpu:2").rank for rounds in (6, 12))
    on = lw.pagerank(graph, nstart=half, rounds=6, devices="cpu:3")
    assert on.rank == pytest.approx(whole, rel=1e-6)
    assert lw.pagerank(graph, nstart=whole, rounds=0, devices="cpu:1").rank == pytest.approx(whole / whole.sum())
    again = lw.pagerank(graph, nstart=lw.pagerank(graph, tol=1e-9, devices="cpu:1").rank, tol=1e-9, devices="cpu:1")
    assert (again.converged, again.rounds) == (True, 1)


@pytest.mark.parametrize("partition", [None, *divisions()])
@pytest.mark.parametrize("weight", ["weight", None])
def test_same_bits_on_any_devices(all_devices: list[str], partition: str | None, weight: str | None) -> None:
    graph = lw.generate_kronecker(12, 100_000, symmetric=False, seed=3)
    options = {"weight": weight, "tol": 1e-8, "personalization": np.arange(4096) % 5}
    alone = lw.pagerank(graph, devices="cpu:1", **options)
    assert reference.verify(graph, alone).mismatches == 0
    assert alone.rank.sum() == pytest.approx(1, abs=1e-7)
    for devices in all_devices:
        result = lw.pagerank(graph, devices=devices, partition=partition, **options)
        assert np.array_equal(result.rank, alone.rank)
        assert (result.residual, result.rounds, result.converged) == (alone.residual, alone.rounds, True)
        assert result.report.carried == result.report.served


def test_command_tells_whether_ranks_converge(laneway: Run, new_york: Path, tmp_path: Path) -> None:
    options = ["--tol", 1e-9, "--devices", "cpu:2", "--json", "r.json", "--verify", "--unweighted"]
    done = laneway("pagerank", new_york, *options)
    assert done.returncode == 0, done.stderr
    assert ", converged" in done.stdout and "1 each" in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["program"] == "pagerank"
    assert 10 < report["work"]["rounds"] < 100
    assert report["result"]["converged"] and 0 < report["result"]["residual"] < 1e-9 * 264346
    assert (report["alpha"], report["tol"], report["max_iter"], report["graph"]["weighted"]) == (0.85, 1e-9, 100, False)
    assert len(report["result"]["highest"]) == 5
    # A share goes once to each device that needs it, and roads hardly cross from one to the other.
    assert 0 < report["messages"]["carried"] < report["work"]["rounds"] * report["graph"]["arcs"] / 100
    short = laneway("pagerank", new_york, *options, "--max-iter", report["work"]["rounds"] - 1)
    assert short.returncode == 0, short.stderr
    assert "not converged" in short.stdout
    assert not json.loads((tmp_path / "work" / "r.json").read_text())["result"]["converged"]


def test_numbers_of_vertices_from_files(laneway: Run, small: Path, tmp_path: Path) -> None:
    (tmp_path / "start").write_text("# walks start here\n2 1\n\n5\t0.5  # half as often\n")
    (tmp_path / "dangling").write_text("4 1\n")
    options = ["--personalization", tmp_path / "start", "--dangling", tmp_path / "dangling"]
    done = laneway("pagerank", small, *options, "--devices", "cpu:2", "--verify", "--output", "r.npz")
    assert (done.returncode, done.stderr) == (0, "")
    expected = lw.pagerank(lw.read_graph(small), personalization={2: 2, 5: 1}, dangling=[0, 0, 0, 1, 0, 0])
    with np.load(tmp_path / "work" / "r.npz") as file:
        assert np.array_equal(file["rank"], expected.rank)
    start = laneway(
        *("pagerank", small, "--nstart", tmp_path / "dangling", "--rounds", 1, "--devices", "cpu:2", "--verify"),
        *("--output", "one.npz", "--json", "one.json"),
    )
    assert (start.returncode, start.stderr) == (0, "")
    after_one = lw.pagerank(lw.read_graph(small), nstart={4: 1}, rounds=1)
    with np.load(tmp_path / "work" / "one.npz") as file:
        assert np.array_equal(file["rank"], after_one.rank)
    assert after_one != lw.pagerank(lw.read_graph(small), rounds=1)
    assert json.loads((tmp_path / "work" / "one.json").read_text())["nstart"] == str(tmp_path / "dangling")
    for content, word in (("2\n", ":1: "), ("2 1\n2 1\n", ":2: "), ("2 x\n", ":1: "), ("9 1\n", "9"), ("2 -1\n", "-1")):
        (tmp_path / "start").write_text(content)
        assert_refused(laneway("pagerank", small, *options, "--devices", "cpu:1"), word)
    assert_refused(laneway("pagerank", small, "--dangling", "missing"), "missing: no such file")
    assert_refused(laneway("pagerank", small, "--nstart", tmp_path / "start", "--json", tmp_path / "start"), "start")
    assert (tmp_path / "start").read_text() == content
    (tmp_path / "start").write_text("2 1\n9 1\n")
    assert_refused(laneway("pagerank", small, *options), "vertex 9 is outside 1..6")
    (tmp_path / "empty.gr").write_text("p sp 0 0\n")
    assert_refused(laneway("pagerank", tmp_path / "empty.gr"), "no vertices to rank")


def test_wrong_ranks_are_named(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.pagerank(graph, devices="cpu:1")
    assert reference.verify(graph, result).mismatches == 0
    wrong = result.rank.values.copy()
    wrong[1] *= 1 + 1e-6
    wrong[4] += 1e-6
    check = reference.verify(graph, dataclasses.replace(result, rank=lw.VertexArray(wrong, result.rank.numbering)))
    assert check.mismatches == 2
    assert check.first_mismatch.startswith("vertex 2 has rank ")
    wrong[:] = np.nan
    check = reference.verify(graph, dataclasses.replace(result, rank=lw.VertexArray(wrong, result.rank.numbering)))
    assert check.mismatches == len(wrong)


def test_rounds_that_end_wrong_are_named(small: Path) -> None:
    graph = lw.read_graph(small)
    result = lw.pagerank(graph, tol=1e-3, devices="cpu:1")

    def words(run: lw.PageRankResult, **changes: object) -> str:
        check = reference.verify(graph, dataclasses.replace(run, **changes))
        assert check.mismatches == 1
        return check.first_mismatch

    assert words(result, residual=result.residual / 2).startswith("the last round changes the ranks by 0.00")
    assert words(result, converged=False) == f"the ranks have converged after {result.rounds} rounds"
    longer = lw.pagerank(graph, rounds=result.rounds + 2, tol=1e-3, devices="cpu:1")
    assert (
        words(longer, rules=result.rules)
        == f"the ranks have converged after {result.rounds} rounds, not {longer.rounds}"
    )
    shorter = lw.pagerank(graph, rounds=3, tol=1e-3, devices="cpu:1")
    assert words(shorter, rules=result.rules) == "100 rounds do not converge, and not 3"
    assert words(shorter, converged=True) == "the ranks have not converged after 3 rounds"
    assert words(longer, rules=shorter.rules).startswith("3 rounds were asked for")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "1.5"], "alpha must be a number from 0 to 1, not 1.5"),
        (["--alpha", "nan"], "alpha must be a number from 0 to 1, not nan"),
        (["--tol", "-1"], "tol must be a number of 0 or more, not -1.0"),
        (["--max-iter", "0"], "--max-iter must be a whole number from 1"),
        (["--rounds", "-1"], "rounds must be a whole number"),
        (["--partition", "halves"], "--partition must be metis, dealt or dealt-metis, not halves"),
    ],
)
def test_bad_options(laneway: Run, small: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = laneway("pagerank", small, *options, "--json", "r.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert names(tmp_path / "work") == []


def test_bad_arguments(small: Path) -> None:
    graph = lw.read_graph(small)
    with pytest.raises(lw.UsageError, match="what read_graph gives, not ndarray"):
        lw.pagerank(np.zeros(3))
    with pytest.raises(lw.UsageError, match="alpha must be"):
        lw.pagerank(graph, alpha="0.85")
    with pytest.raises(lw.UsageError, match="weight must be 'weight'"):
        lw.pagerank(graph, weight="cost")
    for wrong, words in (
        ([1, 2], "one number for each of 6 vertices"),
        ({7: 1}, "{name} names no vertex of the graph"),
        ({"a": 1}, "{name} names no vertex of the graph"),
        ({2: float("nan")}, "vertex 2 must be finite"),
        ({2: -1}, "vertex 2 must be finite and 0 or more, not -1"),
        ({}, "0 for all vertices"),
    ):
        for name in ("personalization", "dangling", "nstart"):
            with pytest.raises(lw.UsageError, match=words.format(name=name)):
                lw.pagerank(graph, **{name: wrong})
    with pytest.raises(lw.UsageError, match="one whole number for each of 6 vertices"):
        lw.pagerank(graph, partition=[0, 1])


def test_a_tolerance_that_rounding_never_meets_is_told() -> None:
    pair = lw.Graph.from_edges([(0, 1)], directed=False)
    with pytest.warns(RuntimeWarning, match="tol 1e-12 may never be met, 3.4e-07 always is"):
        unmet = lw.pagerank(pair, tol=1e-12, max_iter=500, nstart={0: 0, 1: 0.3}, devices="cpu:1")
    assert not unmet.converged and 0 < unmet.residual < 6.8e-7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.pagerank(pair, tol=3.4e-7, nstart={0: 0, 1: 0.3}, devices="cpu:1").converged
        assert not lw.pagerank(pair, tol=1e-12, max_iter=5, nstart={0: 0, 1: 0.3}, devices="cpu:1").converged
        lw.pagerank(pair, tol=1e-12, rounds=500, nstart={0: 0, 1: 0.3}, devices="cpu:1")


def test_a_file_of_numbers_is_not_replaced(laneway: Run, small: Path, tmp_path: Path) -> None:
    start = tmp_path / "work" / "start.txt"
    start.parent.mkdir(exist_ok=True)
    start.write_text("1 1\n")
    done = laneway("pagerank", small, "--personalization", start, "--json", start, "--devices", "cpu:1")
    assert done.returncode == 2 and start.read_text() == "1 1\n", done.stderr


def test_what_is_too_far_for_whole_numbers_is_not_wrong() -> None:
    """On a ring whose rank starts at one vertex it falls by alpha an arc, below the unit of ranks in the end."""
    n = 400
    ring = lw.Graph.from_edges(np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1), directed=True)
    result = lw.pagerank(ring, personalization={0: 1}, rounds=1000, devices="cpu:2")
    exact = 0.15 * 0.85 ** np.arange(n) / (1 - 0.85**n)
    assert result.rank.values[200] != pytest.approx(exact[200], rel=1e-6, abs=0)
    assert result.rank.values[300] == 0
    assert np.abs(result.rank.values - exact)[:100] == pytest.approx(0, abs=1e-8)
    check = reference.verify(ring, result)
    assert check.mismatches == 0, check
    spoilt = result.rank.values.copy()
    spoilt[200] *= 2  # what a rank may have lost is less than what it has
    spoilt_result = dataclasses.replace(result, rank=lw.VertexArray(spoilt, result.rank.numbering))
    assert reference.verify(ring, spoilt_result).mismatches == 1
    for_ever = lw.pagerank(ring, alpha=1, rounds=7, devices="cpu:2")
    assert reference.verify(ring, for_ever).mismatches == 0

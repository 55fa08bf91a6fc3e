"""Recursive programs on channels: results against references, commands, and the study of them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run
from laneway.arguments import BUFFER_BYTES
from laneway.programs.recursion import TREES, find_fibonacci
from laneway.references import recursion as references
from laneway.workspace import Workspace

DEVICES = ["cpu:1", "cpu:2", "checked:1"]


@pytest.mark.parametrize("devices", DEVICES)
def test_results_are_those_of_references(devices: str) -> None:
    small = devices.startswith("checked")
    number = lw.fibonacci(9 if small else 16, devices=devices)
    assert number.value == (34 if small else 987)
    assert number.calls == (109 if small else 3193)
    assert lw.queens(5 if small else 8, devices=devices).solutions == (10 if small else 92)
    tolerance = 1 if small else 1e-8
    area = lw.quadrature(tolerance=tolerance, devices=devices)
    assert references.verify_quadrature(area).mismatches == 0
    assert area.intervals % 2 == 1
    random = np.random.default_rng(7)
    keys = random.integers(0, 2**32, 300 if small else 10_000, np.uint32)
    assert np.array_equal(lw.merge_sort(keys, devices=devices).keys, np.sort(keys))
    a, b = random.integers(0, 2**32, (2, 32, 32), np.uint32)
    assert np.array_equal(lw.strassen(a, b, grain=8, devices=devices).product, a @ b)
    assert np.array_equal(lw.strassen(a[:8, :8], b[:8, :8], devices=devices).product, a[:8, :8] @ b[:8, :8])


def test_the_least_width_is_enough() -> None:
    made = lw.fibonacci(15, width=2, devices="cpu:1")
    assert (made.value, made.channels.width) == (610, 2)
    assert made.channels.peak <= 2
    with pytest.raises(lw.UsageError, match="a width of 1 is below the minimum, 2"):
        lw.fibonacci(15, width=1, devices="cpu:1")


def test_warps_keep_nothing_where_channels_have_all_the_memory() -> None:
    alone = lw.fibonacci(15, width=2, memory_bytes=0, devices="cpu:1").channels
    assert (alone.kept, alone.given) == (0, 0)
    assert alone.produced == alone.consumed == 2 * 1973 - 987, "a call or a continuation each"
    kept = lw.fibonacci(15, width=2, devices="cpu:1").channels
    assert kept.produced == alone.produced
    assert 0 < kept.given < kept.kept < kept.produced
    with pytest.raises(lw.UsageError, match="0 bytes for channels are below the minimum"):
        lw.fibonacci(15, memory_bytes=0, devices="cpu:1")


def test_channels_tell_the_shape_of_the_tree_by_depth() -> None:
    number = lw.fibonacci(12, width=1024, memory_bytes=0, devices="cpu:1")
    calls, depth = [12], []
    while calls:
        depth.append(len(calls))
        calls = [n - less for n in calls if n >= 2 for less in (1, 2)]
    function, continuation = number.channels.channels
    assert [level.produced for level in function.levels] == [level.consumed for level in function.levels] == depth
    assert (function.produced, function.dispatches, function.stalls) == (sum(depth), sum(depth), 0)
    # One follows for each call that makes two others, at its depth.
    assert [level.produced for level in continuation.levels] == [deeper // 2 for deeper in depth[1:]]
    assert all(0 < level.peak <= level.produced for level in function.levels)
    assert (function.name, continuation.name) == ("function 0", "continuation 1")


def test_a_tree_of_the_benchmark() -> None:
    found = lw.uts("T1", devices="cpu:2")
    assert (found.nodes, found.leaves, found.depth) == (4130071, 3305118, 10)
    assert references.verify_tree(found).mismatches == 0
    with lw.Session(devices="cpu:2") as session:
        with pytest.raises(lw.UsageError, match="tree must be one of"):
            session.uts("T9")
        again = session.uts("T1", width=512)
        assert (again, again.channels.width) == (found, 512)


@pytest.mark.parametrize(("tree", "levels"), [("T1", 11), ("T2", 82), ("T3L", 17845), ("T3WL", 758578)])
def test_trees_have_levels_for_their_published_depth(tree: str, levels: int) -> None:
    """T3L is deeper than other trees of its shape: told by how many levels have no room, as it takes long."""
    with pytest.raises(lw.UsageError, match=f"1000 bytes for channels are below the minimum, .*: {levels} levels"):
        lw.uts(tree, memory_bytes=1000, devices="cpu:1")


def test_references_notice_wrong_results() -> None:
    made = lw.fibonacci(10, devices="cpu:1")
    assert references.verify_fibonacci(made).mismatches == 0
    wrong = lw.FibonacciResult(made.report, made.channels, 10, 54, made.calls)
    assert references.verify_fibonacci(wrong).first_mismatch == "it is 55, not 54"
    board = lw.QueensResult(made.report, made.channels, 6, 5)
    assert references.verify_queens(board).mismatches == 1
    area = lw.QuadratureResult(made.report, made.channels, 0.0, 1.0, 1e-6, 400.0, 1)
    assert references.verify_quadrature(area).mismatches == 1
    tree = lw.TreeResult(made.report, made.channels, "T3", 4112897, 3599034, 1571)
    assert references.verify_tree(tree).mismatches == 1


def test_results_are_equal_that_answer_the_same() -> None:
    one, other = (lw.queens(6, grain=grain, devices="cpu:1") for grain in (0, 3))
    assert one == other
    assert one != lw.queens(5, devices="cpu:1")
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    "call",
    [
        lambda: lw.fibonacci(91, devices="cpu:1"),
        lambda: lw.fibonacci(-1, devices="cpu:1"),
        lambda: lw.fibonacci(2.5, devices="cpu:1"),  # type: ignore[arg-type]
        lambda: lw.fibonacci(30, memory_bytes=1000, devices="cpu:1"),
        lambda: lw.queens(0, devices="cpu:1"),
        lambda: lw.queens(25, devices="cpu:1"),
        lambda: lw.queens(8, grain=15, devices="cpu:1"),
        lambda: lw.quadrature(tolerance=0.0, devices="cpu:1"),
        lambda: lw.quadrature(end=float("inf"), devices="cpu:1"),
        lambda: lw.merge_sort([[1, 2]], devices="cpu:1"),
        lambda: lw.merge_sort([-1], devices="cpu:1"),
        lambda: lw.merge_sort([1.5], devices="cpu:1"),
        lambda: lw.strassen([[1]], [[1, 2]], devices="cpu:1"),
        lambda: lw.strassen(np.ones((48, 48), int), np.ones((48, 48), int), devices="cpu:1"),
        lambda: lw.uts("T9", devices="cpu:1"),
        lambda: lw.study_forkjoin(["md"], devices="cpu:1"),
        lambda: lw.study_forkjoin(sizes="huge", devices="cpu:1"),
        lambda: lw.study_forkjoin(workers=[0], devices="cpu:1"),
        lambda: lw.study_forkjoin(widths=[8], devices="cpu:1"),
    ],
)
def test_wrong_arguments_are_refused(call: object) -> None:
    with pytest.raises(lw.UsageError):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fibonacci", 17], "1,597"),
        (["queens", 7, "--grain", 2], "40 solutions"),
        (["quadrature", "--tolerance", 1e-4], "intervals"),
        (["sort", "--keys", 5000], "keys/s"),
        (["strassen", "--rows", 32], "32 rows"),
    ],
)
def test_commands_verify(laneway: Run, tmp_path: Path, arguments: list[object], told: str) -> None:
    done = laneway("recursion", *arguments, "--devices", "cpu:1", "--verify", "--json", "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert told in done.stdout
    assert "full" in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["channels"]["dispatches"] == report["channels"]["full_dispatches"] > 0
    assert report["verified"]["mismatches"] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sort", "--keys", -1], "--keys must be a whole number from 0 to 2147483647, not -1"),
        (["sort", "--keys-seed", -1], "--keys-seed must be a whole number from 0 to"),
        (["strassen", "--elements-seed", -1], "--elements-seed must be a whole number from 0 to"),
    ],
)
def test_commands_name_the_option_that_is_wrong(laneway: Run, arguments: list[object], told: str) -> None:
    done = laneway("recursion", *arguments)
    assert done.returncode == 2
    assert told in done.stderr


def test_the_study_writes_what_it_measured(laneway: Run, tmp_path: Path) -> None:
    programs = ("fibonacci", "queens", "sort", "strassen", "quadrature")
    options = ["--devices", "cpu:1", "--runs", 1, "--workers", 1, "--workers", 2, "--width", 64, "--width", 256]
    chosen = [word for program in programs for word in ("--program", program)]  # all but the largest
    done = laneway("study", "forkjoin", *options, *chosen, "--json", "s.json", "--plot", "s.svg")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "s.json").read_text())
    points = [(run["program"], run["sweep"], run["workers"]) for run in report["runs"]]
    assert points == [
        (program, sweep, workers)
        for program in programs
        for sweep, workers in (("workers", 1), ("workers", 2), ("width", 2), ("width", 2))
    ]
    for run in report["runs"]:
        assert len(run["seconds"]) == 1
        assert run["seconds"][0] > 0
        assert min(run["elements"], run["dispatches"]) > 0
        assert run["full_share"] == 1, "a warp of a CPU device is one lane"
        assert 0 < run["peak"] <= run["width"]
        assert run["full_dispatches"] == run["dispatches"]
        assert run["produced"] >= run["elements"] - run["yields"] > 0
        assert run["stalls"] >= run["yields"] >= 0
        assert run["scheduler"] == "each"
        turns = run["idle_turns"] + run["dispatches"]
        assert run["idle_share"] == pytest.approx(run["idle_turns"] / turns)
        if run["sweep"] == "width":
            assert (run["memory_bytes"], run["kept"], run["given"]) == (0, 0, 0), "everything goes through channels"
        else:
            assert run["memory_bytes"] == 64 * 2**20
            assert run["kept"] > 0
    assert [run["width"] for run in report["runs"]][2:4] == [64, 256]
    drawn = (tmp_path / "work" / "s.svg").read_text()
    assert "width of channels" in drawn
    assert "depth, at a width of 256" in drawn
    assert "continuation 1" in drawn
    for run in report["runs"]:
        for name in ("produced", "dispatches", "stalls", "kept"):
            assert sum(one[name] for one in run["channels"]) == run[name], "dispatches of one element each"
        assert max(one["peak"] for one in run["channels"]) == run["peak"]
        if run["sweep"] == "width":
            for one in run["channels"]:
                assert sum(level["produced"] for level in one["levels"]) == one["produced"]
                assert max(level["peak"] for level in one["levels"]) == one["peak"]
    assert "fibonacci 18" in done.stdout
    assert "by width, warps keep nothing" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("fibonacci 18")]
    assert [row[-4] == "none" for row in rows[:4]] == [False, False, True, True]
    widest = next(run for run in report["runs"] if (run["program"], run["width"]) == ("fibonacci", 256))
    for row, one in zip(rows[4:], widest["channels"]):
        assert " ".join(row[2:4]) == one["name"]
        peaks = [level["peak"] for level in one["levels"]]
        assert row[-3:] == [str(peaks.index(max(peaks))), "of", str(len(peaks))]
    assert len(rows) == 6


def test_the_study_by_width_meets_full_channels() -> None:
    """Warps that kept what they produce would hide how narrow channels are."""
    runs = lw.study_forkjoin(["queens"], workers=[4], widths=[24], runs=1, devices="checked:1", sizes="small")
    assert [(run.sweep, run.memory_bytes) for run in runs] == [("workers", 64 * 2**20), ("width", 0)]
    wide, narrow = (run.channels for run in runs)
    assert (wide.yields, wide.stalls) == (0, 0)
    assert narrow.yields > 0
    assert narrow.stalls > 0


def test_a_workspace_of_no_number_of_blocks_has_those_of_its_devices() -> None:
    """The study asks for all blocks of a GPU so."""
    with Workspace("cpu:1", 1, 60, False, BUFFER_BYTES, blocks=0) as workspace:
        assert find_fibonacci(workspace, 10, 1, 0, 2**20, "each").value == 55


def test_the_study_compares_who_decides() -> None:
    programs = ["fibonacci", "queens", "quadrature"]
    who = ["each", "warp", "host"]
    runs = lw.study_forkjoin(programs, workers=[2], widths=[], schedulers=who, runs=1, devices="cpu:1", sizes="small")
    assert [(run.program, run.scheduler) for run in runs] == [(program, one) for program in programs for one in who]
    for run in runs:
        assert (run.channels.kept > 0) == (run.scheduler == "each"), "what warps keep, nobody has ordered"
        assert 0 <= run.channels.idle_share < 1
    with pytest.raises(lw.UsageError, match="scheduler must be one of each, warp, host, not 'warps'"):
        lw.study_forkjoin(programs, schedulers=["warps"], devices="cpu:1")


@pytest.mark.parametrize("scheduler", ["warp", "host"])
def test_one_decides_for_all(scheduler: str) -> None:
    assert lw.fibonacci(12, devices="cpu:2", scheduler=scheduler).value == 144
    assert lw.queens(6, devices="cpu:2", scheduler=scheduler).solutions == 4
    keys = np.random.default_rng(3).integers(0, 2**32, 3000, np.uint32)
    assert np.array_equal(lw.merge_sort(keys, devices="cpu:1", scheduler=scheduler).keys, np.sort(keys))
    a, b = np.random.default_rng(4).integers(0, 2**32, (2, 64, 64), np.uint32)
    assert np.array_equal(lw.strassen(a, b, devices="cpu:1", scheduler=scheduler).product, a @ b)
    area = lw.quadrature(tolerance=1e-3, devices="cpu:2", scheduler=scheduler)
    assert references.verify_quadrature(area).mismatches == 0
    with pytest.raises(lw.UsageError, match="scheduler must be one of"):
        lw.fibonacci(12, devices="cpu:1", scheduler="none")


@pytest.mark.parametrize(("program", "size", "times"), [("queens", 8, 2), ("uts", 4_130_071, 1)])
def test_the_study_of_one_program(program: str, size: int, times: int) -> None:
    runs = lw.study_forkjoin([program], workers=[2], widths=[], runs=times, devices="cpu:1", sizes="small")
    assert [(run.program, run.size, run.workers, len(run.seconds)) for run in runs] == [(program, size, 2, times)]


def test_sizes_of_trees_are_the_published_ones() -> None:
    from laneway import _core
    from laneway.programs.forkjoin_study import SIZES
    from laneway.programs.forkjoin_study import TREES as STUDIED

    assert [_core.published_tree(STUDIED[size]).nodes for size in SIZES["uts"]] == list(SIZES["uts"])


def test_names_of_trees_are_those_of_the_library() -> None:
    from laneway import _core

    assert all(_core.published_tree(name).nodes > 4_000_000 for name in TREES)
    with pytest.raises(lw.UsageError, match=f"there are {', '.join(TREES)}"):
        _core.published_tree("T9")


def test_arrays_of_another_shape_are_told_by_it() -> None:
    with pytest.raises(lw.UsageError, match=r"^keys: whole numbers in one dimension, not int64 of the shape \(1, 2\)$"):
        lw.merge_sort([[1, 2]], devices="cpu:1")
    with pytest.raises(lw.UsageError, match=r"^a: whole numbers in 2 dimensions, not float64 of the shape \(1,\)$"):
        lw.strassen([0.5], [[1]], devices="cpu:1")

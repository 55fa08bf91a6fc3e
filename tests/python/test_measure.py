"""bench/measure.py and bench/compile_times.py: what they run, what they write, and how they compare two builds."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
measured_sets = importlib.import_module("measured_sets")

# A benchmark that takes as many milliseconds as its folder says and writes what it was called with.
PROGRAM = """#!{python}
import json, pathlib, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
name, speed = pathlib.Path(__file__).name, float((pathlib.Path(__file__).parent / "speed").read_text())
if name == "{failing}":
    sys.exit(3)
with open(given["--json"], "a") as out:
    for devices in given.get("--devices", given.get("--pes", "")).split(";"):
        row = {{"benchmark": name, "devices": devices, "host_peak_bytes": 2**21, "device_peak_bytes": 2**20}}
        figures = {{"g_updates_per_s": speed}} if name == "bench_gups" else {{"median_s": 1 / speed}}
        print(json.dumps({{**row, **figures, "given": given["--graph"] if "--graph" in given else ""}}), file=out)
"""


def build(folder: Path, speed: float, failing: str = "") -> Path:
    """A build folder with stand-ins for all benchmarks."""
    (folder / "bench").mkdir(parents=True)
    (folder / "bench" / "speed").write_text(str(speed))
    chosen = measured_sets.Choice(["cuda:0", "cuda:0-1"], 1, False, "cc")
    calls = [
        call for name in [*measured_sets.GRAPHS, *measured_sets.SETS] for call in measured_sets.calls_of(name, chosen)
    ]
    for program in {call.program for call in calls}:
        path = folder / "bench" / program
        path.write_text(PROGRAM.format(python=sys.executable, failing=failing))
        path.chmod(0o755)
    return folder


def measure(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCH / "measure.py", "--devices", "cpu:1;cpu:2", "--small", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def record_of(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def test_every_graph_has_every_program_on_every_list() -> None:
    chosen = measured_sets.Choice(["cuda:0", "cuda:0-1", "cuda:0-3"], 7, False, measured_sets.PROGRAMS)
    whole = {"new-york", "north-west", "grid", "kronecker-21", "kronecker-24", "uniform-24"}
    assert set(measured_sets.GRAPHS) == whole
    for name in whole - {"north-west"}:  # whose file is not everywhere
        searches, programs = measured_sets.calls_of(name, chosen)
        assert searches.program == "bench_shortest_paths" and programs.program == "bench_graphs"
        assert searches.arguments["devices"] == programs.arguments["devices"] == "cuda:0;cuda:0-1;cuda:0-3"
        assert searches.arguments["graph"] == programs.arguments["graph"]
    source = (BENCH / "graphs.cpp").read_text()
    known = source.split("> programs{", 1)[1].split("/// These divide", 1)[0]
    for program in measured_sets.PROGRAMS.split(";"):
        assert f'{{"{program}",' in known
    assert chosen.pes == "1;2;4" and chosen.teams == ["cuda:0-1", "cuda:0-3"]


def test_lists_of_devices_are_counted() -> None:
    counts = {"cpu": 1, "cpu:2": 2, "cuda:0": 1, "cuda:0,1": 2, "cuda:0-3": 4, "cuda:0-1,cpu:1": 3, "checked:3": 3}
    assert {one: measured_sets.devices_of(one) for one in counts} == counts
    alone = measured_sets.Choice(["cuda:0"], 1, True, "cc")
    asked = [call.program for name in measured_sets.SETS for call in measured_sets.calls_of(name, alone)]
    assert "bench_round_trip" not in asked and "bench_symmetric_collectives" not in asked


def test_peers_run_where_there_are_gpus_for_them() -> None:
    def programs(lists: list[str]) -> list[str]:
        chosen = measured_sets.Choice(lists, 1, True, "cc")
        return [call.program for call in measured_sets.calls_of("collectives", chosen)]

    ours = ["bench_collectives", "bench_symmetric_collectives"]
    assert programs(["cpu:1", "cpu:2"]) == ours
    assert programs(["cuda:0", "cuda:0-1"]) == [*ours, "nccl_collectives"]


def test_it_writes_a_record_and_a_table(tmp_path: Path) -> None:
    tree = build(tmp_path / "tree", 10)
    done = measure("--tree", tree, "--sets", "grid,updates", "--out", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    record = record_of(tmp_path / "out.json")
    assert set(record) == {"machine", "date", "commit", "command", "rows"}
    asked = '--sets grid,updates --devices "cpu:1;cpu:2" --runs 7'
    assert record["command"] == f'python bench/measure.py {asked} --programs "{measured_sets.PROGRAMS}" --small'
    programs = [row["benchmark"] for row in record["rows"]]
    assert programs == [p for p in ("bench_shortest_paths", "bench_graphs", "bench_gups") for _ in range(2)]
    assert record["rows"][0]["given"] == "grid:60:40:5950"
    assert record["rows"][0]["command"].startswith("bench_shortest_paths --graph grid:60:40:5950 --source busiest")
    lines = done.stdout.splitlines()
    assert lines[0].split()[0] == "what" and len(lines) == 7
    assert "100 ms" in lines[1] and "1 MiB" in lines[1] and "2 MiB" in lines[1] and "10 G/s" in lines[-1]


def test_two_builds_side_by_side(tmp_path: Path) -> None:
    old, new = build(tmp_path / "old", 10), build(tmp_path / "new", 15)
    words = ("--sets", "grid,updates", "--out", tmp_path / "out.json")
    done = measure("--tree", new, "--beside", old, *words)
    assert done.returncode == 0, done.stderr
    record = record_of(tmp_path / "out.json")
    assert "beside" in record and len(record["rows"]) == 6
    for row in record["rows"]:  # a rate that has grown and a time that has shrunk are the same
        assert row["times_as_fast"] == pytest.approx(1.5)
    assert record["rows"][0]["beside"] == pytest.approx(0.1) and record["rows"][-1]["beside"] == 10
    assert all(line.endswith("1.500") for line in done.stdout.splitlines()[1:])


def test_what_fails_leaves_the_rest(tmp_path: Path) -> None:
    tree = build(tmp_path / "tree", 10, failing="bench_graphs")
    (tree / "bench" / "bench_kmer").unlink()
    done = measure("--tree", tree, "--sets", "grid,kmer,updates", "--out", tmp_path / "out.json")
    assert done.returncode == 1
    programs = {row["benchmark"] for row in record_of(tmp_path / "out.json")["rows"]}
    assert programs == {"bench_shortest_paths", "bench_gups"}
    assert "not whole: bench_graphs, bench_kmer" in done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        (["--sets", "grid,groad"], "there is no set groad"),
        (["--tree", "nowhere"], "nowhere is no build folder with benchmarks"),
        (["--beside", "nowhere"], "nowhere is no build folder with benchmarks"),
    ],
)
def test_what_it_refuses(tmp_path: Path, words: list[str], said: str) -> None:
    done = measure("--tree", build(tmp_path / "tree", 1), "--out", tmp_path / "out.json", *words)
    assert done.returncode == 2 and said in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out.json").exists()


def test_seconds_of_compilers(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    for folder, includes in ((small, ""), (large, "#include <map>\n")):
        (folder / "examples").mkdir(parents=True)
        (folder / "examples" / "one.cpp").write_text(f"{includes}int main() {{}}\n")
    words = ["--sources", large, "--beside", small, "--examples", "one", "--runs", "1", "--out", tmp_path / "out.json"]
    done = subprocess.run(
        [sys.executable, BENCH / "compile_times.py", *words], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = record_of(tmp_path / "out.json")["rows"]
    assert rows[0]["compiler"] == "g++" and rows[0]["example"] == "one"
    assert rows[0]["times_as_long"] == pytest.approx(rows[0]["median_s"] / rows[0]["beside"]) and rows[0]["beside"] > 0
    words[5] = "nothing"
    done = subprocess.run(
        [sys.executable, BENCH / "compile_times.py", *words], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2 and "has no example nothing" in done.stderr.splitlines()[-1]

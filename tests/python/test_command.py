"""The command on good input: right answers, tables, files; progress only on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
import typer
from conftest import COMMAND, SMALL_DISTANCES, SMALL_LEVELS, Run, compressed, device_lists, metis, names
from laneway.app import FILES, app_of
from programs import run_program

PNG = b"\x89PNG"


@pytest.mark.parametrize(("program", "expected"), [("sssp", SMALL_DISTANCES), ("bfs", SMALL_LEVELS)])
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_odd_graph(laneway: Run, small: Path, tmp_path: Path, program: str, expected: list[int], devices: str) -> None:
    done = laneway(program, compressed(small), "--source", 1, "--devices", devices, "--verify", "--output", "d.npz")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "verified" in done.stdout and "yes" in done.stdout
    with np.load(tmp_path / "work" / "d.npz") as file:
        assert file["distance"].dtype == np.int64
        assert file["distance"].tolist() == expected


def test_new_york(laneway: Run, new_york: Path, tmp_path: Path) -> None:
    done = laneway("sssp", new_york, "--source", 1, "--devices", "cpu:2", "--json", "r.json", "--plot", "r.png")
    assert done.returncode == 0, done.stderr
    assert "22798374856756248" in done.stdout
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())
    assert "\x1b" not in done.stdout
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["result"] == {
        "reached": 264346,
        "max": 1440081,
        "sum": 186686642878,
        "checksum": 22798374856756248,
        "distance_unit": "weight",
    }
    messages = report["messages"]
    assert messages["posted"] == messages["direct"] + messages["carried"]
    assert messages["carried"] == messages["served"] == np.sum(report["traffic"]["messages"]) > 0
    assert report["work"]["items"] >= report["work"]["min_items"] == 264346
    assert (tmp_path / "work" / "r.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("devices", device_lists())
@pytest.mark.parametrize("partition", ["ranges", metis()])
def test_new_york_on_any_devices(laneway: Run, new_york: Path, devices: str, partition: str) -> None:
    options = [] if partition == "ranges" else ["--partition", partition]
    done = laneway("sssp", new_york, "--source", 100000, "--devices", devices, *options)
    assert done.returncode == 0, done.stderr
    assert "19241141234772346" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["sssp", "GRAPH", "--source", 1],
        ["bfs", "GRAPH", "--source", 1],
        ["pagerank", "GRAPH"],
        ["color", "GRAPH"],
        ["indegree", "GRAPH"],
        ["cc", "GRAPH"],
        ["triangles", "GRAPH"],
        ["lcc", "GRAPH"],
        ["cdlp", "GRAPH"],
        ["kmeans", "POINTS", "-k", 2],
        ["kmer", "-k", 5, "--simulate", 1000],
        ["gups", "--log2-words", 10],
    ],
    ids=lambda words: words[0],
)
def test_memory_of_buffers(laneway: Run, small: Path, tmp_path: Path, words: list[object]) -> None:
    points = tmp_path / "points.csv"
    points.write_text("0,0\n0,1\n5,5\n5,6\n")
    words = [{"GRAPH": small, "POINTS": points}.get(str(word), word) for word in words]
    words += ["--devices", "cpu:2", "--verify", "--json", "r.json"]
    refused = laneway(*words, "--buffer-bytes", 1000)
    assert (refused.returncode, refused.stdout, len(refused.stderr.splitlines())) == (2, "", 1)
    assert "buffer_bytes = 1000 is too little for 2 PEs" in refused.stderr
    assert names(tmp_path / "work") == []
    done = laneway(*words, "--buffer-bytes", 2**18)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    taken = report["buffer_bytes"]
    assert len(taken) == 2
    assert 2**20 < report["host_peak_bytes"] < 2**40
    assert "host memory" in done.stdout
    held = report["device_peak_bytes"]
    assert len(held) == 2
    assert 2**10 < min(held) <= max(held) < report["host_peak_bytes"], "CPU devices' memory is the host's"
    assert re.search(rf"device memory +{max(held) / 2**20:.1f} MiB on a device at most", done.stdout)
    assert 2**16 < max(taken) <= 2**18
    assert f"{max(taken) / 2**20:.1f} MiB on a device at most" in done.stdout


def test_failed_run_ends_with_one_line(laneway: Run, new_york: Path, tmp_path: Path) -> None:
    done = laneway("sssp", new_york, "--source", 1, "--devices", "cpu:2", "--timeout", 1e-6, "--json", "r.json")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "deadline passed" in done.stderr
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("ids", ["32", "64"])
def test_width_and_directions(laneway: Run, small: Path, tmp_path: Path, ids: str) -> None:
    for options, expected in (
        ([], SMALL_DISTANCES),
        (["--directed"], SMALL_DISTANCES),
        (["--undirected"], [0, 2, 2, 12, -1, -1]),
    ):
        done = laneway("sssp", small, "--source", 1, "--ids", ids, *options, "--verify", "--output", "d.npz")
        assert done.returncode == 0, done.stderr
        with np.load(tmp_path / "work" / "d.npz") as file:
            assert file["distance"].tolist() == expected


@pytest.mark.parametrize(
    ("program", "unit", "greatest"), [("sssp", "weight / 100", 75), ("bfs", "arc", 2), ("sssp", "weight", 4)]
)
def test_unit_of_distances(laneway: Run, tmp_path: Path, program: str, unit: str, greatest: int) -> None:
    (tmp_path / "g.wel").write_text("0 1 1\n1 2 3\n" if unit == "weight" else "0 1 0.5\n1 2 0.25\n")
    done = laneway(program, tmp_path / "g.wel", "--source", 0, "--devices", "cpu:2", "--json", "r.json")
    assert done.returncode == 0, done.stderr
    assert ("1/100 of the file's unit" in done.stdout) == unit.endswith("100")
    result = json.loads((tmp_path / "work" / "r.json").read_text())["result"]
    assert (result["distance_unit"], result["max"]) == (unit, greatest)


def test_full_disk_behind_standard_output(small: Path) -> None:
    with Path("/dev/full").open("w") as full:
        for words in (["sssp", small, "--source", "1", "--devices", "cpu:1"], ["devices"], ["--help"]):
            done = run_program([COMMAND, *words], stdout=full)
            assert done.returncode == 2
            assert done.stderr == "laneway: standard output cannot be written: no space left on device\n"


def test_errors_of_files_are_not_told_as_of_standard_output(small: Path, tmp_path: Path) -> None:
    line = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" sssp "$1" --source 1 --devices cpu:1 --json r.json'
    done = run_program(["sh", "-c", line, COMMAND, small], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "laneway: the system says: no such file or directory\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error_to_tell(small: Path, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        told = run_program([COMMAND, "--help"], environment, stdout=full)
    assert told.stderr == "laneway: standard output cannot be written: no space left on device\n"
    ours, theirs = os.pipe()
    os.close(ours)
    done = run_program([COMMAND, "sssp", small, "--source", "1", "--devices", "cpu:1"], environment, stdout=theirs)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_closed_streams(small: Path, tmp_path: Path, closed: str) -> None:
    line = f'exec "$0" sssp "$1" --source 1 --devices cpu:1 --json "$2" {closed}'
    words = ["sh", "-c", line, COMMAND, small, tmp_path / "r.json"]
    done = run_program(words)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "r.json").read_text())["result"]["reached"] == 4


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_standard_output(small: Path, tmp_path: Path, closed: str) -> None:
    line = f'exec "$0" sssp "$1" --source 1 --devices cpu:1 --json "$2" {closed}'
    done = run_program(["sh", "-c", line, COMMAND, small, tmp_path / "r.json"])
    told = "" if "2>&-" in closed else "laneway: standard output cannot be written: it is closed\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert names(tmp_path) == [small.name]


def test_cache(laneway: Run, small: Path, tmp_path: Path) -> None:
    first = laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--cache", "cache")
    assert first.returncode == 0, first.stderr
    entries = list((tmp_path / "work" / "cache").iterdir())
    assert len(entries) == 1
    again = laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--cache", "cache", "--verify")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("kind", "name"), [("grid", "g.gr"), ("grid", "g.gr.xz"), ("kronecker", "g.gr.gz"), ("uniform", "g.gr")]
)
def test_generate(laneway: Run, tmp_path: Path, kind: str, name: str) -> None:
    sizes = {"grid": [30, 20, "--arcs", 1400], "kronecker": [8, 3000], "uniform": [300, 3000]}[kind]
    done = laneway("generate", kind, *sizes, "--seed", 5, "--output", name)
    assert done.returncode == 0, done.stderr
    read = lw.read_graph(tmp_path / "work" / name)
    made = {
        "grid": lambda: lw.generate_grid(30, 20, arcs=1400, seed=5),
        "kronecker": lambda: lw.generate_kronecker(8, 3000, seed=5),
        "uniform": lambda: lw.generate_uniform(300, 3000, seed=5),
    }[kind]()
    assert names(tmp_path / "work") == [name]
    for view in ("offsets", "heads", "weights"):
        assert np.array_equal(getattr(read, view), getattr(made, view))


def test_output_through_a_link(laneway: Run, small: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "work" / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    assert laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--json", link).returncode == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["program"] == "sssp"


def test_version_help_devices(laneway: Run) -> None:
    assert laneway("--version").stdout == f"laneway {lw.__version__}\n"
    for words in (["--help"], ["sssp", "--help"], ["generate", "grid", "--help"]):
        done = laneway(*words)
        assert done.returncode == 0
        assert "Example" in done.stdout
    listing = laneway("devices")
    assert listing.returncode == 0
    assert "cuda" in listing.stdout and "cpu" in listing.stdout
    paths = laneway("devices", "--paths", "cpu:1").stdout.splitlines()
    assert paths[1].split()[:5] == ["host", "cpu:0", "same", "memory", "yes"] and len(paths) == 3
    assert laneway("devices", "--paths", "cpu:0").returncode == 2


def test_each_command_is_found_in_its_file() -> None:
    assert set(typer.main.get_command(app_of()).commands) == set(FILES)  # type: ignore[attr-defined]
    for name, file in FILES.items():
        alone = typer.main.get_command(app_of([name, "-h"])).commands  # type: ignore[attr-defined]
        assert set(alone) == {other for other in FILES if FILES[other] == file}


def test_progress_bar_on_a_terminal_only(new_york: Path) -> None:
    ours, theirs = pty.openpty()
    words = [COMMAND, "sssp", new_york, "--source", "1", "--devices", "cpu:1"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode(errors="replace")  # as much as a terminal holds, which may end in a letter
    os.close(ours)
    assert done.returncode == 0
    assert "reading the graph" in shown
    assert "\x1b[" in shown


def test_the_package_is_run_as_the_command(laneway: Run, small: Path) -> None:
    words = ["sssp", str(small), "--source", "1", "--devices", "cpu:1", "--verify"]
    for arguments, code in ((words, 0), (["nix"], 2), (["sssp", "none.gr", "--source", "1"], 2), (["--version"], 0)):
        done, expected = run_program([sys.executable, "-m", "laneway", *arguments]), laneway(*arguments)
        assert done.returncode == expected.returncode == code
        assert done.stderr == expected.stderr
        assert done.stdout.split()[:3] == expected.stdout.split()[:3]

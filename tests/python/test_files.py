"""Output files: they replace no input, keep their modes, and appear whole or not at all, on a full disk too."""

from __future__ import annotations

import os
import resource
import stat
import sys
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import COMMAND, SMALL, Run, names
from laneway.pending_file import PendingFile
from programs import run_program
from test_bad_input import assert_refused

LDBC = {"x.v": "1\n2\n3\n", "x.e": "1 2 4\n2 3 1\n", "x.properties": "graph.x.directed = true\n"}
SSSP = ("sssp", "--source", 1, "--devices", "cpu:1")


@pytest.fixture
def ldbc(tmp_path: Path) -> Path:
    """A graph of three files; the path of one of them."""
    for name, content in LDBC.items():
        (tmp_path / "work" / name).write_text(content)
    return tmp_path / "work" / "x.e"


@pytest.mark.parametrize("given", ["x.e", "x.v"])
@pytest.mark.parametrize("output", list(LDBC))
@pytest.mark.parametrize("link", ["", "soft", "hard"])
def test_no_file_of_the_graph_is_replaced(laneway: Run, ldbc: Path, given: str, output: str, link: str) -> None:
    name = output
    if link:
        name = "link"
        (ldbc.parent / name).symlink_to(output) if link == "soft" else os.link(ldbc.parent / output, ldbc.parent / name)
    before = names(ldbc.parent)
    assert_refused(laneway(*SSSP, given, "--json", name), name, "it is another file of this command")
    assert {file: (ldbc.parent / file).read_text() for file in LDBC} == LDBC
    assert names(ldbc.parent) == before


def test_other_files_beside_the_graph_are_free(laneway: Run, ldbc: Path) -> None:
    done = laneway(*SSSP, "x.e", "--output", "x.npz", "--json", "x.json")
    assert done.returncode == 0, done.stderr
    assert laneway(*SSSP, "x.e", "--format", "edge_list", "--json", "x.v").returncode == 0, "not read in this format"


def test_no_other_input_is_replaced(laneway: Run, small: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "reads.fa").write_text(">x\nACGTACGT\n")
    (work / "more.fa").write_text(">x\nACGTACGT\n")
    assert_refused(laneway("kmer", "reads.fa", "more.fa", "-k", 3, "--histogram", "more.fa"), "more.fa")
    (work / "p.csv").write_text("1,2\n3,4\n")
    (work / "start.csv").write_text("1,2\n")
    assert_refused(laneway("kmeans", "p.csv", "-k", 1, "--init", "start.csv", "--json", "start.csv"), "start.csv")
    assert (work / "start.csv").read_text() == "1,2\n"
    assert laneway(*SSSP, small, "--cache", "c").returncode == 0
    (entry,) = (work / "c").iterdir()
    whole = entry.read_bytes()
    assert_refused(laneway(*SSSP, small, "--cache", "c", "--json", entry), "c/")
    assert entry.read_bytes() == whole


def test_a_cache_without_a_name_is_refused(laneway: Run, small: Path, tmp_path: Path) -> None:
    assert_refused(laneway(*SSSP, small, "--cache", ""), "the name of the cache's folder is empty")
    with pytest.raises(lw.UsageError, match="cache"):
        lw.read_graph(small, cache="")
    assert names(tmp_path / "work") == []
    assert laneway(*SSSP, small, "--cache", ".").returncode == 0


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o777])
def test_a_file_that_is_replaced_keeps_its_mode(laneway: Run, small: Path, tmp_path: Path, mode: int) -> None:
    work = tmp_path / "work"
    for name in ("r.json", "p.npy", "g.gr"):
        (work / name).write_text("old")
        (work / name).chmod(mode)
    (work / "link.json").symlink_to("r.json")
    assert laneway(*SSSP, small, "--json", "link.json").returncode == 0
    lw.write_points(np.zeros((2, 2)), work / "p.npy")
    lw.write_graph(lw.read_graph(small), work / "g.gr")
    for name in ("r.json", "p.npy", "g.gr"):
        assert (work / name).read_bytes() != b"old"
        assert stat.S_IMODE((work / name).stat().st_mode) == mode


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o777])
def test_new_files_have_the_mode_of_new_files(small: Path, tmp_path: Path, mask: int) -> None:
    words = [COMMAND, "sssp", small, "--source", "1", "--devices", "cpu:1", "--json", "r.json", "--plot", "r.png"]
    done = run_program(words, cwd=tmp_path, umask=mask)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("r.json", "r.png"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("name", ["g.gr", "g.gr.gz"])
@pytest.mark.parametrize("graph", ["small.gr", None, 5])
def test_a_refused_write_leaves_what_is_there(tmp_path: Path, name: str, graph: object) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(lw.UsageError, match="or what read_graph gives"):
        lw.write_graph(graph, tmp_path / name)  # type: ignore[arg-type]
    assert (tmp_path / name).read_text() == "mine"
    with pytest.raises(lw.UsageError, match="name is empty"):
        lw.write_graph(lw.generate_grid(2, 2), "")


def small_disk() -> None:
    """No file of the process may grow beyond a few bytes, as if the disk were full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["sssp", "small.gr", "--source", 1, "--json"], "r.json"),
        (["sssp", "small.gr", "--source", 1, "--output"], "d.npz"),
        (["sssp", "small.gr", "--source", 1, "--plot"], "r.svg"),
        (["sssp", "small.gr", "--source", 1, "--plot"], "r.png"),
        (["kmer", "reads.fa", "-k", 3, "--histogram"], "h"),
        (["kmeans", "p.csv", "-k", 1, "--output"], "c.npz"),
        (["md", "s.dump", "--steps", 2, "--output"], "f.npz"),
        (["md", "s.dump", "--steps", 2, "--energies"], "e.csv"),
        (["generate", "grid", 30, 30, "--output"], "g.gr"),
        (["generate", "grid", 30, 30, "--output"], "g.gr.gz"),
        (["generate", "grid", 30, 30, "--output"], "g.gr.xz"),
        (["generate", "blobs", 300, 3, 3, "--output"], "p.npy"),
        (["generate", "blobs", 300, 3, 3, "--output"], "p.npz"),
        (["generate", "blobs", 300, 3, 3, "--output"], "b.csv"),
    ],
)
@pytest.mark.usefixtures("fonts")
def test_a_full_disk(tmp_path: Path, words: list[object], output: str) -> None:
    (tmp_path / "small.gr").write_text(SMALL)
    (tmp_path / "reads.fa").write_text(">x\n" + "".join("ACGT"[i % 4] * i + "N" for i in range(1, 60)) + "\n")
    (tmp_path / "p.csv").write_text("1,2\n3,4\n")
    three = lw.Atoms(0, np.array([[0.0, 6]] * 3), np.arange(1, 4), np.diag([1.0, 2, 3]), np.eye(3))
    lw.write_atoms(three, tmp_path / "s.dump")
    before = names(tmp_path)
    devices = [] if words[0] == "generate" else ["--devices", "cpu:1"]
    line = [str(COMMAND), *map(str, words), output, *devices]
    done = run_program(line, cwd=tmp_path, preexec_fn=small_disk)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1 and f"{output}" in done.stderr and "cannot be written" in done.stderr
    made = [name for name in names(tmp_path) if name not in before]
    assert made == []


def test_who_draws_for_the_first_time_on_a_full_disk(small: Path, tmp_path: Path) -> None:
    """The list of fonts that matplotlib makes then cannot be kept either, which is no line beside ours."""
    line = [str(COMMAND), "sssp", str(small), "--source", "1", "--devices", "cpu:1", "--plot", "r.svg"]
    home = {**os.environ, "HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path / "drawing")}
    done = run_program(line, home, cwd=tmp_path, preexec_fn=small_disk)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr == "laneway: r.svg: cannot be written: file too large\n"
    assert names(tmp_path) == ["drawing", "small.gr"]


def test_a_full_disk_keeps_no_graph_but_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "small.gr").write_text(SMALL)
    line = [str(COMMAND), "sssp", "small.gr", "--source", "1", "--devices", "cpu:1", "--cache", "c"]
    done = run_program(line, cwd=tmp_path, preexec_fn=small_disk)
    assert (done.returncode, "reached" in done.stdout) == (0, True), done.stderr
    assert done.stderr.startswith("laneway: warning: the graph is not kept for the next run: c/small.gr.")
    assert done.stderr.count("\n") == 1 and "cannot be written" in done.stderr
    assert names(tmp_path / "c") == []


def test_a_folder_in_the_place_of_a_kept_graph(small: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    lw.read_graph(small, cache=cache)
    [entry] = cache.iterdir()
    entry.unlink()
    entry.mkdir()
    with pytest.warns(RuntimeWarning, match="the graph is not kept for the next run: .*is a directory") as told:
        assert lw.read_graph(small, cache=cache).arcs == 8
    assert [warning.filename for warning in told] == [__file__]


WRITES = """
import resource
import numpy as np
import laneway as lw

graph, points = lw.generate_grid(50, 50), np.zeros((500, 3))
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
for name in ("g.gr", "g.gr.gz", "p.npy", "p.npz", "p.csv"):
    try:
        lw.write_graph(graph, name) if name[0] == "g" else lw.write_points(points, name)
    except lw.UsageError as error:
        print(error)
"""


def test_a_full_disk_is_told_to_scripts_as_well(tmp_path: Path) -> None:
    for name in ("g.gr", "p.npy"):
        (tmp_path / name).write_text("mine")
    words = [sys.executable, "-c", WRITES]
    done = run_program(words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(": cannot be written: ")[0] for line in done.stdout.splitlines()] == [
        "g.gr",
        "g.gr.gz",
        "p.npy",
        "p.npz",
        "p.csv",
    ]
    assert names(tmp_path) == ["g.gr", "p.npy"]
    assert (tmp_path / "g.gr").read_text() == (tmp_path / "p.npy").read_text() == "mine"


def test_lack_of_memory_is_no_full_disk(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        raise lw.SystemError("not enough memory")

    with PendingFile(tmp_path / "g.gr.xz") as pending, pytest.raises(lw.SystemError, match="not enough memory"):
        pending.fill(write)
    assert names(tmp_path) == []

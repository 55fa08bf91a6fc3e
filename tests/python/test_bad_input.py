"""Wrong use and wrong input: exit code 2, one clear line on standard error, nothing written, no traceback."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import shutil
from pathlib import Path

import pytest
from conftest import COMMAND, SMALL, Run, names
from programs import run_program


def noise() -> bytes:
    return random.Random(1).randbytes(4096)


FILES = {
    "empty": (b"", "empty"),
    "noise": (noise(), ""),
    "huge claim": (b"p sp 1000000000000000 3\na 1 2 3\n", "1000000000000000"),
    "vertex 0": (b"p sp 3 1\na 0 2 3\n", "2"),
    "vertex above n": (b"p sp 3 1\na 1 4 3\n", "4"),
    "negative weight": (b"p sp 3 1\na 1 2 -3\n", "-3"),
    "missing weight": (b"p sp 3 1\na 1 2\n", "2"),
    "word for weight": (b"p sp 3 1\na 1 2 far\n", "far"),
    "overflowing weight": (b"p sp 3 1\na 1 2 99999999999999999999\n", "2"),
    "fewer arcs": (b"p sp 3 2\na 1 2 3\n", "2"),
    "more arcs": (b"p sp 3 1\na 1 2 3\na 2 3 4\n", "1"),
    "truncated gz": (gzip.compress(SMALL.encode() * 500)[:-40], ""),
    "truncated xz": (lzma.compress(SMALL.encode() * 500)[:-40], ""),
}


def assert_refused(done: object, *words: str) -> None:
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("laneway: ")
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize("name", FILES)
def test_broken_file(laneway: Run, tmp_path: Path, name: str) -> None:
    content, word = FILES[name]
    path = tmp_path / "broken.gr"
    path.write_bytes(content)
    done = laneway("sssp", path, "--source", 1, "--devices", "cpu:1", "--json", "r.json", "--output", "d.npz")
    assert_refused(done, "broken.gr", word)
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("missing", ["no-such-file.gr", ".", ""])
def test_no_file(laneway: Run, missing: str) -> None:
    assert_refused(laneway("sssp", missing, "--source", 1, "--devices", "cpu:1"), missing or "empty")


@pytest.mark.parametrize("source", ["0", "7", "-1", "99999999999999999999999", "one"])
def test_source_outside_the_graph(laneway: Run, small: Path, source: str) -> None:
    assert_refused(
        laneway("sssp", small, f"--source={source}", "--devices", "cpu:1"), source if source.isdigit() else "source"
    )


@pytest.mark.parametrize(
    "devices", ["cuda:99", "gpu", "cpu:0", "cpu:-1", "cpu:x", ",", "cuda:3-1", "cpu:257", "cpu:9999999999"]
)
def test_devices_that_do_not_exist(laneway: Run, small: Path, devices: str) -> None:
    assert_refused(laneway("bfs", small, "--source", 1, "--devices", devices))


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there are GPUs here")
def test_no_gpus(laneway: Run, small: Path) -> None:
    assert_refused(laneway("bfs", small, "--source", 1, "--devices", "cuda"), "cuda")


@pytest.mark.parametrize("option", ["--output", "--json", "--plot"])
@pytest.mark.parametrize("place", ["no-such-folder/out.png", "folder.png"])
def test_unwritable_output_is_found_before_the_run(
    laneway: Run, small: Path, tmp_path: Path, option: str, place: str
) -> None:
    work = tmp_path / "work"
    (work / "folder.png").mkdir()
    # A deadline too short for any run: the complaint about the output must come first.
    done = laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--timeout", 1e-9, option, place)
    assert_refused(done, place)
    assert names(work) == ["folder.png"]


def test_a_pipe_is_not_replaced_by_a_file(laneway: Run, small: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "work" / "pipe.json"
    os.mkfifo(pipe)
    assert_refused(laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--json", pipe), "pipe.json")
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["small.gr", "link.gr"])
def test_the_graph_is_not_replaced_by_an_output(laneway: Run, small: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "link.gr").symlink_to(small)
    assert_refused(laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--json", tmp_path / name), name)
    assert small.read_text() == SMALL


def test_the_file_behind_standard_output_is_not_replaced(small: Path, tmp_path: Path) -> None:
    with (tmp_path / "table.txt").open("w") as table:
        words = [COMMAND, "sssp", small, "--source", "1", "--devices", "cpu:1", "--json", "/dev/stdout"]
        done = run_program(words, stdout=table)
        assert done.returncode == 2
        assert done.stderr.startswith("laneway: /dev/stdout: cannot be written")
        assert os.path.samestat(os.fstat(table.fileno()), (tmp_path / "table.txt").stat())


def test_output_names_that_the_system_refuses(laneway: Run, small: Path, tmp_path: Path) -> None:
    (tmp_path / "work" / "loop").symlink_to("loop")
    for name in ("loop", "x" * 300, "loop/x"):
        assert_refused(laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--timeout", 1e-9, "--json", name))
    assert names(tmp_path / "work") == ["loop"]


def test_an_existing_output_survives_an_error(laneway: Run, tmp_path: Path) -> None:
    target = tmp_path / "work" / "r.json"
    target.write_text("mine")
    assert_refused(laneway("sssp", "missing.gr", "--source", 1, "--json", "r.json"), "missing.gr")
    assert target.read_text() == "mine"
    assert names(tmp_path / "work") == ["r.json"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--delta", "0"], "--delta must"),
        (["--delta", "-4"], "delta"),
        (["--timeout", "0"], "timeout"),
        (["--timeout", "nan"], "timeout"),
        (["--buffer-bytes", "0"], "--buffer-bytes must"),
        (["--buffer-bytes", str(2**64)], "--buffer-bytes must"),
        (["--seed", "-1"], "seed"),
        (["--partition", "fair"], "fair"),
        (["--format", "gif"], "gif"),
        (["--ids", "33"], "33"),
        (["--ids", str(2**70)], "32 or 64"),
        (["--plot", "run.gif3"], "run.gif3"),
        *((["--plot", name], "must end in .png, .svg or .pdf") for name in ("r.jpg", "r.eps", "r", ".png", "r.png.gz")),
        *((["--output", name], f"{name}: the result's name must end in .npz") for name in ("d.txt", "d", "d.npz.gz")),
        (["--json", "-"], "-: cannot be written: it would not be standard output"),
        *(([option, "-"], "-: ") for option in ("--output", "--plot")),
        (["--json", "same.npz", "--output", "same.npz"], "same"),
        (["--directed", "--undirected"], "--directed and --undirected exclude each other"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_option(laneway: Run, small: Path, tmp_path: Path, arguments: list[str], word: str) -> None:
    assert_refused(laneway("sssp", small, "--source", 1, "--devices", "cpu:1", *arguments), word)
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("arguments", [["sssp"], ["fly"], ["sssp", "a.gr"], ["generate", "grid", "4"]])
def test_wrong_command(laneway: Run, arguments: list[str]) -> None:
    assert_refused(laneway(*arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["grid", 0, 4],
        ["grid", -4, 4],
        ["grid", 9, 9, "--keep", 2],
        ["kronecker", 40, 4],
        ["kronecker", 4, 5],
        ["uniform", 0, 0],
        ["uniform", 2**32, 4],
        ["uniform", 9, 5],
    ],
)
def test_impossible_graph(laneway: Run, tmp_path: Path, arguments: list[object]) -> None:
    assert_refused(laneway("generate", *arguments, "--output", "g.gr"))
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("words", [["filter", "x > 1"], ["kmeans", "-k", 2], ["md", "--steps", 5]])
def test_binary_files_are_no_text(laneway: Run, tmp_path: Path, words: list[object]) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(noise())
    done = laneway(words[0], path, *words[1:], "--devices", "cpu:1")
    assert_refused(done)
    assert done.stderr == f"laneway: {path}: is no text\n"


@pytest.mark.parametrize(
    "words",
    [["bfs", "g.gr", "--source", 1, "--devices", "cpu:1", "--plot", "p.png"], ["report", "t.json", "-o", "t.html"]],
)
def test_a_backend_of_matplotlib_that_is_none(tmp_path: Path, words: list[object]) -> None:
    """It is told before the run."""
    done = run_program([COMMAND, *words], {**os.environ, "MPLBACKEND": "nope"}, cwd=tmp_path)
    assert_refused(done)
    assert done.stderr == "laneway: the variable MPLBACKEND is 'nope', which is no backend of matplotlib\n"

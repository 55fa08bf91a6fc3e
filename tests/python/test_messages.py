"""What messages and tables say, and in which shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, names


@pytest.mark.parametrize(
    "words",
    [
        ["sssp", "nix", "--source", 1],
        ["bfs", "nix.e", "--source", 1],
        ["pagerank", "nix"],
        ["color", "nix"],
        ["indegree", "nix"],
        ["kmeans", "nix", "-k", 2],
        ["kmeans", "nix.npy", "-k", 2],
        ["kmer", "nix", "-k", 5],
        ["md", "nix", "--steps", 1],
        ["sssp", "GRAPH", "--source", 1, "--json", "nix/r.json"],
        ["sssp", "GRAPH", "--source", 1, "--output", "nix/d.npz"],
        ["generate", "grid", 4, 4, "--output", "nix/g.gr"],
        ["generate", "blobs", 4, 2, 1, "--output", "nix/p.npy"],
    ],
    ids=lambda words: "-".join(str(word) for word in words[:2]),
)
def test_no_such_file_is_spelt_in_one_way(laneway: Run, small: Path, tmp_path: Path, words: list[object]) -> None:
    done = laneway(*(small if word == "GRAPH" else word for word in words))
    assert done.returncode == 2
    name = next(str(word) for word in words if str(word).startswith("nix"))
    what = ": cannot be written" if "/" in name else ""
    assert done.stderr == f"laneway: {name}{what}: no such file or directory\n"
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("command", ["sssp", "kmer"])
def test_help_names_what_checked_devices_take(laneway: Run, command: str) -> None:
    text = re.sub(r"[│\s]+", " ", laneway(command, "--help").stdout)
    for option, words in (
        ("--devices", "checked:2: CPU devices for tests; --seed interleaves their lanes"),
        ("--seed", "Of checked devices: which interleaving"),
        ("--timeout", "on checked devices one is ten million steps"),
    ):
        assert re.search(f" {option} <[a-z]+> [^<]*{words}", text), option


def test_times_say_of_what(laneway: Run, small: Path) -> None:
    table = laneway("sssp", small, "--source", 1, "--devices", "cpu:1", "--verify").stdout
    assert re.search(r"^work items .* done, [\d.]+ times the least possible, 4$", table, re.MULTILINE)
    assert re.search(r"^verified .*, which took [\d.]+ \S+, [\d.]+ times as long as the run$", table, re.MULTILINE)


def test_long_names_do_not_wrap_in_a_pipe(laneway: Run, small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    for part in ("a folder whose name has words, " * 8, "deeper " * 20):
        folder = folder / part.strip()
    folder.mkdir(parents=True)
    path = folder / "graph.gr"
    path.write_bytes(small.read_bytes())
    done = laneway("sssp", path, "--source", 1, "--devices", "cpu:1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"sssp {path} from vertex 1"
    assert lines[1].startswith("devices ")

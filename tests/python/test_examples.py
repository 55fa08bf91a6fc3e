"""The worked examples do what the documents show."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

EXAMPLE = ROOT / "examples" / "shortest_paths.py"


def start(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(EXAMPLE), *(str(argument) for argument in arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3"])
def test_new_york(new_york: Path, devices: str) -> None:
    done = start(new_york, 1, devices)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "264,346 vertices, 733,846 arcs, 264,346 reached"
    assert lines[1].endswith("farthest 1,440,081, sum 186,686,642,878")
    assert lines[2].startswith("cpu:0: " if devices == "cpu:1" else "cpu:0, cpu:1, cpu:2: ")
    assert lines[2].endswith(", 0 carried and served") == (devices == "cpu:1")
    assert lines[4] == "farthest by number of arcs: 619"


def test_small(small: Path) -> None:
    done = start(small, 1, "checked:2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 vertices, 8 arcs, 4 reached\nmedian distance 4, farthest 14, sum 22\n")


@pytest.mark.parametrize("arguments", [("missing.gr",), ("{small}", "nine"), ("{small}", "1", "cpu:none")])
def test_refusals(small: Path, arguments: tuple[str, ...]) -> None:
    done = start(*(argument.format(small=small) for argument in arguments))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("shortest_paths.py: ")


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_dataflow(devices: str) -> None:
    text = ROOT / "README.md"
    words = [sys.executable, str(ROOT / "examples" / "dataflow.py"), str(text), devices]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    wanted = Counter(min(len(word), 30) for word in text.read_bytes().split())
    assert done.stdout.splitlines() == [
        f"{wanted[length]:6,} words of {length}{' or more' if length == 30 else ''}" for length in sorted(wanted)
    ]


def test_mandelbrot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = [sys.executable, str(ROOT / "examples" / "mandelbrot.py")]
    picture = tmp_path / "rows.png"
    done = subprocess.run([*words, str(picture), "cpu:2", "90"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    done = subprocess.run([*words, str(picture), "cpu:2", "many"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("mandelbrot.py: ")
    assert done.stderr.count("\n") == 1

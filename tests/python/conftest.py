"""What the Python tests share: small graphs, the New York network, and the command as users start it."""

from __future__ import annotations

import gzip
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Callable

import laneway as lw
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).parent / "laneway"

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = """c two components, a self-loop, parallel arcs, a zero weight
p sp 6 8
a 1 2 7
a 1 2 4
a 2 3 0
a 3 3 5
a 3 1 2
a 2 4 10
a 5 6 1
a 1 4 100
"""
SMALL_DISTANCES = [0, 4, 4, 14, -1, -1]
SMALL_LEVELS = [0, 1, 2, 1, -1, -1]


def device_lists() -> list[str]:
    """Device lists that must all give the same answer: CPU devices, and the GPUs of this machine."""
    gpus = sum(device.usable and device.name.startswith("cuda:") for device in lw.devices())
    lists = ["cpu:1", "cpu:2", "cpu:7"]
    if gpus:
        lists += [f"cuda:0-{last}" for last in range(gpus)] + ["cuda:0,cpu:2"]
    return lists


def metis() -> object:
    """The parameter "metis", left out where pymetis is not installed."""
    missing = importlib.util.find_spec("pymetis") is None
    return pytest.param("metis", marks=pytest.mark.skipif(missing, reason="pymetis is not installed"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A graph with every oddity that is no error."""
    path = tmp_path / "small.gr"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def new_york() -> Path:
    return ROOT / "data" / "USA-road-d.NY.gr.gz"


@pytest.fixture
def laneway(tmp_path: Path) -> Run:
    """Runs the installed command in an empty folder, `work`, with its outputs in pipes."""
    work = tmp_path / "work"
    work.mkdir()

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [str(COMMAND), *(str(argument) for argument in arguments)]
        environment = {**os.environ, "COLUMNS": "80"}
        return subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, timeout=120)

    return run


def compressed(path: Path) -> Path:
    """The file beside itself as .gz."""
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())

"""What the Python tests share: small graphs, the New York network, and the command as users start it."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable

import entry_points
import laneway as lw
import pytest
from forks import Forks

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).parent / "laneway"
GPUS = sum(device.usable and device.name.startswith("cuda:") for device in lw.devices())

entry_points.declare()  # before a test imports NetworkX, which reads them once

# Background jobs of a shell ignore interrupts, those of nohup hangups, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

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
READS = b"@r0\nACGTACGTNACGTA\n+\nIIIIIIIIIIIIII\n@r1\nacgtt\n+r1\n@@@@@\n"
SMALL_DISTANCES = [0, 4, 4, 14, -1, -1]
SMALL_LEVELS = [0, 1, 2, 1, -1, -1]


def device_lists() -> list[str]:
    """Device lists that must all give the same answer: CPU devices, and the GPUs of this machine. A test that goes
    through all of them by itself takes the fixture `all_devices`."""
    lists = ["cpu:1", "cpu:2", "cpu:7"]
    if GPUS:
        lists += [f"cuda:0-{last}" for last in range(GPUS)] + ["cuda:0,cpu:2"]
    return lists


@pytest.fixture
def all_devices() -> list[str]:
    return device_lists()


def lock_of(what: str) -> Path:
    """A file that is locked by the process that has `what`, as pytest-xdist runs tests side by side."""
    folder = Path(tempfile.gettempdir()) / f"laneway-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / hashlib.sha256(f"{ROOT} {what}".encode()).hexdigest()[:16]


@contextmanager
def alone(what: str) -> Iterator[None]:
    """While it lasts no other process of these tests has `what`."""
    with lock_of(what).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def fonts() -> None:
    """matplotlib's list of fonts, which the first process that draws makes, in seconds, and keeps: for tests whose
    commands could not keep it."""
    with alone("matplotlib's fonts"):
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True, timeout=240)


@pytest.fixture(autouse=True)
def one_at_a_time_on_gpus(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests on GPUs run one after another: processes would only take turns there."""
    item = request.node
    devices = item.callspec.params.get("devices", "") if hasattr(item, "callspec") else ""
    if GPUS and ("cuda:" in str(devices) or "all_devices" in request.fixturenames):
        with alone("GPUs"):
            yield
    else:
        yield


def metis(division: str = "metis") -> object:
    """The parameter "metis" or another of METIS, left out where pymetis is not installed."""
    missing = importlib.util.find_spec("pymetis") is None
    return pytest.param(division, marks=pytest.mark.skipif(missing, reason="pymetis is not installed"))


def divisions() -> list[object]:
    """All divisions of a graph that have a name, as parameters."""
    return [metis(), "dealt", metis("dealt-metis")]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A graph with every oddity that is no error."""
    path = tmp_path / "small.gr"
    path.write_text(SMALL)
    return path


@pytest.fixture
def reads(tmp_path: Path) -> Path:
    """Two reads in a FASTQ file."""
    path = tmp_path / "reads.fq"
    path.write_bytes(READS)
    return path


@pytest.fixture(scope="session")
def new_york() -> Path:
    return ROOT / "data" / "USA-road-d.NY.gr.gz"


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    ready = Forks(COMMAND, deadline_s=120)
    yield ready
    ready.end()


@pytest.fixture
def laneway(tmp_path: Path, forks: Forks) -> Run:
    """Runs the command in an empty folder, `work`, with its outputs in pipes. Tests of how it starts use `COMMAND`."""
    work = tmp_path / "work"
    work.mkdir()

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return forks.run([str(argument) for argument in arguments], work, {**os.environ, "COLUMNS": "80"})

    return run


@pytest.fixture(params=[False, True], ids=["", "isolated"])
def isolate(request: pytest.FixtureRequest) -> bool:
    """Whether pools run in a process of their own."""
    return bool(request.param)


@pytest.fixture
def pool(isolate: bool) -> Iterator[lw.TaskPool]:
    """A pool of one CPU device."""
    with lw.TaskPool("cpu:1", timeout=100, isolate=isolate) as made:
        yield made


@pytest.fixture
def ctx() -> Iterator[lw.flow.Context]:
    """A dataflow of two CPU devices."""
    with lw.flow.Context("cpu:2", timeout=20) as made:
        yield made


def compressed(path: Path) -> Path:
    """The file beside itself as .gz."""
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def rest_of(terminal: int) -> str:
    """What is left to read of programs that have ended: it comes in parts, and behind the last there is an error."""
    read = b""
    with suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            read += part
    return read.decode(errors="replace")


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())

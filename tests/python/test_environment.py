"""Surroundings that are not as a program hopes: signals, little memory, odd names, plain ASCII."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import COMMAND, SMALL, Run, names
from laneway.outputs import Outputs
from laneway.pending_file import PendingFile
from programs import run_program

# Uses what is left below a limit of its own address space; an exception of the package is as good as a result.
LITTLE_MEMORY = """
import re, resource, sys
from pathlib import Path
import laneway as lw

graph = lw.read_graph(sys.argv[1])
kib = int(re.search(r"VmSize:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
limit = kib * 1024 + int(sys.argv[2]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    print(lw.sssp(graph, 1, devices="cpu:48", timeout=20).checksum)
except lw.Error as error:
    print(error)
"""


@pytest.mark.parametrize("mebibytes", [40, 90, 150, 250, 400])
def test_little_memory(small: Path, mebibytes: int) -> None:
    words = [sys.executable, "-c", LITTLE_MEMORY, small, str(mebibytes)]
    done = run_program(words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "76\n" or "memory" in done.stdout or "thread" in done.stdout


COPY = """
import copy, re, resource, sys
from pathlib import Path
import numpy as np
import laneway as lw

graph = lw.Graph.from_csr([0, 8_000_000], np.zeros(8_000_000, np.int64), np.full(8_000_000, 7), names=["a"])
kib = int(re.search(r"VmSize:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
limit = kib * 1024 + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    copy.copy(graph)
except (MemoryError, lw.SystemError):
    print("no memory")
"""


@pytest.mark.parametrize("mebibytes", [16, 32, 44, 56, 72])  # each of the copies that are made fails in one
def test_a_copy_with_little_memory(mebibytes: int) -> None:
    words = [sys.executable, "-c", COPY, str(mebibytes)]
    done = run_program(words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no memory\n", "")


def open_for_writing(pipe: Path, reader: subprocess.Popen[str]) -> int:
    """The file number of a named pipe, when somebody reads from it."""
    while True:
        try:
            opened = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # a plain one waits for ever where the reader has ended
        except OSError:
            assert reader.poll() is None, reader.communicate()
            time.sleep(0.001)  # between two looks
        else:
            os.set_blocking(opened, True)
            return opened


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_nothing_behind(new_york: Path, tmp_path: Path, number: signal.Signals) -> None:
    pipe = tmp_path.parent / f"{tmp_path.name}.gr"
    os.mkfifo(pipe)
    words = [COMMAND, "sssp", pipe, "--source", "1", "--devices", "checked:3", "--json", "r.json"]
    started = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with open(open_for_writing(pipe, started), "wb", buffering=0) as graph:  # when it reads, its outputs are open
        assert len(names(tmp_path)) == 1
        graph.write(gzip.decompress(new_york.read_bytes())[: 1 << 16])
        started.send_signal(number)
        output, errors = started.communicate(timeout=30)
    assert started.returncode == 128 + number
    assert output == ""
    assert errors == f"laneway: {'interrupted' if number == signal.SIGINT else f'ended by {number.name}'}\n"
    assert names(tmp_path) == []


def test_a_signal_as_a_file_is_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close = os.close

    def interrupted(file: int) -> None:
        close(file)
        if names(tmp_path):
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt), PendingFile(tmp_path / "g.gr"):
        pass
    assert names(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), ExitStack() as stack:
        Outputs(None, tmp_path / "r.json", None).open(stack)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["new\nline.gr", os.fsdecode(b"byte\xff.gr"), "$\\frac$[bold]x.gr"])
def test_odd_names(laneway: Run, tmp_path: Path, name: str) -> None:
    missing = laneway("sssp", name, "--source", 1)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert ".gr: " in missing.stderr
    (tmp_path / "work" / name).write_text(SMALL)
    done = laneway("sssp", name, "--source", 1, "--devices", "cpu:1", "--plot", "r.svg", "--json", "r.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(".gr from vertex 1")


def test_plain_ascii(small: Path) -> None:
    words = [COMMAND, "sssp", small, "--source", "1", "--devices", "cpu:1", "--verify"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, capture_output=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"76" in done.stdout and done.stdout.isascii()


@pytest.mark.parametrize("size", ["2", "", "x"])
def test_a_job_of_several_processes(laneway: Run, small: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    for name, value in {"SIZE": size, "RANK": "0", "JOB": f"of_{os.getpid()}", "JOB_TIMEOUT": "1"}.items():
        monkeypatch.setenv(f"LANEWAY_{name}", value)
    done = laneway("bfs", small, "--source", 1, "--devices", "cpu:1")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"LANEWAY_SIZE is '{size}'" in done.stderr and "unset" in done.stderr

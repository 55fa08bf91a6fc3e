"""Signals at any moment: the command leaves nothing half done, and scripts go on as if a call had never been made."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import laneway as lw
import pytest
from conftest import COMMAND, ROOT, names, rest_of

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STORM = ROOT / "tools" / "signal_storm.py"
sys.path.insert(0, str(STORM.parent))
from signal_storm import catches_signals  # noqa: E402


def wait_for(event: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Returns when the event has come, or the process has ended without it."""
    while not event() and process.poll() is None:
        time.sleep(0.0005)  # between two looks


def start(folder: Path, *arguments: object, **options: object) -> subprocess.Popen[str]:
    words = [str(COMMAND), *(str(argument) for argument in arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(words, cwd=folder, text=True, **pipes)  # type: ignore[call-overload, no-any-return]


def line_of(number: signal.Signals) -> str:
    return f"laneway: {'interrupted' if number == signal.SIGINT else f'ended by {number.name}'}\n"


def test_a_storm_of_signals() -> None:
    words = [sys.executable, str(STORM), "--runs", "12", "--seed", "7000"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_that_takes_time_is_loaded_before_signals_are_caught() -> None:
    script = "import sys, laneway.cli; print(*(name.partition('.')[0] for name in sys.modules)); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    packages, modules = (set(line.split()) for line in done.stdout.splitlines())
    assert packages.isdisjoint({"numpy", "scipy", "typer", "rich"})
    assert {name for name in modules if name.startswith("laneway.")} == {"laneway.cli", "laneway.signals"}


@pytest.mark.parametrize("number", CAUGHT)
def test_signals_before_anything_is_loaded(tmp_path: Path, number: signal.Signals) -> None:
    os.mkfifo(tmp_path / "graph")  # whose writer does not come, so that a signal that comes late for it still comes
    started = start(tmp_path, "sssp", "graph", "--source", 1, "--devices", "cpu:1", "--json", "r.json")
    wait_for(lambda: catches_signals(started), started)
    started.send_signal(number)
    output, errors = started.communicate(timeout=60)
    assert (started.returncode, output, errors) == (128 + number, "", line_of(number))
    assert "r.json" not in names(tmp_path)


def test_what_the_caller_ignores_stays_ignored(small: Path, tmp_path: Path) -> None:
    def as_nohup_does() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    started = start(tmp_path, "generate", "grid", 300, 300, "--output", "g.gr.xz", preexec_fn=as_nohup_does)
    wait_for(lambda: catches_signals(started), started)
    started.send_signal(signal.SIGHUP)
    assert started.communicate(timeout=60)[1] == ""
    assert started.returncode == 0


@pytest.mark.parametrize("number", CAUGHT)
def test_a_signal_after_the_outputs_are_complete_changes_nothing(
    small: Path, tmp_path: Path, number: signal.Signals
) -> None:
    ours, theirs = os.pipe()
    room = fcntl.fcntl(theirs, fcntl.F_GETPIPE_SZ)
    os.write(theirs, b"x" * (room - 1))  # the table does not fit: the command waits for a reader
    started = start(tmp_path, "sssp", small, "--source", 1, "--devices", "cpu:1", "--json", "r.json", stdout=theirs)
    os.close(theirs)
    wait_for((tmp_path / "r.json").exists, started)
    for _ in range(3):
        started.send_signal(number)
    with os.fdopen(ours, "rb") as reader:
        table = reader.read()[room - 1 :].decode()
    assert (started.wait(timeout=60), started.stderr.read()) == (0, "")  # type: ignore[union-attr]
    assert "checksum" in table and json.loads((tmp_path / "r.json").read_text())["program"] == "sssp"


def test_a_terminal_gets_its_cursor_back(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    os.mkfifo(tmp_path / "graph")  # whose writer does not come: the command waits, and its bar is there
    words = ["bfs", "graph", "--source", 1, "--devices", "cpu:1", "--json", "r.json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    started = start(tmp_path, *words, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    shown = ""
    while "reading the graph" not in shown:
        shown += os.read(ours, 4096).decode(errors="replace")
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=60) == 143
    shown += rest_of(ours)
    os.close(ours)
    hidden, back = "\x1b[?25l", "\x1b[?25h"
    assert hidden in shown and shown.rindex(back) > shown.rindex(hidden)
    assert shown.endswith(f"\r\x1b[2K{back}laneway: ended by SIGTERM\r\n")
    assert names(tmp_path) == ["graph"]


def test_a_signal_while_the_cache_is_written(tmp_path: Path) -> None:
    lw.write_graph(lw.generate_grid(600, 600, keep=1), tmp_path / "grid.gr")
    cache = tmp_path / "cache"
    for number in CAUGHT:
        # Goes on for long behind the cache, so that a signal that comes late for it still comes.
        rounds = ["--rounds", 1_000_000, "--devices", "cpu:1"]
        started = start(tmp_path, "pagerank", "grid.gr", *rounds, "--cache", "cache")
        wait_for(lambda: cache.exists() and names(cache), started)
        started.send_signal(number)
        _, errors = started.communicate(timeout=60)
        assert (started.returncode, errors) == (128 + number, line_of(number))
        assert all(name.endswith(".csr") for name in names(cache))
        for entry in cache.iterdir():
            entry.unlink()


# Tells when it is about to call, what it gets, and what is left of the call.
SCRIPT = """
import signal, sys, threading
from contextlib import suppress
from pathlib import Path
import laneway as lw
import laneway.api  # with the modules of all calls: what loads one goes on behind the signal
import numpy as np

EXITING = 4  # of the flags that the system shows for a thread

def threads_here():
    # One that has been joined may stay on the list for a while, and exits.
    count = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just been taken off
            flags = int((task / "stat").read_text().rpartition(")")[2].split()[6])
            count += not flags & EXITING
    return count

path, call = sys.argv[1], sys.argv[2]
places = np.stack(np.meshgrid(*[np.arange(6) * 1.2] * 3), axis=-1).reshape(-1, 3)
atoms = lw.Atoms(0, np.array([[0, 7.2]] * 3), np.arange(1, 217), places, np.zeros((216, 3)))
graph = lw.read_graph(path)
threads = threads_here()
big = lw.generate_grid(400, 400, keep=1)
try:
    print("calling beside", threads, flush=True)
    eval(call)
    print("done")
except KeyboardInterrupt:
    left = threads_here() - threads
    # The thread that has imported the package may still have been there before.
    print("caught", max(left, 0), lw.bfs(graph, 1, devices="cpu:2").reached, flush=True)
    sys.exit(3)
"""

CALLS = {
    "threads": "lw.gups(log2_words=24, updates=2**40, devices='cpu:2', timeout=1e6)",
    "fibers": "lw.bfs(big, 0, devices='checked:2', timeout=1e6)",
    "tasks": "lw.md(atoms, 2**60, replicas=3, devices='cpu:2', timeout=1e6)",
    "tasks of fibers": "lw.md(atoms, 2**60, replicas=3, devices='checked:2', timeout=1e6)",
    "pipe": "lw.read_graph(path + '.pipe')",
    "generator": "lw.generate_kronecker(24, 2**31)",
    "reference": "lw._core.gups_reference(10, 2**45)",
    "styles": "lw.compare_styles(['gups'], log2_messages=12, runs=10**6, devices='cpu:2', timeout=1e6)",
}


def threads_before_call(started: subprocess.Popen[str]) -> int:
    """How many threads the script has; returns when it is about to call."""
    assert started.stdout is not None
    word, _, threads = started.stdout.readline().split()
    assert word == "calling"
    return int(threads)


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_leaves_a_call_and_nothing_of_it_goes_on(small: Path, tmp_path: Path, name: str) -> None:
    os.mkfifo(f"{small}.pipe")
    words = [sys.executable, "-c", SCRIPT, str(small), CALLS[name]]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    threads_before_call(started)
    writer = os.open(f"{small}.pipe", os.O_RDWR)  # which says nothing
    started.send_signal(signal.SIGINT)
    output, errors = started.communicate(timeout=100)
    os.close(writer)
    assert (started.returncode, output, errors) == (3, "caught 0 4\n", "")


@pytest.mark.parametrize("read", [lw.read_graph, lw.read_sequences])
def test_ctrl_c_as_arguments_are_converted_is_no_other_error(
    read: Callable[[str], object], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path) -> str:
        raise KeyboardInterrupt

    sequences = tmp_path / "a.fa"
    sequences.write_text(">a\nACGT\n")
    name = str(small if read is lw.read_graph else sequences)
    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(type(small), "__fspath__", interrupted)
        read(name)


INTERRUPTED_AS_IT_LOADS = """
import os, signal, sys
import laneway as lw

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == WHERE and self in sys.meta_path:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

assert "numpy" not in sys.modules
sys.meta_path.insert(0, Interrupt())
try:
    lw.Graph
    print("went on")
except KeyboardInterrupt:
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, end=" ")
print(lw.bfs(lw.Graph.from_edges([(0, 1)]), 0, devices="cpu:1").distance.tolist())
"""


@pytest.mark.parametrize("where", ["laneway._core", "datetime", "laneway.edges"])  # the second is loaded by NumPy's C
def test_ctrl_c_as_the_package_loads_is_neither_lost_nor_another_error(where: str) -> None:
    script = f"WHERE = {where!r}" + INTERRUPTED_AS_IT_LOADS
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True [0, 1]\n", "")


def test_a_script_that_catches_ctrl_c_ends_as_it_wants(small: Path) -> None:
    words = [sys.executable, "-c", SCRIPT, str(small), CALLS["threads"]]
    for run in range(8):
        started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        idle, tasks = threads_before_call(started), Path(f"/proc/{started.pid}/task")
        if run % 2:  # when the devices have begun, each with a thread of its own, and else at once
            wait_for(lambda tasks=tasks, idle=idle: len(list(tasks.iterdir())) > idle, started)  # type: ignore[misc]
        started.send_signal(signal.SIGINT)
        assert (started.communicate(timeout=100)[1], started.returncode) == ("", 3)


def test_a_handler_of_the_script_runs_during_a_call() -> None:
    class EnoughError(Exception):
        pass

    def handler(number: int, _: object) -> None:
        raise EnoughError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(EnoughError):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            lw.gups(log2_words=10, updates=2**40, devices="cpu:1", timeout=1e6)
    finally:
        signal.signal(signal.SIGALRM, before)

"""Sends random signals to runs of the command, and checks that they leave nothing behind.

Usage: signal_storm.py [--runs N] [--seed N]

A run is one command in an empty folder that gets 1 to 6 of SIGINT, SIGTERM and SIGHUP, at random moments or as soon as
one of its files appears. Whatever comes, it ends with all its outputs and exit code 0, or with none of them, the exit
code of one of the signals and one line; no other file stays, and entries of caches are whole. Prints each breach with
the seed of its run; exit code 1 if there is one. A SIGINT is sent only once the command catches signals: before that
Python itself is starting, which answers with a traceback of its own.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

COMMAND = Path(sys.executable).parent / "laneway"
KINDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DEADLINE_S = 120


class Scene(NamedTuple):
    """A command and the files that it writes when it gets to its end."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]


SCENES = (
    Scene(("sssp", "{graph}", "--source", "1", "--devices", "cpu:1", "--json", "r.json"), ("r.json",)),
    Scene(
        ("bfs", "{graph}", "--source", "1", "--devices", "cpu:2", "--json", "r.json", "--output", "d.npz"),
        ("d.npz", "r.json"),
    ),
    Scene(("sssp", "{graph}", "--source", "1", "--devices", "cpu:1", "--cache", "c", "--json", "r.json"), ("r.json",)),
    Scene(("generate", "grid", "300", "200", "--output", "g.gr.gz"), ("g.gr.gz",)),
    Scene(("gups", "--log2-words", "16", "--devices", "cpu:2", "--verify", "--json", "r.json"), ("r.json",)),
    Scene(("bfs", "{graph}", "--source", "1", "--devices", "checked:2", "--timeout", "1e6"), ()),
)


def catches_signals(process: subprocess.Popen[str]) -> bool:
    """Whether the command's handlers are there; False for a process that has ended."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return False
    caught = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt")), 0)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def send(process: subprocess.Popen[str], kind: signal.Signals) -> None:
    """Send a signal; SIGINT when it is the command that gets it."""
    while kind == signal.SIGINT and process.poll() is None and not catches_signals(process):
        time.sleep(0.001)
    process.send_signal(kind)


def storm(seed: int, folder: Path, graph: Path, default_s: float) -> str:
    """One run; how it ended, or what is wrong with that."""
    dice = random.Random(seed)
    scene = dice.choice(SCENES)
    kinds = [dice.choice(KINDS) for _ in range(dice.randint(1, 6))]
    words = [str(COMMAND), *(word.format(graph=graph) for word in scene.words)]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if dice.random() < 0.3:  # at the first sign of work
        while process.poll() is None and not list(folder.rglob("*.*")):
            time.sleep(0.0005)
        time.sleep(dice.random() * 0.05)
    else:
        time.sleep(dice.random() * default_s * 1.3)
    for kind in kinds:
        send(process, kind)
        time.sleep(dice.choice((0, 0, 0.001, 0.01, 0.03)))
    try:
        _, errors = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"BREACH: {scene.words[0]} did not end within {DEADLINE_S} s"
    return breach(scene, folder, process.returncode, kinds, errors) or f"exit code {process.returncode}"


def breach(scene: Scene, folder: Path, code: int, kinds: list[signal.Signals], errors: str) -> str:
    """What is wrong with the end of a run; empty where nothing is."""
    files = sorted(path.name for path in folder.iterdir() if path.name != "c")
    entries = list((folder / "c").iterdir()) if (folder / "c").exists() else []
    if any(not entry.name.endswith(".csr") for entry in entries):
        return f"BREACH: the cache holds {[entry.name for entry in entries]}"
    expected = sorted(scene.outputs) if code == 0 else []
    if files != expected:
        return f"BREACH: {files} instead of {expected} stay after exit code {code}, {errors!r}"
    lines = {0: {""}}
    for kind in kinds:
        what = "interrupted" if kind == signal.SIGINT else f"ended by {kind.name}"
        lines[128 + kind] = {f"laneway: {what}\n"}
        if kind != signal.SIGINT:
            lines[-kind] = {""}  # it came before the command did
    if errors not in lines.get(code, set()):
        return f"BREACH: {scene.words[0]} got {[kind.name for kind in kinds]}, exit code {code}, said {errors!r}"
    return ""


def default_time(graph: Path, folder: Path) -> float:
    """Seconds of a run without signals."""
    words = [str(COMMAND), *(word.format(graph=graph) for word in SCENES[0].words)]
    start = time.monotonic()
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each has one of its own")
    options = parser.parse_args()
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        graph = Path(name) / "grid.gr"
        subprocess.run([COMMAND, "generate", "grid", "300", "300", "--output", graph], check=True, capture_output=True)
        (Path(name) / "usual").mkdir()
        default_s = default_time(graph, Path(name) / "usual")
        for seed in range(options.seed, options.seed + options.runs):
            folder = Path(name) / str(seed)
            folder.mkdir()
            said = storm(seed, folder, graph, default_s)
            if said.startswith("BREACH"):
                print(f"seed {seed}: {said}", flush=True)
            ends[said.partition(":")[0]] += 1
    print(", ".join(f"{count} runs: {end}" for end, count in sorted(ends.items())))
    return 1 if ends["BREACH"] else 0


if __name__ == "__main__":
    sys.exit(main())

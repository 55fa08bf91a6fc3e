"""Runs a build and shows how far it is: `[37/52]`, from the lines that ninja writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

STEP = re.compile(r"^\s*\[(\d+)/(\d+)\]\s+(.*)")
PATIENCE_S = 20.0
"""Where there is no terminal, a line comes at most so often, and at the end."""


class Steps:
    """The line that tells how far a build is: rewritten in place on a terminal, now and then a new one elsewhere."""

    def __init__(self, out: TextIO, width: int = 80) -> None:
        self._out, self._width, self._live = out, width, out.isatty()
        self._told = time.monotonic()
        self._open = False

    def see(self, line: str) -> None:
        """Take note of a line of the build's output."""
        step = STEP.match(line)
        if step is None:
            return
        done, total, what = int(step.group(1)), int(step.group(2)), step.group(3)
        if self._live:
            text = f"   [{done}/{total}] {subject(what)}"
            self._out.write(f"\r\x1b[K{text[: self._width - 1]}")
            self._open = True
        elif done == total or time.monotonic() - self._told >= PATIENCE_S:
            self._out.write(f"   [{done}/{total}]\n")
            self._told = time.monotonic()
        self._out.flush()

    def close(self) -> None:
        """Leave no half line behind."""
        if self._open:
            self._out.write("\r\x1b[K")
            self._out.flush()


def subject(what: str) -> str:
    """The file that a step of ninja makes, as readers know it: `src/comm/ring_set.cpp`."""
    made = what.split()[-1] if what.split() else ""
    return re.sub(r"^(?:.*\.dir/)?(.*?)(?:\.o)?$", r"\1", made)


def run_with_steps(
    command: Iterable[str | Path], folder: Path, environment: Mapping[str, str], out: TextIO = sys.stdout
) -> tuple[int, str]:
    """Run a command, telling its steps on `out`; returns its exit status and all that it wrote."""
    width = os.get_terminal_size(out.fileno()).columns if out.isatty() else 80
    steps, written = Steps(out, width), []
    words = [str(word) for word in command]
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            written.append(line)
            steps.see(line)
    steps.close()
    return running.returncode, "".join(written)

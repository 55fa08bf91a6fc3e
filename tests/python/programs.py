"""Programs that tests run once; one that hangs tells where before it is ended."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest


def run_program(
    words: Sequence[object], env: Mapping[str, str] = os.environ, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` gives with text in pipes. Where a Python program takes longer than `timeout` seconds, the
    test fails with the stacks of its threads. Machines that run tests stand still for a while at times, so the limit is
    there for programs that hang, not for slow ones."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    env = {**env, "PYTHONFAULTHANDLER": "1"}  # which writes the stacks at SIGABRT
    with subprocess.Popen(words, text=True, env=env, start_new_session=True, **options) as started:
        try:
            output, errors = started.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            resource.prlimit(started.pid, resource.RLIMIT_CORE, (0, 0))
            _end(started, signal.SIGABRT)
            pytest.fail(f"did not end within {timeout:g} s: {words}\n{_last_words(started)}")
        except BaseException:
            _end(started, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, started.returncode, output, errors)


def _last_words(started: subprocess.Popen[str]) -> str:
    """What a program that has been told to end has written; others may hold its pipes for longer."""
    try:
        return "\n".join(text or "" for text in started.communicate(timeout=10))
    except subprocess.TimeoutExpired as late:
        _end(started, signal.SIGKILL)
        return f"{late.output!r}\n{late.stderr!r}"


def _end(started: subprocess.Popen[str], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(started.pid, number)

"""Checks of arguments that the compiled part would refuse in its own words."""

from __future__ import annotations

import operator
import os
from numbers import Integral, Real
from typing import Any, TypedDict

import numpy as np

from laneway import _core
from laneway.errors import UsageError
from laneway.watching import METER, TIMELINE

BUFFER_BYTES: int = _core.default_buffer_bytes


class RunOptions(TypedDict):
    """Keyword arguments that every program takes."""

    devices: str
    """A list such as "cuda", "cuda:0-3", "cpu:4" or "cuda:0,cpu:2"; empty: every GPU, else one CPU device a core."""
    seed: int
    """Of the scheduler of checked devices."""
    timeout: float
    """Deadline of the run in seconds, below 1e9; virtual ones on `checked` devices, each of which takes some."""
    progress: bool
    """Whether the report keeps samples of the run."""
    buffer_bytes: int
    """Most bytes that the library's buffers and rings take on a device."""


def job_options(devices: str, seed: int, timeout: float, progress: bool, buffer_bytes: int) -> _core.Options:
    """The compiled part's view of a program's RunOptions; UsageError where one of them is wrong."""
    if not isinstance(devices, str):
        raise UsageError(f"devices must be a list such as 'cpu:4' in one string, not {devices!r}")
    require_whole("seed", seed)
    if not (isinstance(timeout, Real) and 0 < timeout < 1e9):
        every = ": every run has a deadline" if timeout is None else ""
        raise UsageError(f"timeout must be a positive number of seconds below 1e9, not {timeout!r}{every}")
    require_switch("progress", progress)
    require_whole("buffer_bytes", buffer_bytes, 1)
    # The compiled part would join the job, where each process must make the same calls, which nobody here sees to.
    if (size := os.environ.get("LANEWAY_SIZE", "1")) != "1":
        raise UsageError(
            f"LANEWAY_SIZE is {in_one_line(size)}, but what Python runs is a job of one process: unset the variable"
        )
    return _core.Options(devices, seed, timeout, bool(progress), buffer_bytes, METER.get(), TIMELINE.get())


def in_one_line(value: object) -> str:
    """What Python shows of a value, for a message."""
    return " ".join(repr(value).split())


def require_switch(name: str, on: Any) -> None:
    """UsageError unless `on` is False or True, also as a number."""
    if not isinstance(on, (Integral, np.bool_)) or on not in (False, True):
        raise UsageError(f"{name} must be False or True, not {on!r}")


def require_whole(name: str, number: int, least: int = 0, bits: int = 64) -> None:
    """UsageError unless `number` is whole, at least `least` and below 2**bits; NumPy's whole numbers are welcome."""
    try:
        fits = least <= operator.index(number) < 2**bits
    except TypeError:
        fits = False
    if not fits:
        raise UsageError(f"{name} must be a whole number from {least} to {2**bits - 1}, not {number!r}")


def require_real(name: str, number: float) -> None:
    """UsageError unless `number` is a real number, of Python's or NumPy's."""
    if not isinstance(number, Real):
        raise UsageError(f"{name} must be a number, not {number!r}")

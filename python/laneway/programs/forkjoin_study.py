"""Recursive programs on channels by the number of workers and the width of channels, as Orr measured them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Callable

import numpy as np

from laneway import _core
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import DeviceFault, UsageError
from laneway.programs.recursion import (
    MEMORY_BYTES,
    SCHEDULERS,
    ChannelWork,
    RecursionResult,
    count_nodes,
    find_fibonacci,
    integrate_peaks,
    multiply_matrices,
    place_queens,
    sort_keys,
)
from laneway.references import recursion as references
from laneway.verification import Verification
from laneway.workspace import Workspace

TREES = {102_181_082: "T1L", 4_130_071: "T1"}
"""Trees of the benchmark by their published numbers of nodes."""
SIZES = {
    "fibonacci": (24, 18),
    "queens": (13, 8),
    "sort": (1_000_000, 20_000),
    "strassen": (512, 64),
    "quadrature": (10, 8),
    "uts": tuple(TREES),
}
"""Of each program: as in the thesis, which has the first four, or as much work, and small ones for CPU devices."""
WIDTHS = (64, 256, 1024, 4096, 16384, 32768)
"""Elements of a level of a channel."""
WORKERS = {"cuda": (1, 4, 16, 64, 0), "cpu": (1, 2, 4)}
"""Blocks of each device, 0 for as many as it holds."""

Outcome = tuple[RecursionResult, Callable[[], Verification]]
Attempt = Callable[[Workspace, int, int, str], Outcome]
"""On devices that are there, with channels of a width, bytes of these and of what warps keep, and who decides."""


@dataclass(frozen=True)
class ForkJoinRun:
    """One program on so many workers with channels of one width; its result was right in every run."""

    program: str
    """"fibonacci", "queens", "sort", "strassen", "quadrature" or "uts"."""
    size: int
    """The number, the queens, the keys, the rows, decimal places of the integral, nodes of the tree."""
    workers: int
    """Blocks of each device: threads of a CPU device; 0: as many as a GPU holds."""
    width: int
    """Elements of a level of a channel on a device."""
    memory_bytes: int
    """What channels and what warps keep may take on a device; 0: warps keep nothing, all goes through channels."""
    sweep: str
    """"workers" or "width": what this run belongs to."""
    scheduler: str
    """Who decided what warps ran: "each", "warp" or "host"."""
    seconds: tuple[float, ...]
    """Of each run, from launch to end."""
    channels: ChannelWork
    """Of the last run."""

    @property
    def median_seconds(self) -> float:
        """Of the runs."""
        return median(self.seconds)


def study_forkjoin(
    programs: Iterable[str] = tuple(SIZES),
    *,
    sizes: str = "",
    workers: Iterable[int] = (),
    widths: Iterable[int] = WIDTHS,
    schedulers: Iterable[str] = SCHEDULERS[:1],
    runs: int = 3,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: Callable[[str], None] = lambda _: None,
) -> list[ForkJoinRun]:
    """Run recursive programs by the number of workers, with channels of the width that the library chooses, and by the
    width of channels, with the last of these numbers (Orr 2016, figures 4-13, 4-16 and 4-17); every result is verified.

    By workers, warps keep much of what they produce, in what channels leave of 64 MiB; by width they keep nothing, so
    that everything goes through channels.

    `sizes`: "thesis" or "small"; by default those of the thesis on GPUs. `workers`: blocks of each device, 0 for as
    many as a GPU holds; by default 1 to all on GPUs, and 1, 2 and 4 threads of CPU devices. `schedulers`: each point is
    measured with each of them; where not every warp decides for itself, none keeps what it produces. Of each, one run
    warms up and `runs` are measured. `devices`, `seed`, `timeout`, of each run, and `buffer_bytes` are those of `sssp`.
    `progress` is told what runs next. Raises UsageError for wrong arguments, TimeoutError and DeviceFault for a failed
    run or a wrong result.
    """
    programs, widths, schedulers = list(programs), list(widths), list(schedulers)
    for program in programs:
        if program not in SIZES:
            raise UsageError(f"program must be one of {', '.join(SIZES)}, not {program}")
    if sizes not in ("", "thesis", "small"):
        raise UsageError(f"sizes must be thesis or small, not {sizes}")
    for scheduler in schedulers:
        if scheduler not in SCHEDULERS:
            raise UsageError(f"scheduler must be one of {', '.join(SCHEDULERS)}, not {scheduler!r}")
    require_whole("runs", runs, 1, bits=31)
    job_options(devices, seed, timeout, False, buffer_bytes)  # refuses what each run would
    on_gpus = _core.parse_devices(devices)[0].startswith("cuda")
    workers = list(workers) or list(WORKERS["cuda" if on_gpus else "cpu"])
    for number in workers:
        require_whole("workers", number, 0 if on_gpus else 1, bits=10)
    for width in widths:
        require_whole("widths", width, 24, bits=31)
    small = sizes == "small" or (sizes == "" and not on_gpus)
    points = [("workers", number, 0, scheduler) for scheduler in schedulers for number in workers]
    points += [("width", workers[-1], width, scheduler) for scheduler in schedulers for width in widths]
    found = []
    for program in programs:
        size = SIZES[program][1 if small else 0]
        attempt = _attempt(program, size)
        for sweep, number, width, scheduler in points:
            told = f", width {width}" if width else ""
            progress(f"{program}: {number or 'all'} workers{told}, scheduler {scheduler}")
            memory_bytes = MEMORY_BYTES if sweep == "workers" else 0
            with Workspace(devices, seed, timeout, False, buffer_bytes, blocks=number) as workspace:
                seconds, did = _measure(program, partial(attempt, workspace, width, memory_bytes, scheduler), runs)
            found.append(ForkJoinRun(program, size, number, did.width, memory_bytes, sweep, scheduler, seconds, did))
    return found


def _measure(program: str, attempt: Callable[[], Outcome], runs: int) -> tuple[tuple[float, ...], ChannelWork]:
    seconds = []
    for _ in range(runs + 1):
        result, verify = attempt()
        seconds.append(result.report.run_seconds)
        check = verify()
        if check.mismatches:
            raise DeviceFault(f"{program}: {check.compared} differ from {check.reference}: {check.first_mismatch}")
    return tuple(seconds[1:]), result.channels


def _attempt(program: str, size: int) -> Attempt:
    """What runs a program once, and how its result is verified."""
    words = np.random.default_rng(1).integers(0, 2**32, 2 * size * size if program == "strassen" else size, np.uint32)
    a, b = words.reshape(2, size, size) if program == "strassen" else (words, words)
    expected = np.sort(words) if program == "sort" else a @ b if program == "strassen" else words

    def once(workspace: Workspace, width: int, memory_bytes: int, scheduler: str) -> Outcome:
        if program == "fibonacci":
            number = find_fibonacci(workspace, size, 1, width, memory_bytes, scheduler)
            return number, lambda: references.verify_fibonacci(number)
        if program == "queens":
            ways = place_queens(workspace, size, 4, width, memory_bytes, scheduler)
            return ways, lambda: references.verify_queens(ways)
        if program == "quadrature":
            area = integrate_peaks(workspace, 0.0, 1.0, 10.0**-size, width, memory_bytes, scheduler)
            return area, lambda: references.verify_quadrature(area)
        if program == "uts":
            tree = count_nodes(workspace, TREES[size], width, memory_bytes, scheduler)
            return tree, lambda: references.verify_tree(tree)
        if program == "sort":
            keys = sort_keys(workspace, words, 64, width, memory_bytes, scheduler)
            return keys, lambda: references.verify_array("NumPy's sort", "keys", keys.keys, lambda: expected)
        made = multiply_matrices(workspace, a, b, 16, width, memory_bytes, scheduler)
        return made, lambda: references.verify_array("NumPy's product", "elements", made.product, lambda: expected)

    return once

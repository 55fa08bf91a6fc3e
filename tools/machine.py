"""What this machine bears: whether a driver answers for a GPU, and how many compilers its memory holds at once."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

JOB_BYTES = 1_500_000_000
"""What the largest translation units take."""


def gpu_answers() -> bool:
    """Whether the NVIDIA driver is there and finds a GPU; a compiler alone does not count."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def free_memory(root: Path = Path("/")) -> int:
    """Bytes that are free for new processes: of the machine, or of the container where that has less."""
    free = 0
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    group = root / "sys/fs/cgroup"
    try:
        limit, used = (group / "memory.max").read_text(), (group / "memory.current").read_text()
        return min(free, max(int(limit) - int(used), 0))
    except (OSError, ValueError):  # no control group of version 2, or "max"
        return free


def jobs(wanted: str = "", free: int | None = None) -> int:
    """Compilers to run at once: `wanted` where it is given, else as many as cores and memory bear.

    Raises ValueError where `wanted` is no whole number above 0.
    """
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise ValueError(f"JOBS must be a whole number above 0, not {wanted}")
        return int(wanted)
    return max(1, min(cores(), (free_memory() if free is None else free) // JOB_BYTES))

"""How fast a pool of tasks is, and from which length of task on it pays."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import Callable

import numpy as np

from laneway.arguments import require_whole
from laneway.errors import UsageError
from laneway.task_pool import TaskPool

LENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Of tasks, in microseconds."""
WAYS = ("submit", "submit_many")
LONE_TASKS = 500


@dataclass(frozen=True)
class TaskRates:
    """What a pool did: medians of some runs.

    `rates`: empty tasks a second, by how they were submitted. `lone_seconds`: from the submission of a lone task to its
    result, the median and the time that 99 of 100 keep. `efficiency`: by way and by microseconds of a task, the time
    that the bodies take by themselves over the time of all workers.
    """

    workers: int
    rates: dict[str, float]
    lone_seconds: tuple[float, float]
    efficiency: dict[str, dict[float, float]]


def measure_tasks(
    lengths: tuple[float, ...] = LENGTHS, *, runs: int = 3, bundle: int = 64, devices: str = "", timeout: float = 60.0
) -> TaskRates:
    """Measure a pool of tasks on these devices with tasks that take a given time.

    `lengths`: of tasks in microseconds, for the efficiency. Each number is the median of `runs`; `bundle` is the
    pool's. Raises UsageError for lengths that are not between 0.1 and 1e6.
    """
    require_whole("runs", runs, 1, 31)
    for length in lengths:
        if not 0.1 <= length <= 1e6:
            raise UsageError(f"lengths: between 0.1 and 1e6 microseconds, not {length}")
    with TaskPool(devices, bundle=bundle, timeout=timeout) as pool:
        workers = pool.statistics.workers
        return TaskRates(
            workers,
            {way: _rate(pool, way, workers, runs) for way in WAYS},
            _lone(pool),
            {way: {length: _efficiency(pool, way, length, workers, runs) for length in lengths} for way in WAYS},
        )


def _run(pool: TaskPool, way: str, count: int, nanoseconds: int) -> None:
    if way == "submit":
        for future in [pool.submit("spin", nanoseconds) for _ in range(count)]:
            future.result()
    else:
        pool.submit_many("spin", np.full(count, nanoseconds, np.uint64)).result()


def _seconds(run: Callable[[], None], runs: int) -> float:
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


def _rate(pool: TaskPool, way: str, workers: int, runs: int) -> float:
    count = 20_000 if way == "submit" else 200_000 * min(workers, 16)
    return count / _seconds(lambda: _run(pool, way, count, 0), runs)


def _lone(pool: TaskPool) -> tuple[float, float]:
    times = []
    for _ in range(LONE_TASKS):
        start = time.perf_counter()
        pool.submit("spin", 0).result()
        times.append(time.perf_counter() - start)
    return median(times), sorted(times)[LONE_TASKS * 99 // 100]


def _efficiency(pool: TaskPool, way: str, length: float, workers: int, runs: int) -> float:
    """Of 0.1 s of work for each worker, but not so many tasks that Python would take longer to submit them."""
    most = 20_000 if way == "submit" else 2_000_000
    count = workers * max(1, min(int(1e5 / length), most // workers))
    return count * length * 1e-6 / workers / _seconds(lambda: _run(pool, way, count, int(length * 1000)), runs)

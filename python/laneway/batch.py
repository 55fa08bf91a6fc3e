"""A batch of tasks as one call, for schedulers of many nodes: Parsl, Dask, or any that runs functions elsewhere."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from laneway.errors import PoolClosedError, UsageError
from laneway.task_body import TaskBody
from laneway.task_pool import TaskPool

_pools: dict[tuple[int, str], TaskPool] = {}
_bodies: dict[tuple[str, str | None], TaskBody] = {}
_making = threading.Lock()


def _begin_anew() -> None:
    """In a forked process, where a thread of the parent's may have held the lock."""
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


def run_batch(source: str, *arrays: Any, name: str | None = None, devices: str = "") -> Any:
    """Run a body for each element of the arrays on the devices of the process that calls this, and return the results
    as `TaskPool.submit_many` gives them. The pool stays open for the next call of the process, unless it fails.

    A scheduler that sends this call to many nodes brings each a bundle of tasks: with Parsl's HighThroughputExecutor
    `python_app(run_batch, executors=["htex"])`, with Dask `client.submit(run_batch, source, numbers)`.
    """
    for what, given in (("source", source), ("devices", devices)):
        if not isinstance(given, str):
            raise UsageError(f"{what} must be text, not {given!r}")
    key = (os.getpid(), devices)
    with _making:  # two pools on one GPU would wait for each other
        if (source, name) not in _bodies:
            _bodies[source, name] = TaskBody(source, name=name)
    operands = [np.asarray(array) for array in arrays]
    while True:
        with _making:
            if key not in _pools:
                _pools[key] = TaskPool(devices)
            pool = _pools[key]
        try:
            begun = pool.submit_many(_bodies[source, name], *operands)
        except PoolClosedError:  # a task of an earlier call has met the deadline, for instance
            with _making:
                if _pools.get(key) is pool:
                    del _pools[key]
            continue
        return begun.result()

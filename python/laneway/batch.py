"""A batch of tasks as one call, for schedulers of many nodes: Parsl, Dask, or any that runs functions elsewhere."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

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
    as `TaskPool.submit_many` gives them. The pool stays open for the next call of the process.

    A scheduler that sends this call to many nodes brings each a bundle of tasks: with Parsl's HighThroughputExecutor
    `python_app(run_batch, executors=["htex"])`, with Dask `client.submit(run_batch, source, numbers)`.
    """
    key = (os.getpid(), devices)
    with _making:  # two pools on one GPU would wait for each other
        if key not in _pools:
            _pools[key] = TaskPool(devices)
        if (source, name) not in _bodies:
            _bodies[source, name] = TaskBody(source, name=name)
    return _pools[key].submit_many(_bodies[source, name], *map(np.asarray, arrays)).result()

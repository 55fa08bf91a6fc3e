"""Dask's workers and pools of tasks: the examples of the guide, on one machine."""

from __future__ import annotations

import asyncio
from typing import Any

import laneway as lw
import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

SQUARE = 'double square(double x) { if (x < 0) throw std::domain_error("below 0"); return x * x; }'


def on_a_cluster(use: Any, **worker_options: Any) -> Any:
    """What `use(client)` returns, with one worker of two threads in this process."""

    async def main() -> Any:
        async with distributed.Scheduler(port=0, host="127.0.0.1", dashboard=False) as scheduler:
            worker = distributed.Worker(scheduler.address, host="127.0.0.1", nthreads=2, **worker_options)
            async with worker, distributed.Client(scheduler.address, asynchronous=True) as client:
                return await asyncio.wait_for(use(client), 60)

    return asyncio.run(main())


def test_bundles_run_on_the_devices_of_the_worker() -> None:
    async def use(client: Any) -> list[Any]:
        parts = [client.submit(lw.run_batch, SQUARE, np.arange(i, i + 1000.0), devices="cpu:1") for i in range(4)]
        return await client.gather(parts)

    for i, part in enumerate(on_a_cluster(use)):
        assert np.array_equal(part, np.arange(i, i + 1000.0) ** 2)


def test_a_body_that_throws_fails_its_bundle_alone() -> None:
    async def use(client: Any) -> Any:
        bad = client.submit(lw.run_batch, SQUARE, np.array([1.0, -1.0]), devices="cpu:1")
        good = client.submit(lw.run_batch, SQUARE, np.array([3.0]), devices="cpu:1")
        with pytest.raises(lw.TaskError, match="below 0"):
            await bad
        return await good

    assert on_a_cluster(use) == 9

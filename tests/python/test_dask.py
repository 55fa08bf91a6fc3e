"""Dask's workers and pools of tasks: the examples of the guide, on one machine."""

from __future__ import annotations

import asyncio
from typing import Any

import laneway as lw
import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402

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


def test_a_pool_is_an_executor_of_a_worker() -> None:
    body = lw.TaskBody(SQUARE)

    def sum_of_squares(n: int) -> float:
        pool = distributed.get_worker().executors["laneway"]
        return float(pool.submit_many(body, np.arange(float(n))).result().sum())

    async def use(client: Any) -> list[float]:
        with dask.annotate(executor="laneway"):
            futures = [client.submit(sum_of_squares, n, pure=False) for n in (10, 100)]
        return await client.gather(futures)

    with lw.TaskPool("cpu:2") as pool:
        assert on_a_cluster(use, executor={"laneway": pool}) == [285.0, 328350.0]
        assert pool.statistics.submitted >= 110, "the functions and their batches ran in the pool"

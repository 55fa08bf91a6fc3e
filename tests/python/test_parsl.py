"""Parsl programs on pools of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import laneway as lw
import numpy as np
import pytest

parsl = pytest.importorskip("parsl")
from laneway.parsl import LanewayExecutor, body_app  # noqa: E402

SQUARE = 'double square(double x) { if (x < 0) throw std::domain_error("below 0"); return x * x; }'


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[object]:
    """Parsl with one executor of two devices."""
    executor = LanewayExecutor(devices="cpu:2")
    with parsl.load(parsl.Config(executors=[executor], run_dir=str(tmp_path), usage_tracking=0)) as loaded:
        yield loaded


def test_apps_of_bodies_and_functions_follow_each_other(kernel: object) -> None:
    square = body_app(lw.TaskBody(SQUARE))
    add = parsl.python_app(lambda a, b: a + b)
    assert square(3.0).result() == 9
    assert add(square(2.0), square(3.0)).result() == 13
    assert square(add(1, 1)).result() == 4
    assert [future.result() for future in [square(float(i)) for i in range(300)]] == [i * i for i in range(300)]


def test_failures_are_those_of_their_task(kernel: object) -> None:
    square = body_app(lw.TaskBody(SQUARE))
    bad, good = square(-1.0), square(4.0)
    with pytest.raises(lw.TaskError, match="below 0"):
        bad.result()
    assert good.result() == 16
    with pytest.raises(parsl.dataflow.errors.DependencyError):
        square(bad).result()


def test_resources_are_priority_and_timeout(kernel: object) -> None:
    square = body_app(lw.TaskBody(SQUARE))
    assert square(5.0, parsl_resource_specification={"priority": 3, "timeout": 30.0}).result() == 25
    with pytest.raises(parsl.executors.errors.InvalidResourceSpecification):
        square(5.0, parsl_resource_specification={"cores": 1}).result()


def test_a_body_on_another_executor_says_so(tmp_path: Path) -> None:
    threads = parsl.executors.ThreadPoolExecutor()
    config = parsl.Config(executors=[threads], run_dir=str(tmp_path), usage_tracking=0)
    with parsl.load(config), pytest.raises(lw.UsageError, match="runs on a LanewayExecutor"):
        body_app(lw.TaskBody(SQUARE))(1.0).result()


def test_bundles_on_the_workers_of_blocks(tmp_path: Path) -> None:
    """As on many nodes: Parsl's own workers, two blocks on this machine, each with a pool."""
    htex = parsl.executors.HighThroughputExecutor(
        label="htex",
        address="127.0.0.1",
        max_workers_per_node=1,
        encrypted=False,
        provider=parsl.providers.LocalProvider(init_blocks=2, max_blocks=2),
    )
    with parsl.load(parsl.Config(executors=[htex], run_dir=str(tmp_path), usage_tracking=0)):
        batch = parsl.python_app(lw.run_batch)
        bundles = [batch(SQUARE, np.arange(i, i + 1000.0), devices="cpu:1") for i in range(4)]
        for i, bundle in enumerate(bundles):
            assert np.array_equal(bundle.result(timeout=100), np.arange(i, i + 1000.0) ** 2)

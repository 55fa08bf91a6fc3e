"""CPython's own tests of executors, with a pool in place of their thread pool.

They are not part of every Python: `make test` fetches Debian's into build/deps where they are missing.
"""

from __future__ import annotations

import gc
import importlib
import sys
import unittest
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import laneway as lw
import pytest
import test
from conftest import ROOT

test.__path__.append(str(ROOT / f"build/deps/usr/lib/python{sys.version_info.major}.{sys.version_info.minor}/test"))

SUITE = "test.test_concurrent_futures"
PARTS = {  # where the classes stand from Python 3.12 on; before, all in one module
    "ExecutorTest": "executor",
    "ExecutorMixin": "util",
    "BaseTestCase": "util",
    "AsCompletedTests": "test_as_completed",
    "WaitTests": "test_wait",
    "ExecutorShutdownTest": "test_shutdown",
}
NAMED_EXECUTOR = (  # these start Python with the executor's name in concurrent.futures
    "test_interpreter_shutdown",
    "test_submit_after_interpreter_shutdown",
    "test_hang_gh83386",
    "test_hang_gh94440",
)


def find(name: str) -> Any:
    suite = importlib.import_module(SUITE)
    module: ModuleType = importlib.import_module(f"{SUITE}.{PARTS[name]}") if hasattr(suite, "__path__") else suite
    return getattr(module, name)


try:
    CLASSES = {name: find(name) for name in PARTS}
except (ImportError, unittest.SkipTest) as error:
    pytest.skip(f"CPython's tests of executors are not installed: {error}", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def nothing_of_other_tests() -> Iterator[None]:
    """Objects of the tests before are left out of collections: some versions' tests collect a hundred times each."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def no_dead_threads() -> None:
    """Threads that are over are forgotten before a test counts them: it waits at its end until there are as many."""
    gc.collect()


class PoolMixin(CLASSES["ExecutorMixin"]):  # type: ignore[misc]
    isolate = False

    @classmethod
    def executor_type(cls, max_workers: int | None = None) -> lw.TaskPool:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        return lw.TaskPool("cpu:2", host_threads=max_workers, isolate=cls.isolate)


class IsolatedPoolMixin(PoolMixin):
    isolate = True


def adapted(pool: type[PoolMixin], mixin: str, without: tuple[str, ...] = ()) -> type[unittest.TestCase]:
    left_out = dict.fromkeys(name for name in without if hasattr(CLASSES[mixin], name))
    bases = (pool, CLASSES[mixin], CLASSES["BaseTestCase"])
    return type(f"{pool.__name__}{mixin}", bases, {"__module__": __name__, **left_out})


PoolExecutorTest = adapted(PoolMixin, "ExecutorTest")
PoolAsCompletedTests = adapted(PoolMixin, "AsCompletedTests")
PoolWaitTests = adapted(PoolMixin, "WaitTests")
PoolShutdownTest = adapted(PoolMixin, "ExecutorShutdownTest", NAMED_EXECUTOR)
IsolatedPoolExecutorTest = adapted(IsolatedPoolMixin, "ExecutorTest")
IsolatedPoolAsCompletedTests = adapted(IsolatedPoolMixin, "AsCompletedTests")
IsolatedPoolWaitTests = adapted(IsolatedPoolMixin, "WaitTests")
IsolatedPoolShutdownTest = adapted(IsolatedPoolMixin, "ExecutorShutdownTest", NAMED_EXECUTOR)

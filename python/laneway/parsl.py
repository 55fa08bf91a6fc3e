"""Tasks of Laneway from Parsl programs: an executor for this machine's devices.

`lw.run_batch` is an app for workers on many nodes.

Parsl (Babuji and others, HPDC 2019) is not among the package's requirements: `pip install parsl`.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Callable

from parsl import python_app
from parsl.executors.base import ParslExecutor
from parsl.executors.errors import InvalidResourceSpecification
from parsl.utils import RepresentationMixin

from laneway.errors import UsageError
from laneway.task_body import TaskBody
from laneway.task_pool import TaskPool

RESOURCES = frozenset({"priority", "timeout"})


class LanewayExecutor(ParslExecutor, RepresentationMixin):  # type: ignore[misc]
    """Runs the apps of a Parsl program on a pool of tasks in this process.

    An app of a `TaskBody`, as `body_app` makes it, is a task of the devices; any other runs on a thread of the pool.
    `parsl_resource_specification` may have `priority` and `timeout`, in seconds, as `TaskPool.submit`. Further keywords
    are those of `TaskPool`.
    """

    def __init__(self, label: str = "laneway", devices: str = "", **options: Any) -> None:
        super().__init__()
        self.label = label
        self.devices = devices
        self.options = options
        self._pool: TaskPool | None = None

    def start(self) -> None:
        """Open the devices."""
        self._pool = TaskPool(self.devices, **self.options)

    def submit(
        self, func: Callable[..., Any], resource_specification: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Submit an app's call. Raises InvalidResourceSpecification for what its task does not take."""
        assert self._pool is not None, "start comes first"
        body = getattr(func, "laneway_body", None)
        known = RESOURCES if body is not None else frozenset()
        if not known.issuperset(resource_specification):
            words = f"bodies take {' and '.join(sorted(RESOURCES))}, other functions nothing"
            raise InvalidResourceSpecification(set(resource_specification) - known, words)
        if body is None:
            return self._pool.submit(lambda: func(*args, **kwargs))
        kwargs.pop("parsl_resource_specification", None)  # Parsl leaves it there
        return self._pool.submit(body, *args, **resource_specification, **kwargs)

    def shutdown(self, block: bool = True) -> None:
        """Wait for all calls, and give the devices back."""
        if self._pool is not None:
            self._pool.shutdown(wait=block)
        super().shutdown()

    def monitor_resources(self) -> bool:
        """All runs in the process of the program."""
        return False


def body_app(body: TaskBody, executors: list[str] | str = "all", **options: Any) -> Callable[..., Future[Any]]:
    """An app that is a task of the devices: `square = body_app(lw.TaskBody(...))`, `square(3.0).result()`.

    `executors`, `options`: of Parsl's `python_app`; the executors are `LanewayExecutor`s.
    """

    def call(*_args: Any, **_keywords: Any) -> Any:
        raise UsageError(
            f"{body.name}: an app of a body runs on a LanewayExecutor, and Parsl chose another: executors="
        )

    call.__name__ = body.name
    call.laneway_body = body  # type: ignore[attr-defined]
    app: Callable[..., Future[Any]] = python_app(call, executors=executors, **options)
    return app

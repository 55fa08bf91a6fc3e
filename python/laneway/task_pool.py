"""Many small tasks on devices, as an executor of futures."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Union

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.arguments import BUFFER_BYTES, job_options, require_real, require_switch, require_whole
from laneway.errors import UsageError
from laneway.gpu_bodies import GpuBodies
from laneway.isolated_core import IsolatedCore
from laneway.pool_keeper import PoolKeeper, refuse_as_python_ends
from laneway.pool_worker import PoolJob
from laneway.task_body import TaskBody
from laneway.task_future import Held, Predecessors, TaskFuture, after_failure, as_futures
from laneway.task_kinds import BUILT_IN, Packed, TaskKind

if TYPE_CHECKING:
    from laneway._core import TaskStatistics

Task = Union[TaskBody, str, Callable[..., Any]]
"""What a pool takes: a body, the name of a task that every pool has, or a Python function."""


class TaskPool(Executor):
    """Devices that stay and take small tasks, hundreds of thousands of them a second; a `concurrent.futures.Executor`.

        square = lw.TaskBody("double square(double x) { return x * x; }")
        with lw.TaskPool("cpu:4") as pool:
            future = pool.submit(square, 3.0)
            squares = pool.submit_many(square, np.arange(1e6)).result()
            print(future.result(), squares[10])

    A task is a `TaskBody`; the name of one that every pool has, `"adder"`, `"spin"`, `"matmul"` or `"mandelbrot"`; or
    any Python function, a *host task*, which a thread of the pool calls: `host_threads` of them, by default as many as
    `ThreadPoolExecutor` has.

    The pool holds `capacity` tasks and batches that are not done, and `submit` waits while it is full. Tasks are shown
    to devices in bundles of `bundle` tasks, or fewer when they have little to do. Batches take `batch_bytes` of memory
    together, 12 bytes a task or more, until they are done. Where the pool has GPUs, matrices and other arrays of tasks
    take `operand_bytes` together. The pool fails where its devices have done no task
    for `timeout` seconds while they had some, and all its futures with it.

    Tasks run until they are done; leaving the `with` block waits for them, unless an interrupt leaves it. A pool that
    is open as Python ends is shut down; what then follows a future that nobody completes is cancelled. A process that
    is forked off has no part in it.

    With `isolate` the devices are in a worker process. Where that crashes, or is killed, another takes its place:
    unfinished tasks are retried there, once, and then fail with TaskWorkerDied; what was finished stays finished. Host
    tasks run in this process.
    """

    def __init__(
        self,
        devices: str = "",
        *,
        capacity: int = 2**20,
        bundle: int = 64,
        batch_bytes: int = 2**26,
        operand_bytes: int = 2**28,
        timeout: float = 60.0,
        host_threads: int | None = None,
        seed: int = 1,
        buffer_bytes: int = BUFFER_BYTES,
        isolate: bool = False,
    ) -> None:
        require_whole("capacity", capacity, 1, 31)
        require_whole("bundle", bundle, 1, 31)
        require_whole("batch_bytes", batch_bytes, 64, 48)
        require_whole("operand_bytes", operand_bytes, 64, 48)
        if host_threads is not None:
            require_whole("host_threads", host_threads, 1, 16)
        job = job_options(devices, seed, timeout, False, buffer_bytes)
        require_switch("isolate", isolate)
        refuse_as_python_ends()
        core: _core.TaskPoolCore | IsolatedCore
        if isolate:
            limits = (capacity, bundle, batch_bytes, operand_bytes)
            core = IsolatedCore(PoolJob(devices, seed, float(timeout), buffer_bytes, *limits))
        else:
            core = _core.TaskPoolCore(job, capacity, bundle, batch_bytes, operand_bytes)
        self._devices = tuple(core.devices())
        self._device_kinds = {"gpu" if name.startswith("cuda:") else "cpu" for name in self._devices}
        self._gpu_bodies = GpuBodies(core) if core.has_gpus() else None
        self._keeper = PoolKeeper(core, host_threads, float(timeout))
        weakref.finalize(self, self._keeper.shut_down).atexit = False  # type: ignore[misc]  # the keeper sees to it

    @property
    def devices(self) -> tuple[str, ...]:
        """One name a device."""
        return self._devices

    @property
    def statistics(self) -> TaskStatistics:
        """What the devices have done so far; host tasks do not count."""
        self._keeper.require_own()
        return self._keeper.core.statistics()

    def submit(  # type: ignore[override]
        self,
        task: Task,
        /,
        *args: Any,
        priority: int = 0,
        after: Iterable[Future[Any]] | Future[Any] = (),
        timeout: float | None = None,
        wait: bool = True,
        **kwargs: Any,
    ) -> Future[Any]:
        """Submit one task; its future has its result.

        Those of higher `priority` are given to devices first. It starts when the futures in `after`, of whatever
        executor, are done, and fails without a start where one of them fails. It fails with TimeoutError where it is
        not done `timeout` seconds after a device was given it; its worker is free only when its body returns. While the
        pool is full the call waits, or with `wait=False` raises PoolFullError. Host tasks have no priority and no
        timeout; other keywords are for them. Raises UsageError for arguments that the task does not take, TaskBodyError
        for a body that does not compile for the pool's GPUs, PoolClosedError after shutdown.
        """
        keeper = self._keeper
        if keeper.refusal is not None:
            keeper.require_open()
        kind = self._kind(task)
        if kind is None:
            if priority != 0 or timeout is not None:
                raise UsageError("host tasks have no priority and no timeout")
            return self._submit_host(task, args, kwargs, as_futures(after))  # type: ignore[arg-type]
        if kwargs:
            raise UsageError(f"{kind.name} takes no keyword {next(iter(kwargs))!r}")
        return self._submit_packed(kind.pack_one(args), 0, priority, after, timeout, wait)

    def submit_many(
        self,
        task: TaskBody | str,
        /,
        *arrays: Any,
        priority: int = 0,
        after: Iterable[Future[Any]] | Future[Any] = (),
        timeout: float | None = None,
        wait: bool = True,
    ) -> Future[Any]:
        """Submit a task for each element of arrays of one length, as one batch; single values stand for as many. The
        future has the results as an array, None where the task has none. If tasks fail, it has the exception of the
        first of them, whose message names the element.

        Keywords and exceptions are those of `submit`; PoolFullError also where the batch takes more memory than
        `batch_bytes` leave.
        """
        self._keeper.require_open()
        kind = self._kind(task)
        if kind is None:
            raise UsageError(f"submit_many takes a TaskBody or the name of a task, not {task!r}: map takes functions")
        packed, count = kind.pack_many(arrays)
        if count >= 2**32:
            raise UsageError(f"a batch has less than 2**32 tasks, not {count}")
        if count == 0:
            done: Future[Any] = Future()
            done.set_result(None if packed.decode is None else packed.decode(np.empty(0, np.uint8)))
            return done
        return self._submit_packed(packed, count, priority, after, timeout, wait)

    def map(
        self, task: Task, /, *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """As `Executor.map`: results in the order of the arguments, each as it is asked for. All tasks are submitted at
        once; those of devices in batches of `chunksize` where that is above 1. UsageError for a chunksize that is no
        whole number above 0 and a timeout that is no number."""
        require_whole("chunksize", chunksize, 1, 63)
        if timeout is not None:
            require_real("timeout", timeout)
        if chunksize == 1 or self._kind(task) is None:
            return super().map(task, *iterables, timeout=timeout)  # type: ignore[arg-type]
        rows = zip(*iterables)
        chunks = iter(lambda: list(itertools.islice(rows, chunksize)), [])
        batches = [(self.submit_many(task, *map(list, zip(*c))), len(c)) for c in chunks]  # type: ignore[arg-type]
        return _results(batches, timeout)

    def poll(self, futures: Iterable[Future[Any]]) -> list[Future[Any]]:
        """Those of the pool's futures that are done, well or not, in the order in which they came to be; waits for
        nothing. What other executors have done comes last. `concurrent.futures.wait` waits for one of them, or all."""
        given = as_futures(futures, "poll takes")
        return sorted((each for each in given if each.done()), key=self._keeper.place_of)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks, and give the devices back when those that were submitted are done, which `wait` waits
        for. `cancel_futures` cancels those that no device and no thread has yet."""
        self._keeper.shut_down(cancel_futures)
        if wait:
            self._keeper.join()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool | None:
        if kind is not None and not issubclass(kind, Exception):  # an interrupt: nobody waits for what is left
            self._keeper.end()
        self.shutdown(wait=True)
        return None

    def __repr__(self) -> str:
        return f"<laneway.TaskPool: {'closed' if self._keeper.refusal else ', '.join(self._devices)}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError("a pool cannot be pickled or copied: its devices are open in this process only")

    def _kind(self, task: Any) -> TaskKind | None:
        """What devices do; None for a Python function."""
        if isinstance(task, TaskKind):
            if isinstance(task, TaskBody):
                self._take_body(task)
            return task
        if isinstance(task, str):
            if task not in BUILT_IN:
                raise UsageError(f"no task is called {task!r}: there are {', '.join(BUILT_IN)}")
            return BUILT_IN[task]
        if not callable(task):
            raise UsageError(f"a task is a TaskBody, a name or a Python function, not {task!r}")
        return None

    def _take_body(self, body: TaskBody) -> None:
        """UsageError where no device runs it; GPUs that do have it from then on."""
        if body.runs_on not in ("all", *self._device_kinds):
            wanted = "GPUs" if body.runs_on == "gpu" else "CPU devices"
            raise UsageError(f"the body {body.name} runs on {wanted} only, and the pool has none")
        if self._gpu_bodies is not None and body.runs_on != "cpu":
            self._keeper.require_open()
            self._gpu_bodies.require(body.for_gpus, body.address)

    def _submit_packed(
        self, packed: Packed, count: int, priority: int, after: Any, timeout: float | None, wait: bool
    ) -> Future[Any]:
        keeper = self._keeper
        if priority != 0:
            _require_priority(priority)
        seconds = 0.0 if timeout is None else _seconds(timeout)
        future: TaskFuture = TaskFuture(keeper)
        if packed.decode is not None:
            future._decode = packed.decode
        if after == ():
            try:
                future._ticket = keeper.core.submit(future, *packed[:-1], count, priority, (), seconds, bool(wait))
            except UsageError:
                keeper.require_open()  # it may have been shut down meanwhile
                raise
        else:
            if isinstance(packed.inputs, np.ndarray):  # of arrays that may change until it starts
                packed = packed._replace(inputs=packed.inputs.copy())

            def start(tickets: Sequence[int]) -> bool:
                future._ticket = keeper.core.submit(future, *packed[:-1], count, priority, tickets, seconds, bool(wait))
                return future._ticket is not None

            _follow(keeper, future, as_futures(after), start)
        return future

    def _submit_host(
        self, function: Callable[..., Any], args: Any, kwargs: Any, after: list[Future[Any]]
    ) -> Future[Any]:
        keeper = self._keeper
        if not after:
            return keeper.submit_host(function, *args, **kwargs)
        future: TaskFuture = TaskFuture(keeper)

        def start(_: Sequence[int] = ()) -> bool:
            keeper.submit_host(_call, future, function, args, kwargs)
            return True

        _follow(keeper, future, after, start, known=False)
        return future


def _follow(
    keeper: PoolKeeper,
    future: TaskFuture,
    after: list[Future[Any]],
    start: Callable[[Sequence[int]], bool],
    known: bool = True,
) -> None:
    """Start a task behind others. Where they are of the same pool, and `known` says that the compiled part has them, it
    sees to that."""
    while True:
        before = Predecessors(keeper, after)
        others = before.others if known else [other for other in after if not other.done()]
        if before.have_failed:
            future.end_badly(after_failure())
        elif others:
            Held(keeper, future, others, lambda: _follow(keeper, future, after, start, known))
        elif not start(before.tickets if known else ()):
            continue  # one of them has been taken since: it is done, or will be in a moment
        return


def _call(future: TaskFuture, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """A host task that followed others."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        future.end_badly(error)
    else:
        future.end_well(result)


def _results(batches: list[tuple[Future[Any], int]], timeout: float | None) -> Iterator[Any]:
    """Elements of batches in order; what nobody asks for any more is cancelled."""
    end = None if timeout is None else time.monotonic() + timeout

    def each() -> Iterator[Any]:
        try:
            batches.reverse()
            while batches:
                future, count = batches.pop()
                values = future.result(None if end is None else end - time.monotonic())
                yield from itertools.repeat(None, count) if values is None else _each(values)
        finally:
            for future, _ in batches:
                future.cancel()

    return each()


def _each(values: NDArray[Any]) -> Iterable[Any]:
    """As single tasks give them: numbers of Python, and bytes of structs without fields."""
    return values.tolist() if values.ndim == 1 and values.dtype.names is None else values


def _require_priority(priority: int) -> None:
    if isinstance(priority, bool) or not isinstance(priority, (int, np.integer)) or not -(2**31) <= priority < 2**31:
        raise UsageError(f"priority must be a whole number of 32 bits, not {priority!r}")


def _seconds(timeout: float) -> float:
    require_real("timeout", timeout)
    if not 0 < timeout < 1e9:
        raise UsageError(f"timeout must be a positive number of seconds below 1e9, not {timeout!r}")
    return float(timeout)

"""Futures of tasks, and tasks that wait for others."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Callable

from laneway.errors import TaskError, UsageError

if TYPE_CHECKING:
    from laneway.pool_keeper import PoolKeeper

PENDING, FINISHED, CANCELLED_AND_NOTIFIED = "PENDING", "FINISHED", "CANCELLED_AND_NOTIFIED"  # of concurrent.futures
DONE = frozenset({FINISHED, CANCELLED_AND_NOTIFIED, "CANCELLED"})


class Waiter:
    """One of those that a future tells first of its end. `Future.result` waits for a `threading.Condition`, whose lock
    an interrupt can leave open or locked for good; a queue bears interrupts at any moment."""

    def __init__(self) -> None:
        self.told: SimpleQueue[object] = SimpleQueue()
        self.add_result = self.add_exception = self.add_cancelled = self.told.put


class TaskFuture(Future[Any]):
    """Of a task that a pool's devices do. `cancel` works on what no device has yet.

    Most futures are done before anybody waits for them. So what waiting takes, a condition and two lists, is made when
    it is first asked for: it would be most of what a task costs.
    """

    _state = PENDING
    _result = None
    _exception = None
    _own_condition: threading.Condition | None = None
    _ticket: int | None = None
    """Names the task where the compiled part has it."""
    _decode: Callable[[Any], Any] | None = None
    _is_held = False
    """Whether it waits for what the compiled part does not know, and can be cancelled here."""
    _place: int | None = None
    """How many of the pool's tasks were done before it; set just before it is done."""

    def __init__(self, keeper: PoolKeeper) -> None:
        self._keeper = keeper

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        """Whoever looks at the lists, or at the state to wait for its change, holds it."""
        if self._own_condition is None:
            with self._keeper.lock:
                if self._own_condition is None:
                    self._waiters: list[Any] = []
                    self._done_callbacks: list[Any] = []
                    self._own_lock = threading.RLock()
                    self._own_condition = threading.Condition(self._own_lock)
        return self._own_condition

    def _lock_of_state(self) -> threading.RLock:
        """That of the condition, which itself is written in Python: an interrupt as it is entered would leave it
        locked."""
        _ = self._condition
        return self._own_lock

    def cancel(self) -> bool:
        if not self.done() and self._withdraw():
            self.end_cancelled()
        return self.cancelled()

    def _withdraw(self) -> bool:
        if self._keeper.is_of_parent():
            return False
        with self._keeper.lock:
            was_held, self._is_held = self._is_held, False
        if was_held:
            self._keeper.let_go(self)  # what it was to follow may never be done
            return True
        return self._ticket is not None and self._keeper.core.cancel(self._ticket)

    def running(self) -> bool:
        if self.done() or self._ticket is None or self._keeper.is_of_parent():
            return False
        return self._keeper.core.is_given(self._ticket)

    def result(self, timeout: float | None = None) -> Any:
        if self._state == FINISHED and self._exception is None:
            return self._result
        error = self.exception(timeout)
        if error is None:
            return self._result
        try:
            raise error
        finally:
            del error  # which holds this frame

    def done(self) -> bool:
        return self._state in DONE

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if self._state not in DONE:
            self._wait(timeout)
        if self._state == FINISHED:
            return self._exception
        if self._state in DONE:
            raise CancelledError
        raise FutureTimeoutError

    def _wait(self, timeout: float | None) -> None:
        """Until it is done, or some seconds."""
        self._keeper.require_own()
        self._keeper.refuse_own_thread(timeout)
        waiter = Waiter()
        lock = self._lock_of_state()
        with lock:
            if self._state in DONE:
                return
            self._waiters.append(waiter)
        try:
            with suppress(Empty):  # the caller finds that it is late
                waiter.told.get(timeout=None if timeout is None else max(timeout, 0))
        finally:
            with lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def end_unwatched(self, value: Any) -> bool:
        """The task has ended with this result, as the compiled part has it, and nobody has asked. False, and nothing is
        done, where somebody has. With the keeper's lock."""
        if self._own_condition is not None or self._decode is not None:
            return False
        self._result = value
        self._place = next(self._keeper.places)
        self._state = FINISHED  # last, as `result` looks without a lock
        return True

    def end_well(self, value: Any) -> None:
        """The same for all who wait. Nothing happens to a task that has been cancelled."""
        try:
            result = value if self._decode is None else self._decode(value)
        except Exception as error:
            self.end_badly(error)
            return
        self._take_place()
        with suppress(InvalidStateError):
            self.set_result(result)

    def end_badly(self, error: BaseException) -> None:
        self._take_place()
        with suppress(InvalidStateError):
            self.set_exception(error)

    def end_cancelled(self) -> None:
        """It never starts: at once for those who wait, as no thread of a pool takes it from a queue."""
        with self._condition:
            if self._state != PENDING:
                return
            self._take_place()
            self._state = CANCELLED_AND_NOTIFIED
            for waiter in self._waiters:
                waiter.add_cancelled(self)
            self._condition.notify_all()
        self._invoke_callbacks()  # type: ignore[attr-defined]

    def _take_place(self) -> None:
        if self._place is None:
            self._place = next(self._keeper.places)


def after_failure() -> TaskError:
    return TaskError("a task that it was to follow has failed")


class Predecessors:
    """What a task follows, as it is now."""

    def __init__(self, keeper: PoolKeeper, after: Sequence[Future[Any]]) -> None:
        self.tickets: list[int] = []
        """Of those that the compiled part knows."""
        self.others: list[Future[Any]] = []
        """Those that it does not, and that are not done."""
        self.have_failed = False
        for future in after:
            if future.done():
                self.have_failed |= future.cancelled() or future.exception() is not None
            elif isinstance(future, TaskFuture) and future._keeper is keeper and future._ticket is not None:
                self.tickets.append(future._ticket)
            else:
                self.others.append(future)


def as_futures(given: Iterable[Future[Any]] | Future[Any], what: str = "after must be") -> list[Future[Any]]:
    """What `after=` names; UsageError for what is no future."""
    if isinstance(given, Future):
        return [given]
    try:
        futures = list(given)
    except TypeError:
        raise UsageError(f"{what} a list of futures, not {given!r}") from None
    for future in futures:
        if not isinstance(future, Future):
            raise UsageError(f"{what} a list of futures, which {future!r} is not")
    return futures


class _Ends(threading.local):
    """What this thread has to tell of ends that follow from the one that it tells now."""

    left: deque[Callable[[], None]] | None = None


_ENDS = _Ends()


def _one_after_the_other(tell: Callable[[], None]) -> None:
    """Call `tell`, which may end futures whose callbacks come back here: those are called when it has returned. So a
    chain of any length ends, and not only as much of it as Python's stack holds."""
    if _ENDS.left is not None:
        _ENDS.left.append(tell)
        return
    _ENDS.left = deque([tell])
    interrupt: BaseException | None = None
    try:
        while _ENDS.left:
            try:
                _ENDS.left.popleft()()
            except BaseException as error:  # for which nobody else's end is forgotten
                interrupt = error
    finally:
        _ENDS.left = None
    if interrupt is not None:
        raise interrupt


class Held:
    """Starts a task when others are done, which the compiled part does not know. It ends without a start where one of
    them fails, and where it is cancelled before."""

    def __init__(
        self, keeper: PoolKeeper, future: TaskFuture, others: Sequence[Future[Any]], start: Callable[[], None]
    ) -> None:
        self._keeper = keeper
        self._future = future
        self._start = start
        self._left = len(others)
        self._lock = threading.Lock()
        future._is_held = True
        keeper.hold(future)
        for other in others:
            other.add_done_callback(self._one_done)

    def _one_done(self, other: Future[Any]) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        failed = other.cancelled() or other.exception() is not None
        if (last or failed) and os.getpid() == self._keeper.process:
            _one_after_the_other(lambda: self._go_on(failed))

    def _go_on(self, failed: bool) -> None:
        """All have ended, or one of them badly."""
        with self._keeper.lock:
            mine, self._future._is_held = self._future._is_held, False
        if mine:
            try:
                if failed:
                    self._future.end_badly(after_failure())
                else:
                    self._start()
            except BaseException as error:
                self._future.end_badly(error)
        self._keeper.let_go(self._future)

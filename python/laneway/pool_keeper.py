"""What keeps a pool of tasks going: the thread that tells futures of their ends, and the ways in which a pool ends.

The pool's users hold the `TaskPool`, the thread and the futures hold its keeper: a pool that nobody holds any more ends
as by `shutdown(wait=False)`, and one that is open as Python ends as by `shutdown()`.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import sys
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Callable

from laneway import _core
from laneway.errors import Error, PoolClosedError, SystemError, UsageError
from laneway.isolated_core import IsolatedCore
from laneway.task_future import TaskFuture

THREAD = "laneway.TaskPool"
"""How names of threads of pools begin."""
_THREAD = threading.local()
"""`host_of`: of which pool's Python functions the thread runs."""
_ALL: weakref.WeakSet[PoolKeeper] = weakref.WeakSet()
_ENDING = threading.Event()
"""Python ends, and has no more time for other pools."""


def refuse_as_python_ends() -> None:
    """PoolClosedError for a pool that nobody would end any more."""
    if _ENDING.is_set():
        raise PoolClosedError("cannot open a pool: Python is ending")


class PoolKeeper:
    """Any thread, but for `_run`."""

    def __init__(self, core: _core.TaskPoolCore | IsolatedCore, host_threads: int | None, timeout: float) -> None:
        self.core = core
        self.timeout = timeout
        self.process = os.getpid()
        self.lock = threading.RLock()
        """Held for moments, with nothing called inside; a signal handler may come in between."""
        self.refusal: str | None = None
        """Why the pool takes no more tasks; None while it does."""
        self._host_threads = host_threads
        self._host: ThreadPoolExecutor | None = None
        self._hosted: set[Future[Any]] = set()
        """Python functions that are not done."""
        self.places = itertools.count()
        """For tasks as they are done, in that order."""
        self._host_places: weakref.WeakKeyDictionary[Future[Any], int] = weakref.WeakKeyDictionary()
        self._held: set[Future[Any]] = set()
        self._is_ending = False
        self._failure: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=THREAD)
        _ALL.add(self)
        refuse_as_python_ends()  # behind that: else the pool is ended with all others
        try:
            self._thread.start()
        except RuntimeError as refused:  # else Python's end would wait for this pool's
            _ALL.discard(self)
            self._is_ending = True
            self._run()
            raise SystemError(f"the thread of a pool could not be started: {refused}") from None

    def is_of_parent(self) -> bool:
        """Whether this process was forked off: then it has no part in the pool."""
        return os.getpid() != self.process

    def require_own(self) -> None:
        """PoolClosedError in a process that was forked off."""
        if self.is_of_parent():
            raise PoolClosedError(self.refusal or _foreign(self.process))

    def refuse_own_thread(self, timeout: float | None) -> None:
        """UsageError for a callback of one task that waits without end for another: the same thread tells of both."""
        if timeout is None and self._thread is threading.current_thread():
            raise UsageError("a callback of a task cannot wait for another of the pool: give result a timeout")

    def require_open(self) -> None:
        if self.refusal is not None:
            raise PoolClosedError(self.refusal)

    def host(self) -> ThreadPoolExecutor:
        """Runs Python functions; made for the first of them."""
        with self.lock:
            if self._host is None:
                self._host = ThreadPoolExecutor(self._host_threads, f"{THREAD}.host", _become_host, (self,))
            return self._host

    def submit_host(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        call = _HostCall(function, args, kwargs)
        try:
            future = self.host().submit(call)
        except RuntimeError as refused:
            call.is_refused = True
            self.require_open()
            raise SystemError(f"a thread for Python functions could not be started: {refused}") from None
        self._hosted.add(future)
        future.add_done_callback(self._host_done)
        return future

    def _host_done(self, future: Future[Any]) -> None:
        self._host_places[future] = next(self.places)
        self._hosted.discard(future)

    def place_of(self, future: Future[Any]) -> float:
        """Of one that is done, among those of the pool; what others have done comes last."""
        if isinstance(future, TaskFuture):
            return math.inf if future._place is None or future._keeper is not self else future._place
        return self._host_places.get(future, math.inf)

    def waits_for_others(self) -> bool:
        """Whether all that is left follows futures that the pool itself does not complete."""
        with self.lock:
            return bool(self._held) and not self._hosted and self.core.open() == 0

    def is_over(self, seconds: float = 0) -> bool:
        """Whether the pool has ended, or does so within some time."""
        return self._over.wait(seconds)

    def hold(self, future: Future[Any]) -> None:
        """The pool does not end before this task has started or has been let go."""
        with self.lock:
            self._held.add(future)

    def let_go(self, future: Future[Any]) -> None:
        with self.lock:
            self._held.discard(future)
            wake = self.refusal is not None
        if wake:
            self.core.wake()

    def shut_down(self, cancel: bool = False) -> None:
        """Take no more tasks, and end when those that there are are done; does not wait."""
        if self.is_of_parent():
            return
        with self.lock:
            self.refusal = self.refusal or "cannot schedule new futures after shutdown: the pool has been shut down"
            held = list(self._held) if cancel else []
            host = self._host
        if cancel:
            for future in held:
                future.cancel()
            self.core.cancel_all()
            if host is not None:
                _cancel_waiting(host)
        self.core.wake()

    def end(self) -> None:
        """End at once: what is not done is lost."""
        if self.is_of_parent():
            return
        self.shut_down(cancel=True)
        self._is_ending = True
        self.core.wake()

    def join(self) -> None:
        """Wait until the pool has ended. An interrupt, Ctrl-C for instance, ends it at once."""
        if self.is_of_parent() or self._thread is threading.current_thread():
            return
        if getattr(_THREAD, "host_of", None) is self:
            raise UsageError("a task of the pool cannot wait for its end: shutdown(wait=False)")
        try:
            self._over.wait()  # as long as tasks take: a pool whose devices stand still ends at its timeout
        except BaseException:
            self.end()
            self._over.wait()
            raise
        finally:
            self._thread.join()  # for a moment: an interrupt of join would let Python 3.11 forget the thread

    def _run(self) -> None:
        try:
            while not self._is_ending:
                self._tell()
                if self._is_over():
                    break
        except BaseException as error:
            self._failure = error
        try:
            self._close()
        finally:
            self._over.set()

    def _is_over(self) -> bool:
        with self.lock:
            return self.refusal is not None and not self._held and self.core.open() == 0

    def _tell(self) -> bool:
        """Wait for tasks that have ended and tell their futures; whether there were some."""
        done, failed, cancelled = self.core.take_ended()
        with self.lock:
            watched = [end for end in done if not end[0].end_unwatched(end[1])]
        for future, value in watched:
            _told(future.end_well, value)
        for future, error in failed:
            _told(future.end_badly, error)
        for future in cancelled:
            _told(future.end_cancelled)
        return bool(done or failed or cancelled)

    def _close(self) -> None:
        abrupt = self._is_ending or self._failure is not None
        try:
            (self.core.end if abrupt else self.core.close)()
        except Error as error:
            self._failure = self._failure or error
        reason = f"the pool has ended: {self._failure}" if self._failure else "the pool has been shut down"
        with self.lock:
            self.refusal = self.refusal or reason
            held, self._held = self._held, set()
            host = self._host
        while self._tell():
            pass
        for future in held:
            if isinstance(future, TaskFuture):
                future.end_badly(PoolClosedError(reason))
        if host is not None:
            if abrupt:
                _cancel_waiting(host)
            host.shutdown(wait=not abrupt)


class _HostCall:
    """A call of a Python function. One whose thread could not be started stays queued, for threads that have been, and
    does nothing then, unless one of them takes it before it is marked."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.is_refused = False
        self._call = partial(function, *args, **kwargs)

    def __call__(self) -> Any:
        return None if self.is_refused else self._call()


def _become_host(keeper: PoolKeeper) -> None:
    _THREAD.host_of = keeper


def _told(tell: Callable[..., None], *end: Any) -> None:
    """Tell a future of its end. A callback that would end its thread, by SystemExit for instance, does not end it."""
    try:
        tell(*end)
    except BaseException:
        logging.getLogger("concurrent.futures").exception("exception calling callback of a task's future")


def _cancel_waiting(host: ThreadPoolExecutor) -> None:
    host.shutdown(wait=False, cancel_futures=True)


def _foreign(process: int) -> str:
    return f"the pool belongs to process {process}, which this one was forked from: open a pool here"


def _leave_to_parent() -> None:
    """In a process that was forked off: the pools and their threads are another's."""
    for keeper in list(_ALL):
        keeper.refusal = _foreign(keeper.process)
        keeper.lock = threading.RLock()  # some thread of the parent may have held it


def _end_all() -> None:
    """As Python ends: tasks that were submitted are done first, as with the executors of the standard library, unless
    an interrupt ends Python, or comes now."""
    _ENDING.set()
    keepers = [keeper for keeper in _ALL if keeper.process == os.getpid()]
    interrupted = getattr(sys, "last_type", None)
    try:
        if isinstance(interrupted, type) and issubclass(interrupted, KeyboardInterrupt):
            raise KeyboardInterrupt
        for keeper in keepers:
            keeper.shut_down()
        _wait_for_last(keepers)
    except BaseException:
        for keeper in keepers:
            keeper.end()
    for keeper in keepers:
        keeper.join()


def _wait_for_last(keepers: list[PoolKeeper]) -> None:
    """Wait for pools that take no more tasks. What follows futures that nobody completes is cancelled: at once where no
    other thread is left that could, else after the pool's timeout."""
    since = time.monotonic()
    while left := [keeper for keeper in keepers if not keeper.is_over()]:
        if not all(keeper.waits_for_others() for keeper in left):
            since = time.monotonic()
        elif not _is_anyone_else() or time.monotonic() - since > max(keeper.timeout for keeper in left):
            logging.getLogger("laneway").warning("tasks that follow futures which nobody completes are cancelled")
            for keeper in left:
                keeper.shut_down(cancel=True)
        left[0].is_over(seconds=0.02)


def _is_anyone_else() -> bool:
    """Whether there is a thread that is no pool's, and might complete a future."""
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    return not all(thread.name.startswith(THREAD) for thread in others)


os.register_at_fork(after_in_child=_leave_to_parent)
# Before Python waits for its threads, as concurrent.futures does it.
_at_thread_exit: Callable[[Callable[[], None]], None] = threading._register_atexit  # type: ignore[attr-defined]
_at_thread_exit(_end_all)

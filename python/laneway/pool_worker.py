"""The process in which an isolated pool has its devices; `isolated_core` is the other end.

A task is known by the number that the pool gave it. Messages are lists of tuples whose first word is a method's name.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from laneway import _core
from laneway.arguments import job_options
from laneway.body_library import load_content
from laneway.channel import Channel
from laneway.errors import CudaError, Error, PoolFullError
from laneway.task_future import after_failure
from laneway.task_kinds import is_body


class PoolJob(NamedTuple):
    """What a worker needs to open its devices."""

    devices: str
    seed: int
    timeout: float
    buffer_bytes: int
    capacity: int
    bundle: int
    batch_bytes: int
    operand_bytes: int

    def open(self) -> _core.TaskPoolCore:
        job = job_options(self.devices, self.seed, self.timeout, False, self.buffer_bytes)
        return _core.TaskPoolCore(job, self.capacity, self.bundle, self.batch_bytes, self.operand_bytes)


class TaskOrder(NamedTuple):
    """A task as the compiled part takes it, but for the numbers of those that it follows."""

    number: int
    type: int
    setting: int
    inputs: Any
    output_bytes: int
    kind: str
    tasks: int
    """Of a batch; 0: a single one."""
    priority: int
    after: list[int]
    timeout: float
    wait: bool
    is_awaited: bool
    """Whether somebody waits to hear that the task was taken or refused."""


MIN_BATCH_BYTES = 12
"""That a task of a batch takes of `batch_bytes`."""


def main(descriptor: int, parent: int) -> None:
    """Serve the pool of the process `parent` until it closes it or is gone."""

    def leave_orphaned() -> None:
        if os.getppid() != parent:  # a process forked off the parent may hold the other end open
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to act on
    channel = Channel(socket.socket(fileno=descriptor), leave_orphaned)
    try:
        try:
            job = PoolJob(*channel.receive())
            core = job.open()
        except Error as error:
            channel.send(("refused", error))
            return
        channel.send(("ready", core.devices(), core.architectures(), core.statistics().workers))
        PoolWorker(core, job.batch_bytes, channel).serve()
    except ConnectionError:
        os._exit(1)  # the parent is gone


class PoolWorker:
    """Three threads: one takes what the parent sends, one tells it of ends, and one has programs with other bodies take
    over, which waits for tasks."""

    def __init__(self, core: _core.TaskPoolCore, batch_bytes: int, channel: Channel) -> None:
        self._core = core
        self._batch_bytes = batch_bytes
        self._channel = channel
        self._lock = threading.Lock()
        self._tickets: dict[int, int] = {}
        """Of tasks that have not ended."""
        self._bad: set[int] = set()
        """Those that have not ended well, until the parent forgets them."""
        self._blocked: dict[int, TaskOrder] = {}
        """What waits for room, for its body, or for such a task, in order."""
        self._bodies: dict[int, int] = {}
        """Addresses of bodies by those in the parent's process."""
        self._links: queue.SimpleQueue[tuple[int, dict[int, int], dict[int, bytes]]] = queue.SimpleQueue()
        self._linked: set[int] = set()
        """Addresses of bodies that the GPUs have."""
        self._unlinked: set[int] = set()
        """Of those that they are about to get, whose tasks wait."""
        self._is_closing = False

    def serve(self) -> None:
        """Ends the process."""
        try:
            for loop in (self._listen, self._link_all):
                threading.Thread(target=self._guarded, args=(loop,), daemon=True).start()
        except RuntimeError as refused:
            print(f"laneway: a pool's process could not start a thread: {refused}", file=sys.stderr, flush=True)
            os._exit(3)
        self._guarded(self._take)

    def _guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except ConnectionError:
            os._exit(1)  # the parent is gone
        except BaseException:
            traceback.print_exc()
            os._exit(3)  # which the parent takes for a crash

    def _take(self) -> None:
        while True:
            for word, *given in self._channel.receive():
                getattr(self, word)(*given)

    def body(self, address: int, library: bytes) -> None:
        self._bodies[address] = load_content(library)

    def link(self, question: int, numbers: dict[int, int], code: dict[int, bytes]) -> None:
        ours = {self._bodies[address]: number for address, number in numbers.items()}
        with self._lock:
            self._unlinked.update(ours.keys() - self._linked)
        self._links.put((question, ours, code))

    def _link_all(self) -> None:
        while True:
            question, numbers, code = self._links.get()
            answer: Error | str = "linked"
            try:
                self._core.link(numbers, code)
            except Error as error:
                answer = error
            with self._lock:
                if answer == "linked":
                    self._linked.update(numbers)
                self._unlinked.difference_update(numbers)
            self._core.wake()  # for what has waited
            self._send(("reply", question, answer))

    def submit(self, order: TaskOrder) -> None:
        if is_body(order.type):
            order = order._replace(setting=self._bodies[order.setting])
        with self._lock:
            if not self._try(order, may_wait=order.wait):
                self._blocked[order.number] = order
                self._core.wake()  # nothing may be open that would end and make room

    def cancel(self, question: int, number: int) -> None:
        with self._lock:
            was_blocked = self._blocked.pop(number, None) is not None
            if was_blocked:
                self._bad.add(number)
            ticket = self._tickets.get(number)
        done = was_blocked or (ticket is not None and self._core.cancel(ticket))
        if was_blocked:
            self._send(("ended", [], [], [number], *self._progress()))
        self._send(("reply", question, done))

    def is_given(self, question: int, number: int) -> None:
        with self._lock:
            ticket = self._tickets.get(number)
        self._send(("reply", question, ticket is not None and self._core.is_given(ticket)))

    def cancel_all(self, question: int) -> None:
        with self._lock:
            cancelled = list(self._blocked)
            self._bad.update(cancelled)
            self._blocked.clear()
        self._core.cancel_all()
        self._send(("ended", [], [], cancelled, *self._progress()))
        self._send(("reply", question, None))

    def forget(self, numbers: list[int]) -> None:
        with self._lock:
            self._bad.difference_update(numbers)

    def ping(self) -> None:
        self._send(("pong",))

    def close(self) -> None:
        self._is_closing = True
        self._core.wake()

    def _try(self, order: TaskOrder, may_wait: bool) -> bool:
        """Whether the task has been submitted, or refused; else it waits. With the lock."""
        if not self._bad.isdisjoint(order.after):
            self._bad.add(order.number)
            self._send(("ended", [], [(order.number, after_failure())], [], *self._progress()))
            return True
        if self._waits_for_other(order):
            return False
        tickets = [self._tickets[number] for number in order.after if number in self._tickets]
        fits = order.tasks * MIN_BATCH_BYTES <= self._batch_bytes
        try:
            self._tickets[order.number] = self._core.submit(  # type: ignore[assignment]  # the lock keeps tickets known
                *order[:8], tickets, order.timeout, False
            )
        except PoolFullError as error:
            if may_wait and fits:
                return False
            self._bad.add(order.number)
            self._send(("refused", order.number, error))
        except Error as error:
            self._bad.add(order.number)
            self._send(("refused", order.number, error))
        else:
            if order.is_awaited:
                self._send(("accepted", order.number))
        return True

    def _waits_for_other(self, order: TaskOrder) -> bool:
        """Whether it waits for one that waits itself, or for its body. With the lock."""
        is_unlinked = is_body(order.type) and order.setting in self._unlinked
        return is_unlinked or any(number in self._blocked for number in order.after)

    def _listen(self) -> None:
        while True:
            try:
                is_quiet = not self._tell()
            except CudaError as error:
                self._crash(error)
            except Error as error:
                self._finish(error)
            with self._lock:
                # Batches that have ended keep their memory until the next look at ends.
                is_last_chance = is_quiet and self._core.open() == 0
                for number, order in list(self._blocked.items()):
                    del self._blocked[number]
                    if not self._try(order, may_wait=not is_last_chance):
                        self._blocked[number] = order
                if self._core.open() == 0 and not all(map(self._waits_for_other, self._blocked.values())):
                    self._core.wake()
                is_over = self._is_closing and not self._blocked
            if is_over:
                self._finish(None)

    def _tell(self) -> bool:
        """Whether there was something to tell."""
        done, failed, cancelled = self._core.take_ended()
        if not (done or failed or cancelled):
            return False
        with self._lock:
            self._bad.update(number for number, _ in failed)
            self._bad.update(cancelled)
            for number in (*(number for number, _ in done), *(number for number, _ in failed), *cancelled):
                self._tickets.pop(number, None)
        self._send(("ended", done, failed, cancelled, *self._progress()))
        return True

    def _crash(self, error: CudaError) -> NoReturn:
        """A GPU does nothing more for a process in which a kernel has crashed. Unlike `_finish`, the pool goes on."""
        self._send(("crashed", str(error)))
        os._exit(3)

    def _finish(self, failure: Error | None) -> None:
        """Close the devices, tell what that has ended, and end the process."""
        self._send(("over", failure))
        with suppress(Error):  # what has ended the session, which the parent has been told
            (self._core.close if failure is None else self._core.end)()
        while self._tell():
            pass
        os._exit(0)

    def _progress(self) -> tuple[list[int], int]:
        so_far = self._core.statistics()
        return list(so_far.entries), so_far.bundles

    def _send(self, message: tuple[Any, ...]) -> None:
        self._channel.send(message)

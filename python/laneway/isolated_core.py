"""Devices of a pool in a worker process of their own, in the place of `_core.TaskPoolCore`, whose methods these are.

Three threads of the parent take part, which the keeper's is not one of: callers put orders into a queue, from where one
thread sends them; another receives what comes back, and replaces a process that has ended. So an interrupt of a caller
leaves no message half sent, and a callback may ask the process something.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from laneway._core import TaskStatistics
from laneway.body_library import content_at
from laneway.errors import Error, PoolClosedError, SystemError, TaskError, TaskWorkerDied, UsageError
from laneway.pool_worker import PoolJob, TaskOrder
from laneway.task_future import after_failure
from laneway.task_kinds import is_body
from laneway.worker_process import WorkerProcess

TRIES = 2
"""A task that was unfinished at the end of so many processes has failed."""
STARTS = 2
"""Processes that are started in the place of one, where they end before their devices are open."""
SENT_TOGETHER = 512
CANCEL_SECONDS = 2.0
"""That the end of a pool waits for all tasks to be cancelled, by a process that may be stuck."""
CLOSE_SECONDS = 60.0
"""In which a process without tasks has closed its devices."""


class Record:
    """A task that has not ended."""

    __slots__ = ("after_bad", "answer", "followers", "future", "is_cancelled", "order", "process", "tries")

    def __init__(self, future: Any, order: TaskOrder) -> None:
        self.future = future
        self.order = order
        self.process: WorkerProcess | None = None
        """Which has it; None before one does."""
        self.tries = 0
        self.followers: list[Record] = []
        self.is_cancelled = False
        self.after_bad = False
        """Whether a task that it follows has not ended well."""
        self.answer: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        """None where it was taken, else why it was not."""


class LinkedBodies(NamedTuple):
    """What the GPUs of a process have, as `TaskPoolCore.link` takes it."""

    numbers: dict[int, int]
    code: dict[int, bytes]


Ends = tuple[list[tuple[Any, Any]], list[tuple[Any, Exception]], list[Any]]


class IsolatedCore:
    """Any thread, but for `take_ended`, `close` and `end`, which are the keeper's thread's."""

    def __init__(self, job: PoolJob) -> None:
        self._job = job
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._numbers = itertools.count(1)
        self._records: dict[int, Record] = {}
        self._told: dict[int, bool] = {}
        """Of tasks whose futures are told now: whether they have ended well."""
        self._given: list[int] = []
        self._untaken = 0
        self._ends: queue.SimpleQueue[tuple[list[int], Ends] | None] = queue.SimpleQueue()
        self._orders: queue.SimpleQueue[Record | tuple[Any, ...]] = queue.SimpleQueue()
        self._questions: dict[int, queue.SimpleQueue[Any]] = {}
        self._want_room: list[queue.SimpleQueue[None]] = []
        self._done = self._failed = 0
        self._is_closed = self._is_ending = self._is_cancelling = False
        self._failure: Error | None = None
        self._is_failure_known = False
        self._over = threading.Event()
        self._crash: str | None = None
        """Why the process is about to end, where it has said so."""
        self._heard = time.monotonic()
        self._asked: float | None = None
        """When the process was asked for a sign of life."""
        process = WorkerProcess(job, self._look)
        self._process: WorkerProcess | None = process
        self._devices, self._architectures = process.devices, process.architectures
        self._linked: LinkedBodies | None = None
        self._workers = process.workers
        self._past_entries, self._past_bundles = [0] * len(process.devices), 0
        self._entries, self._bundles = [0] * len(process.devices), 0
        loops = (self._write, self._read)
        self._threads = [threading.Thread(target=loop, name="laneway.TaskPool.worker", daemon=True) for loop in loops]
        for thread in self._threads:
            thread.start()

    def devices(self) -> list[str]:
        return self._devices

    def has_gpus(self) -> bool:
        return bool(self._architectures)

    def architectures(self) -> list[int]:
        return self._architectures

    def link(self, numbers: dict[int, int], code: dict[int, bytes]) -> None:
        """For the process, and those that take its place. TaskWorkerDied where it ends meanwhile."""
        with self._lock:
            before = self._linked
            self._linked = LinkedBodies(numbers, code or (before.code if before is not None else {}))
        answer = None
        try:
            answer = self._ask("link")
        finally:
            if answer != "linked":
                with self._lock:
                    self._linked = before
        if isinstance(answer, Error):
            raise answer
        if answer is None:
            raise TaskWorkerDied("the pool's worker process ended before its GPUs had the body")

    def submit(
        self,
        future: Any,
        type: int,
        setting: int,
        inputs: Any,
        output_bytes: int,
        kind: str,
        count: int,
        priority: int,
        after: Sequence[int],
        timeout: float,
        wait: bool,
    ) -> int | None:
        """Batches, and tasks that are not to wait, return when the process has taken them."""
        if isinstance(inputs, np.ndarray):  # which may change until it has been sent, or must be again
            inputs = inputs.copy()
        if wait:
            self._wait_for_room()
        is_awaited = count > 0 or not wait
        order = TaskOrder(
            next(self._numbers),
            type,
            setting,
            inputs,
            output_bytes,
            kind,
            count,
            priority,
            list(after),
            timeout,
            wait,
            is_awaited,
        )
        record = Record(future, order)
        if not self._add(record):
            return None
        if is_awaited:
            self._wait_for_answer(record)
        return order.number

    def take_ended(self) -> Ends:
        with self._lock:
            bad = [number for number in self._given if not self._told.pop(number)]
            self._given = []
        if bad:
            self._orders.put(("forget", bad))
        found = None
        with suppress(queue.Empty):
            found = self._ends.get(timeout=0.0 if self._over.is_set() else 1.0)
            while found is None:  # woken up
                found = self._ends.get_nowait()
        if self._failure is not None and not self._is_failure_known:
            self._is_failure_known = True
            if found is not None:
                self._ends.put(found)
            raise self._failure
        if found is None:
            return [], [], []
        numbers, ends = found
        with self._lock:
            self._given = numbers
            self._untaken -= len(numbers)
        return ends

    def wake(self) -> None:
        self._ends.put(None)

    def open(self) -> int:
        with self._lock:
            return len(self._records) + self._untaken

    def cancel(self, ticket: int) -> bool:
        is_cancelled = ticket in self._records and bool(self._ask("cancel", ticket))
        record = self._records.get(ticket)
        if is_cancelled and record is not None:  # also where the process ends before it tells
            record.is_cancelled = True
        return is_cancelled

    def is_given(self, ticket: int) -> bool:
        return ticket in self._records and bool(self._ask("is_given", ticket))

    def cancel_all(self) -> None:
        self._is_cancelling = True
        self._ask("cancel_all", seconds=CANCEL_SECONDS)

    def statistics(self) -> TaskStatistics:
        with self._lock:
            open_ = sum(max(record.order.tasks, 1) for record in self._records.values())
            entries = [past + now for past, now in zip(self._past_entries, self._entries)]
            bundles = self._past_bundles + self._bundles
            return TaskStatistics(self._done + open_, self._done, self._failed, entries, bundles, self._workers)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        self._orders.put(("close",))
        if self._over.wait(CLOSE_SECONDS):
            self._join()
        else:
            self.end()
        if self._failure is not None:
            self._is_failure_known = True
            raise self._failure

    def end(self) -> None:
        with self._lock:
            self._is_closed = self._is_ending = True
            self._is_failure_known = True
            process = self._process
        ends_itself = self._failure is not None and self._over.wait(CLOSE_SECONDS)
        if process is not None and not ends_itself:
            process.end()
        self._over.wait(CLOSE_SECONDS)
        self._join()

    def _join(self) -> None:
        """Python should not end while such threads run: it stops them anywhere, with locks that they hold."""
        self._orders.put(("close",))
        for thread in self._threads:
            thread.join(CLOSE_SECONDS)

    def _add(self, record: Record) -> bool:
        """False where one that it is to follow has ended and been told."""
        try:
            with self._lock:
                if self._is_closed:
                    raise PoolClosedError(self._reason() if self._failure else "the pool takes no more tasks")
                for number in record.order.after:
                    if number not in self._records and number not in self._told:
                        return False
                for number in record.order.after:
                    if number in self._records:
                        self._records[number].followers.append(record)
                    elif not self._told[number]:
                        record.after_bad = True
                self._records[record.order.number] = record
                self._orders.put(record)
        except UsageError:
            raise
        except BaseException:  # an interrupt, perhaps between the last two
            self._orders.put(record)
            raise
        return True

    def _wait_for_answer(self, record: Record) -> None:
        try:
            refusal = _patient(record.answer)  # the pool ends all its tasks where its process does not answer
        except BaseException:
            self._orders.put(("cancel", 0, record.order.number))  # nobody asks for the reply
            raise
        if refusal is not None:
            raise refusal

    def _wait_for_room(self) -> None:
        while len(self._records) >= self._job.capacity and not self._is_closed:
            room: queue.SimpleQueue[None] = queue.SimpleQueue()
            self._want_room.append(room)
            if len(self._records) >= self._job.capacity:  # else it was made before it was asked for
                with suppress(queue.Empty):
                    room.get(timeout=1.0)

    def _ask(self, word: str, *given: int, seconds: float = float("inf")) -> Any:
        """None where the process ends before it answers, which it does where it says nothing, or after some time."""
        end = time.monotonic() + seconds
        question = next(self._numbers)
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._questions[question] = answer
        self._orders.put((word, question, *given))
        try:
            while not self._over.is_set() and time.monotonic() < end:
                with suppress(queue.Empty):
                    return answer.get(timeout=min(1.0, seconds))
            return None
        finally:
            self._questions.pop(question, None)

    # The thread that sends.

    def _write(self) -> None:
        while True:
            orders = [self._orders.get()]
            with suppress(queue.Empty):
                while len(orders) < SENT_TOGETHER:
                    orders.append(self._orders.get_nowait())
            with self._lock:
                self._changed.wait_for(lambda: self._process is not None or self._over.is_set())
                process = self._process
                if process is None:
                    return
                # All under one hold of the lock: a record that says which process has it is that process's to sort out.
                messages = self._messages(orders, process)
            self._send(process, messages)

    def _messages(self, orders: list[Record | tuple[Any, ...]], process: WorkerProcess) -> list[tuple[Any, ...]]:
        try:
            return [message for order in orders for message in self._messages_of(order, process)]
        except Exception as error:
            self._stop_sending(process, error)
            return []

    def _send(self, process: WorkerProcess, messages: list[tuple[Any, ...]]) -> None:
        try:
            process.channel.send(messages)
        except ConnectionError:
            process.process.kill()  # the other thread sees to the rest
        except Exception as error:
            self._stop_sending(process, error)

    def _stop_sending(self, process: WorkerProcess, error: Exception) -> None:
        """Too little memory, for instance."""
        self._on_over(SystemError(f"tasks cannot be sent to the pool's worker process: {error!r}"))
        process.process.kill()

    def _messages_of(self, order: Record | tuple[Any, ...], process: WorkerProcess) -> list[tuple[Any, ...]]:
        if not isinstance(order, Record):
            if order[0] != "link":
                return [order]
            return self._link_messages(order[1], process) if order[1] in self._questions else []
        number, after = order.order.number, order.order.after
        if number not in self._records or order.process is not None:
            return []
        before = [self._records[other] for other in after if other in self._records]
        if any(other.process is not process for other in before):
            self._orders.put(order)  # behind those that it follows, which are still to be sent
            return []
        if order.is_cancelled or order.after_bad:
            self._drop(order)
            return []
        order.process = process
        order.tries += 1
        if not is_body(order.order.type):
            return [("submit", order.order)]
        # A process that has taken the place of another has no bodies yet.
        is_new = self._linked is not None and process.linked is not self._linked
        messages = self._link_messages(0, process) if is_new else []
        return [*messages, *_body_messages([order.order.setting], process), ("submit", order.order)]

    def _link_messages(self, question: int, process: WorkerProcess) -> list[tuple[Any, ...]]:
        process.linked = self._linked
        if self._linked is None:  # whoever has asked has just been told that the process ended
            return []
        return [*_body_messages(self._linked.numbers, process), ("link", question, *self._linked)]

    # The thread that receives.

    def _read(self) -> None:
        process = self._process
        try:
            while process is not None:
                try:
                    self._hear(process)
                except ConnectionError:
                    process = self._replaced(process)
                except Exception as error:
                    self._on_over(SystemError(f"the pool's worker process cannot be heard: {error!r}"))
                    process.process.kill()  # which the next look finds
        except BaseException as error:  # nobody else tells of the tasks that are open
            if process is not None:
                process.process.kill()
            self._on_over(SystemError(f"the pool's worker process cannot be replaced: {error!r}"))
            self._end_all(self._reason())
        with self._lock:
            self._over.set()
            self._process = None
            self._changed.notify_all()
        self._make_room()

    def _hear(self, process: WorkerProcess) -> None:
        word, *given = process.channel.receive()
        self._heard, self._asked = time.monotonic(), None
        getattr(self, f"_on_{word}")(*given)

    def _look(self) -> None:
        """Ends a process with tasks that says nothing, though it was asked."""
        now = time.monotonic()
        if not self._records:
            self._heard = now
        elif self._asked is None and now - self._heard > self._job.timeout:
            self._asked = now
            self._orders.put(("ping",))
        elif self._asked is not None and now - self._asked > self._job.timeout:
            raise ConnectionError("no sign of life")

    def _on_pong(self) -> None:
        pass

    def _on_reply(self, question: int, value: Any) -> None:
        answer = self._questions.get(question)
        if answer is not None:
            answer.put(value)

    def _on_accepted(self, number: int) -> None:
        record = self._records.get(number)
        if record is not None:
            record.answer.put(None)

    def _on_refused(self, number: int, error: Exception) -> None:
        with self._lock:
            record = self._records.get(number)
            if record is None:
                return
            if not record.order.is_awaited:
                self._end([], [(number, error)], [])
                return
            del self._records[number]
            self._orders.put(("forget", [number]))
        record.answer.put(error)
        self._make_room()

    def _on_ended(
        self,
        done: list[tuple[int, Any]],
        failed: list[tuple[int, Exception]],
        cancelled: list[int],
        entries: list[int],
        bundles: int,
    ) -> None:
        with self._lock:
            self._entries, self._bundles = entries, bundles
            self._end(done, failed, cancelled)

    def _on_crashed(self, why: str) -> None:
        self._crash = why

    def _on_over(self, failure: Error | None) -> None:
        """The session has ended, and the process is about to, once it has told of all tasks."""
        with self._lock:
            self._is_closed = self._is_ending = True
            self._failure = failure
        self.wake()

    def _end(self, done: list[tuple[int, Any]], failed: list[tuple[int, Exception]], cancelled: list[int]) -> None:
        """With the lock."""
        numbers: list[int] = []
        ends: Ends = ([], [], [])
        for number, value in done:
            ends[0].append((self._ended(number, True, numbers).future, value))
        for number, error in failed:
            ends[1].append((self._ended(number, False, numbers).future, error))
        for number in cancelled:
            ends[2].append(self._ended(number, False, numbers).future)
        if numbers:
            self._untaken += len(numbers)
            self._ends.put((numbers, ends))
            self._make_room()

    def _ended(self, number: int, well: bool, numbers: list[int]) -> Record:
        record = self._records.pop(number)
        self._told[number] = well
        self._done += max(record.order.tasks, 1)
        self._failed += not well
        numbers.append(number)
        if not well:
            for follower in record.followers:
                follower.after_bad = True
        record.answer.put(None)
        return record

    def _drop(self, record: Record) -> None:
        """The end of a task that is not to start."""
        if record.after_bad:
            self._end_here([record], after_failure())
        else:
            self._end([], [], [record.order.number])

    def _end_here(self, records: list[Record], error: Exception) -> None:
        self._end([], [(record.order.number, error) for record in records], [])

    def _make_room(self) -> None:
        with suppress(IndexError):  # when all are told; two threads may be at it
            while True:
                self._want_room.pop().put(None)

    def _replaced(self, process: WorkerProcess) -> WorkerProcess | None:
        """Another process in the place of one that has ended, or must; None where there is to be none."""
        how = self._last_words(process)
        with self._lock:
            self._process = None
            for answer in list(self._questions.values()):
                answer.put(None)
            self._past_entries = [past + now for past, now in zip(self._past_entries, self._entries)]
            self._past_bundles += self._bundles
            self._entries, self._bundles = [0] * len(self._devices), 0
            if self._is_closed and not self._records and self._failure is None:
                return None  # it was about to end
            if not self._is_ending:
                self._sort_out(process, how)
        if self._is_ending:
            self._end_all(self._reason() if self._failure else "the pool was ended before the task was done")
            return None
        try:
            made = self._started()
        except Error as error:
            self._on_over(TaskWorkerDied(f"{how}, and no other can be started: {error}"))
            self._end_all(str(self._failure))
            return None
        with self._lock:
            self._heard, self._asked = time.monotonic(), None
            if self._is_ending:  # meanwhile
                made.end()
            self._process = made
            self._changed.notify_all()
        return made

    def _started(self) -> WorkerProcess:
        """Another process. Who kills one after the other may meet one that has not opened its devices yet."""
        for _ in range(STARTS - 1):
            with suppress(TaskWorkerDied):
                return WorkerProcess(self._job, self._look)
            if self._is_ending:
                break
        return WorkerProcess(self._job, self._look)

    def _last_words(self, process: WorkerProcess) -> str:
        """How it has ended, after what it had sent until then."""
        is_stuck = self._asked is not None and time.monotonic() - self._asked > self._job.timeout
        how = process.end() if is_stuck else process.last_words()
        with suppress(ConnectionError):
            while is_stuck:
                self._hear(process)
        process.channel.close()
        if self._crash is not None:
            how, self._crash = f"{how} ({self._crash})", None
        return f"{how}, as it did not answer for {self._job.timeout:g} s" if is_stuck else how

    def _sort_out(self, process: WorkerProcess, how: str) -> None:
        """Tasks that a process has left unfinished are cancelled, fail, or are to be sent to the next. With the
        lock."""
        for record in [self._records[number] for number in sorted(self._records)]:
            if record.process is not process or record.order.number not in self._records:
                continue
            if self._is_cancelling or record.is_cancelled or record.after_bad:
                self._drop(record)
            elif record.tries >= TRIES:
                self._end_here([record], TaskWorkerDied(f"{how} while it had the task, as one had before it"))
            else:
                record.process = None
                self._orders.put(record)

    def _reason(self) -> str:
        return f"the pool has ended: {self._failure}"

    def _end_all(self, why: str) -> None:
        with self._lock:
            self._is_closed = True
            self._end_here(list(self._records.values()), TaskError(why))


def _patient(answer: queue.SimpleQueue[Any]) -> Any:
    while True:
        with suppress(queue.Empty):
            return answer.get(timeout=1.0)


def _body_messages(addresses: Iterable[int], process: WorkerProcess) -> list[tuple[Any, ...]]:
    """Bodies that the process has not got yet."""
    new = [address for address in addresses if address not in process.bodies]
    process.bodies.update(new)
    return [("body", address, content_at(address)) for address in new]

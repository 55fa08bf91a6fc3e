"""Isolated pools: their worker process is killed, stopped and orphaned, and no finished task is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from gates import COUNT, WORD, Gate, Word
from laneway import isolated_core, pool_worker

HELD = f"""{WORD}
std::uint32_t held(std::uint64_t started, std::uint64_t gate) {{
    word(started).fetch_add(1);
    while (word(gate).load() == 0) std::this_thread::yield();
    return word(gate).load();
}}
"""


@pytest.fixture(scope="module")
def square() -> lw.TaskBody:
    return lw.TaskBody("double square(double x) { return x * x; }")


@pytest.fixture
def pool() -> Iterator[lw.TaskPool]:
    with lw.TaskPool("cpu:1", isolate=True) as made:
        yield made


def worker_of(pool: lw.TaskPool) -> int:
    """The process of a pool that has one."""
    core: Any = pool._keeper.core
    wait_for(lambda: core._process is not None)
    return int(core._process.process.pid)


def wait_for(event: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not event():
        assert time.monotonic() < end
        time.sleep(0.001)  # between two looks


def kill(pool: lw.TaskPool) -> None:
    os.kill(worker_of(pool), signal.SIGKILL)


def lives(process: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_of_its_own(pool: lw.TaskPool) -> None:
    who = lw.TaskBody("#include <unistd.h>\nint who() { return getpid(); }")
    first = worker_of(pool)
    assert pool.submit(who).result() == first != os.getpid()
    assert pool.submit(os.getpid).result() == os.getpid(), "Python functions run here"
    pool.shutdown()
    assert not lives(first)


@pytest.mark.parametrize("count", [10, 300_000])
def test_arrays_small_and_large(pool: lw.TaskPool, square: lw.TaskBody, count: int) -> None:
    given = np.arange(float(count))
    found = [pool.submit_many(square, given + i) for i in range(4)]
    for i, future in enumerate(found):
        assert np.array_equal(future.result(), (given + i) ** 2)
    a = np.ones((2 * count // 1000 + 1,) * 2, np.float32)
    assert np.array_equal(pool.submit("matmul", a, a).result(), a @ a)


def test_what_was_unfinished_is_retried_and_nothing_finished_runs_again(square: lw.TaskBody) -> None:
    count, counted = lw.TaskBody(COUNT), Word()
    with Gate() as gate, lw.TaskPool("cpu:2", isolate=True) as pool:
        finished = [pool.submit(count, counted.place) for _ in range(10)]
        assert sorted(future.result() for future in finished) == list(range(10))
        held = gate.hold(pool, 2)
        wait_for(lambda: all(future.running() for future in held))
        single = [pool.submit(square, i) for i in range(300)]
        batches = [pool.submit_many(square, np.arange(1000.0) + i) for i in range(10)]
        behind = pool.submit(square, 7, after=[held[0], batches[3]])
        host = pool.submit(pow, 2, 5, after=[single[5]])
        lost = pool.submit(square, 1)
        assert lost.cancel()
        ends: Counter[Future[Any]] = Counter()
        for future in (*held, *single, *batches, behind, host):
            future.add_done_callback(lambda one: ends.update([one]))
        kill(pool)
        gate.open()
        assert [future.result() for future in held] == [1, 1]
        assert [future.result() for future in single] == [i * i for i in range(300)]
        for i, batch in enumerate(batches):
            assert np.array_equal(batch.result(), (np.arange(1000.0) + i) ** 2)
        assert (behind.result(), host.result(), lost.cancelled()) == (49, 32, True)
    assert set(ends.values()) == {1} and len(ends) == 314
    assert counted.value == 10
    statistics = pool.statistics
    assert statistics.submitted == statistics.done == 10 + 2 + 300 + 10_000 + 2
    assert statistics.failed == 1


def test_a_second_end_is_an_exception(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    body, started = lw.TaskBody(HELD), Word()
    with Gate() as gate:
        unlucky = pool.submit(body, started.place, gate.place)
        behind = pool.submit(square, 1, after=[unlucky])
        wait_for(lambda: started.value == 1)
        kill(pool)
        wait_for(lambda: started.value == 2)
        once = pool.submit_many(square, [1.0, 2.0])
        kill(pool)
        with pytest.raises(lw.TaskWorkerDied) as caught:
            unlucky.result(60)
        assert str(caught.value).startswith("the pool's worker process ")
        assert str(caught.value).endswith(" was ended by SIGKILL while it had the task, as one had before it")
        with pytest.raises(lw.TaskError, match="a task that it was to follow has failed"):
            behind.result(60)
        assert once.result(60).tolist() == [1, 4]
        assert pool.submit(square, 5).result(60) == 25, "the pool goes on"
        assert started.value == 2


def test_a_body_that_crashes_harms_what_is_behind_it_once(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    crash = lw.TaskBody("#include <csignal>\nint crash(int x) { if (x) raise(SIGSEGV); return x; }")
    bad = pool.submit(crash, 1)
    with pytest.raises(lw.TaskWorkerDied, match="was ended by SIGSEGV"):
        bad.result(60)
    assert pool.submit(crash, 0).result(60) == 0
    assert isinstance(pool.submit_many(crash, [0, 0, 1]).exception(60), lw.TaskWorkerDied)
    assert pool.submit(square, 3).result(60) == 9
    leave = lw.TaskBody("#include <unistd.h>\nint leave() { _exit(7); }")
    with pytest.raises(lw.TaskWorkerDied, match="has ended with exit status 7"):
        pool.submit(leave).result(60)


def test_an_idle_process_is_replaced(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    for i in range(3):
        before = worker_of(pool)
        kill(pool)
        assert pool.submit(square, i).result(60) == i * i
        assert worker_of(pool) != before


def test_each_result_comes_once_however_often_processes_end(square: lw.TaskBody) -> None:
    ends: Counter[int] = Counter()
    with lw.TaskPool("cpu:2", capacity=400, isolate=True) as pool:

        def work(seed: int) -> list[tuple[int, Future[Any]]]:
            rng, mine = random.Random(seed), []
            for i in range(seed * 10_000, seed * 10_000 + 1000):
                future = pool.submit(square, i) if rng.random() < 0.9 else pool.submit_many(square, [i, i])
                future.add_done_callback(lambda _, i=i: ends.update([i]))
                mine.append((i, future))
            return mine

        with ThreadPoolExecutor(3) as threads:
            futures = [threads.submit(work, seed) for seed in range(3)]
            for done in (400, 1200, 2000):
                wait_for(lambda done=done: len(ends) >= done)
                kill(pool)
            given = [pair for future in futures for pair in future.result()]
        for i, future in given:
            error = future.exception(60)
            if error is None:
                assert np.all(np.asarray(future.result()) == float(i) ** 2)
            else:
                assert isinstance(error, lw.TaskWorkerDied)
    assert len(ends) == 3000 and set(ends.values()) == {1}
    assert pool.statistics.submitted == pool.statistics.done
    assert pool._keeper.core.open() == 0


def test_a_process_that_says_nothing_is_replaced(square: lw.TaskBody) -> None:
    with lw.TaskPool("cpu:1", timeout=2, isolate=True) as pool:
        assert pool.submit(square, 2).result() == 4
        os.kill(worker_of(pool), signal.SIGSTOP)
        assert pool.submit(square, 3).result(60) == 9


def test_a_process_that_cannot_be_replaced(square: lw.TaskBody, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = lw.TaskPool("cpu:1", isolate=True)
    with Gate() as gate:
        (held,) = gate.hold(pool)
        wait_for(held.running)
        monkeypatch.setattr(sys, "executable", "/bin/false")
        kill(pool)
        with pytest.raises(
            lw.TaskError, match=r"no other can be started: .* exit status 1 before its devices were open"
        ):
            held.result(60)
        pool.shutdown()
        with pytest.raises(lw.PoolClosedError):
            pool.submit(square, 1)
    with pytest.raises(lw.TaskWorkerDied, match="before its devices were open"):
        lw.TaskPool("cpu:1", isolate=True)


def test_a_process_that_is_killed_as_it_starts(
    square: lw.TaskBody, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = tmp_path / "python"
    start.write_text(
        f'#!/bin/sh\nif mkdir "{tmp_path}/first" 2> /dev/null; then kill -9 $$; fi\nexec "{sys.executable}" "$@"\n'
    )
    start.chmod(0o755)
    with lw.TaskPool("cpu:1", isolate=True) as pool:
        monkeypatch.setattr(sys, "executable", str(start))
        kill(pool)
        assert pool.submit(square, 3).result(60) == 9
    assert (tmp_path / "first").exists()


def test_a_pool_that_has_ended_says_why(square: lw.TaskBody, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = lw.TaskPool("cpu:1", isolate=True)
    core: Any = pool._keeper.core
    told: list[BaseException] = []

    def submit_before_the_keeper_knows(*_: object) -> None:
        with pytest.raises(lw.PoolClosedError, match=r"the pool has ended: .* no other can be started") as refused:
            pool.submit(square, 1)
        told.append(refused.value)

    end_all = core._end_all
    monkeypatch.setattr(core, "_end_all", lambda why: (submit_before_the_keeper_knows(), end_all(why)))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    kill(pool)
    wait_for(lambda: told)
    pool.shutdown()


def test_what_cannot_be_heard_ends_the_pool(square: lw.TaskBody, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = lw.TaskPool("cpu:1", isolate=True)
    core: Any = pool._keeper.core

    def fail(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(core, "_on_ended", fail)
    worker = worker_of(pool)
    future = pool.submit(square, 1)
    with pytest.raises(lw.TaskError, match=r"the pool has ended: .* cannot be heard: MemoryError"):
        future.result(60)
    pool.shutdown()
    assert not lives(worker)


def test_what_cannot_be_sent_ends_the_pool(square: lw.TaskBody, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = lw.TaskPool("cpu:1", isolate=True)
    core: Any = pool._keeper.core

    def fail(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(core._process.channel, "send", fail)
    future = pool.submit(square, 1)
    with pytest.raises(lw.TaskError, match=r"the pool has ended: tasks cannot be sent .* MemoryError"):
        future.result(60)
    pool.shutdown()


@pytest.mark.parametrize("lost", ["WorkerProcess", "_messages_of"])
def test_what_nobody_expects_ends_the_pool(square: lw.TaskBody, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """Too little memory for another process, or for what is sent to it."""
    pool = lw.TaskPool("cpu:1", isolate=True)
    core: Any = pool._keeper.core

    def fail(*_: object) -> None:
        raise MemoryError("no room")

    with Gate() as gate:
        (held,) = gate.hold(pool)
        wait_for(held.running)
        monkeypatch.setattr(*((isolated_core, lost, fail) if lost == "WorkerProcess" else (core, lost, fail)))
        kill(pool)
        with pytest.raises(lw.TaskError, match=r"the pool has ended: .* MemoryError"):
            held.result(60)
    pool.shutdown()


def test_a_process_that_dies_as_it_closes_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = lw.TaskPool("cpu:1", isolate=True)
    core: Any = pool._keeper.core
    worker = core._process
    monkeypatch.setattr(worker.channel, "send", lambda messages: worker.process.kill())
    monkeypatch.setattr(isolated_core, "WorkerProcess", None)
    monkeypatch.setattr(isolated_core, "CLOSE_SECONDS", 3600)  # who waits for it hangs
    pool.shutdown()
    assert not core._failure


ORPHANED = """
import os, signal, sys, threading
import laneway as lw
never = lw.TaskBody("#include <thread>\\nint never(int x) { while (x) std::this_thread::yield(); return 1; }")
pool = lw.TaskPool("cpu:1", isolate=True)
future = pool.submit(never, BUSY)
if FORKED and os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
if not BUSY: future.result()
print(pool._keeper.core._process.process.pid, flush=True)
signal.pause()
"""


@pytest.mark.parametrize(("busy", "forked"), [(0, False), (1, False), (1, True)])
def test_no_process_outlives_its_parent(busy: int, forked: bool) -> None:
    """Also where the parent has forked a child that holds its end of the channel open."""
    text = ORPHANED.replace("BUSY", str(busy)).replace("FORKED", str(forked))
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert lives(worker)
        parent.kill()
        wait_for(lambda: not lives(worker), 20)


def test_an_interrupt_ends_the_process_of_a_body_that_never_returns() -> None:
    never = lw.TaskBody("#include <thread>\nint never(int x) { while (x) std::this_thread::yield(); return 1; }")
    pool = lw.TaskPool("cpu:1", isolate=True)
    worker = worker_of(pool)
    future = pool.submit(never, 1)
    wait_for(future.running)  # type: ignore[arg-type]
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    with pytest.raises(KeyboardInterrupt), pool:
        timer.start()
        future.result(60)
    assert not lives(worker)
    with pytest.raises(lw.TaskError, match="the pool was ended before the task was done"):
        future.result(0)


class CrashedCore:
    """Of a process in which a kernel has crashed."""

    def take_ended(self) -> None:
        raise lw.CudaError("running a kernel on cuda:0: an illegal memory access was encountered")


def test_a_process_whose_gpu_has_crashed_says_so_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(BaseException):
        pass

    def end(status: int) -> None:
        raise Ended(status)

    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr("laneway.pool_worker.os._exit", end)
    worker = pool_worker.PoolWorker(CrashedCore(), 0, SimpleNamespace(send=sent.append))  # type: ignore[arg-type]
    with pytest.raises(Ended):
        worker._listen()
    assert sent == [("crashed", "running a kernel on cuda:0: an illegal memory access was encountered")]


def test_what_a_process_says_as_it_crashes_is_told(pool: lw.TaskPool) -> None:
    core: Any = pool._keeper.core
    started, gate = Word(), Word()
    future = pool.submit(lw.TaskBody(HELD), started.place, gate.place)
    for tries in range(isolated_core.TRIES):
        wait_for(lambda tries=tries: started.value == tries + 1)
        core._on_crashed("an illegal memory access")
        kill(pool)
    with pytest.raises(lw.TaskWorkerDied, match=r"ended by SIGKILL \(an illegal memory access\) while it had"):
        future.result(60)
    assert core._crash is None

"""Pools of tasks: the ways in which a pool ends, interrupts, forks and many threads."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import laneway as lw
import pytest
from gates import COUNT, Gate, Word

SQUARE = "double square(double x) { return x * x; }"


@pytest.fixture(scope="module")
def square() -> lw.TaskBody:
    return lw.TaskBody(SQUARE)


def test_shutdown(square: lw.TaskBody, isolate: bool) -> None:
    pool = lw.TaskPool("cpu:2", isolate=isolate)
    given = [pool.submit(square, i) for i in range(1000)]
    pool.shutdown()
    assert all(future.done() for future in given)
    pool.shutdown()
    assert repr(pool) == "<laneway.TaskPool: closed>"
    assert pool.statistics.done == 1000
    for error in (RuntimeError, lw.UsageError, lw.PoolClosedError):
        with pytest.raises(error, match="cannot schedule new futures after shutdown"):
            pool.submit(square, 1)
        with pytest.raises(error):
            pool.submit(pow, 2, 3)
        with pytest.raises(error):
            pool.submit_many(square, [1.0])
    with lw.TaskPool("cpu:1") as own:
        assert repr(own) == "<laneway.TaskPool: cpu:0>"


def test_shutdown_that_cancels(square: lw.TaskBody, isolate: bool) -> None:
    with Gate() as gate:
        pool = lw.TaskPool("cpu:1", host_threads=1, isolate=isolate)
        waiting = gate.fill(pool)
        taken, release = threading.Event(), threading.Event()

        def hold() -> bool:
            taken.set()
            return release.wait(60)

        host = [pool.submit(hold) for _ in range(3)]
        assert taken.wait(60)
        others = [pool.submit(square, 1), pool.submit_many(square, [1.0]), pool.submit(square, 2, after=host)]
        pool.shutdown(wait=False, cancel_futures=True)
        assert all(future.cancelled() for future in (*others, *host[1:]) if future.done() or future.cancelled())
        gate.open()
        release.set()
        pool.shutdown()
        assert all(future.cancelled() for future in (*others, *host[1:]))
        assert waiting[0].result() == 1
        assert host[0].result() is True


def test_shutdown_waits_for_tasks_that_follow(square: lw.TaskBody, isolate: bool) -> None:
    release = threading.Event()
    pool = lw.TaskPool("cpu:1", isolate=isolate)
    host = pool.submit(release.wait, 60)
    behind = pool.submit(square, 3, after=[host])
    host_behind = pool.submit(pow, 2, 3, after=[behind])
    pool.shutdown(wait=False)
    release.set()
    pool.shutdown()
    assert (behind.result(), host_behind.result()) == (9, 8)


@pytest.mark.parametrize("end", ["fails", "cancelled"])
def test_a_long_chain_behind_one_that_fails_ends(square: lw.TaskBody, end: str) -> None:
    """Longer than Python's stack is deep."""
    with lw.TaskPool("cpu:1", timeout=20) as pool:
        first: Future[object] = Future()
        chain: list[Future[object]] = [first]
        for _ in range(3000):
            chain.append(pool.submit(square, 1, after=[chain[-1]]))
        if end == "fails":
            first.set_exception(ValueError())
        else:
            first.cancel()
        assert all(each.done() for each in chain)
        for each in (chain[1], chain[-1]):
            with pytest.raises(lw.TaskError, match="a task that it was to follow has failed"):
                each.result(0)


def test_a_pool_that_nobody_holds_ends(square: lw.TaskBody, isolate: bool) -> None:
    pool = lw.TaskPool("cpu:1", isolate=isolate)
    future = pool.submit(square, 5)
    keeper = weakref.ref(pool._keeper)
    thread = pool._keeper._thread
    del pool
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()
    assert future.result() == 25
    del future
    gc.collect()
    assert keeper() is None


def test_futures_let_go_of_what_they_were_given(pool: lw.TaskPool) -> None:
    class Thing:
        def call(self) -> None:
            pass

    thing = Thing()
    gone = weakref.ref(thing)
    first = pool.submit(thing.call)
    pool.submit(thing.call, after=[first]).result()
    del thing
    pool.submit(int).result()
    gc.collect()
    assert gone() is None


def test_many_threads_submit_and_cancel_and_nothing_is_lost(isolate: bool) -> None:
    count = lw.TaskBody(COUNT)
    word = Word()
    with lw.TaskPool("cpu:2", capacity=300, isolate=isolate) as pool:

        def work(seed: int) -> int:
            rng, cancelled, open_ = random.Random(seed), 0, []
            for _ in range(2000):
                open_.append(pool.submit(count, word.place, priority=rng.randrange(3)))
                if rng.random() < 0.2:
                    cancelled += open_.pop(rng.randrange(len(open_))).cancel()
                if len(open_) > 50:
                    open_.pop(0).exception()
            return cancelled

        with ThreadPoolExecutor(4) as threads:
            cancelled = sum(threads.map(work, range(4)))
    assert word.value >= 8000 - cancelled
    assert pool.statistics.submitted == pool.statistics.done == 8000
    assert word.value + pool.statistics.failed == 8000


SCRIPT = f"""
import os, signal, sys, threading, time
import laneway as lw
import numpy as np
square = lw.TaskBody({SQUARE!r})
signal.signal(signal.SIGALRM, signal.default_int_handler)
"""


def run_script(text: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + text], capture_output=True, text=True, timeout=seconds, env=environment
    )


@pytest.mark.parametrize(
    "end",
    [
        "f = pool.submit(square, 3)\nf.add_done_callback(lambda f: print(f.result()))",
        "pool.submit(pow, 3, 2).add_done_callback(lambda f: print(float(f.result())))",
        "f = pool.submit('spin', 10**8).add_done_callback(lambda f: print(9.0))",
        "f = pool.submit(square, 3, after=pool.submit(time.sleep, 0.1)).add_done_callback(lambda f: print(f.result()))",
        "print(pool.submit(square, 3).result())\npool.shutdown(wait=False)",
        "print(9.0); pool = None",
        "print(9.0); keep = [pool]; keep.append(keep); sys.modules['kept'] = keep",
    ],
)
def test_python_ends_with_an_open_pool(end: str, isolate: bool) -> None:
    done = run_script(f"pool = lw.TaskPool('cpu:2', isolate={isolate})\n{end}\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "9.0\n", "")


@pytest.mark.parametrize(
    "call",
    [
        "pool.submit('spin', 10**12).result()",
        "pool.submit('spin', 10**12); futures.wait([pool.submit(square, 1, after=[pool.submit('spin', 10**12)])])",
        "[pool.submit('spin', 10**12) for _ in range(100)]",
        "pool.submit_many('spin', np.full(1000, 10**9)).result()",
        "while True: pool.submit(square, 1.0)",
        "while True: pool.submit_many(square, np.arange(1000.0))",
        "pool.submit('spin', 10**12); pool.shutdown()",
    ],
)
@pytest.mark.parametrize("block", [True, False])
def test_interrupts(call: str, block: bool, isolate: bool) -> None:
    """Ctrl-C leaves the call, the block and Python within moments, whatever the devices do."""
    # In a function of its own: Python 3.11 may leave out `finally` where a signal comes at the end of an endless loop.
    text = f"""
from concurrent import futures

def calls():
    {call}

pool = lw.TaskPool("cpu:2", capacity=20, isolate={isolate})
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    {"with pool: calls()" if block else "calls()"}
finally:
    print("left")
"""
    done = run_script(text, 90)
    assert done.stdout == "left\n", (done.returncode, done.stderr)
    assert done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr
    assert done.returncode in (1, 130, -2)


INTERRUPTED = """
seen = 0
with lw.TaskPool("cpu:2", capacity=50, isolate=ISOLATE) as pool:
    for i in range(50):
        try:
            # Again after 2 s: Python drops an interrupt that comes in a callback of its own, of an import for instance.
            signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.0003 * i, 2)
            while True:
                fs = [pool.submit(square, k) for k in range(100)]
                assert [f.result() for f in fs] == [k * k for k in range(100)]
                assert pool.submit_many(square, np.arange(5000)).result()[-1] == 4999**2
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            seen += 1
    assert pool.submit(square, 3).result() == 9
    s = pool.statistics
print(seen)
assert pool.statistics.submitted == pool.statistics.done
"""


def test_interrupts_at_any_moment_leave_a_pool_that_works(isolate: bool) -> None:
    done = run_script(INTERRUPTED.replace("ISOLATE", str(isolate)), 100)
    assert (done.stdout, done.stderr) == ("50\n", "")


NEVER = """
never = lw.TaskBody("#include <unistd.h>\\nint never(int x) { while (x) usleep(1000); return 1; }")
pool = lw.TaskPool("cpu:2", isolate=ISOLATE)
held, batch = pool.submit(never, 1), pool.submit_many(never, [1] * 5)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    {call}
except KeyboardInterrupt:
    print("left", held.done(), batch.done(), flush=True)
with lw.TaskPool("cpu:1") as again:
    print(again.submit(square, 3).result(), again.submit(pow, 2, 3).result())
"""


@pytest.mark.parametrize("call", ["pool.shutdown()", "with pool: held.result()"])
def test_interrupts_of_bodies_that_never_return(call: str, isolate: bool) -> None:
    """The workers are lost, but neither the interpreter nor another pool."""
    done = run_script(NEVER.replace("{call}", call).replace("ISOLATE", str(isolate)), 90)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left True True\n9.0 8\n", "")


@pytest.mark.parametrize(
    ("before", "options", "words"),
    [
        ("", "", "True"),
        (
            "other = lw.TaskPool('cpu:1'); never = other.submit(square, 1, after=Future())",
            "",
            "a task that it was to follow has failed",
        ),
        ("threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", ", timeout=0.3", "True"),
    ],
)
def test_python_ends_with_tasks_that_follow_what_never_comes(before: str, options: str, words: str) -> None:
    """At once, or where some other thread might still complete the future, after the pool's timeout."""
    text = f"""
from concurrent.futures import Future
never = Future()
{before}
pool = lw.TaskPool("cpu:1"{options})
held = [pool.submit(square, 3, after=never), pool.submit(pow, 2, 3, after=never)]
for one in held:
    one.add_done_callback(lambda future: print(future.cancelled() or future.exception()))
"""
    done = run_script(text, 30)
    assert done.returncode == 0
    assert done.stdout.splitlines() in (["True"] * 2, [words] * 2), done.stderr
    assert done.stderr == "tasks that follow futures which nobody completes are cancelled\n"


def test_python_ends_when_another_thread_has_completed_a_future() -> None:
    text = """
from concurrent.futures import Future
event = threading.Event()
later = Future()
threading.Thread(target=lambda: (event.wait(20), later.set_result(1))).start()
pool = lw.TaskPool("cpu:1")
pool.submit(square, 3, after=later).add_done_callback(lambda future: print(future.result()))
threading.Timer(0.1, event.set).start()
"""
    done = run_script(text, 30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9.0\n", "")


def test_batches_that_wait_for_memory_are_not_yet_submitted(isolate: bool) -> None:
    """Who cancels all ends what has been submitted, and the batch that waits is refused or done, not both."""
    text = """
import numpy as np
numbers = np.full(40000, 40000, np.uint64)
pool = lw.TaskPool("cpu:1", batch_bytes=2**20, isolate=ISOLATE)
first = pool.submit_many("spin", numbers)
ends = []
def wait():
    try:
        ends.append(pool.submit_many("spin", numbers))
    except lw.Error as error:
        ends.append(error)
waits = threading.Thread(target=wait)
waits.start()
time.sleep(0.3)
pool.shutdown(cancel_futures=True)
waits.join(60)
assert len(ends) == 1 and not waits.is_alive()
statistics = pool.statistics
assert statistics.submitted == statistics.done, statistics
print("ended")
"""
    done = run_script(text.replace("ISOLATE", str(isolate)), 120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


FORKED = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on fork warns where there are threads
pool = lw.TaskPool("cpu:2", isolate=ISOLATE)
held = pool.submit("spin", 3 * 10**8)
child = os.fork()
if child == 0:
    said = []
    for call in (lambda: pool.submit(square, 1), lambda: pool.submit(pow, 2, 3), lambda: pool.statistics,
                 lambda: held.result(), lambda: held.exception()):
        try:
            call()
            said.append("no error")
        except lw.PoolClosedError as error:
            said.append(str(error))
    words = f"the pool belongs to process {os.getppid()}, which this one was forked from: open a pool here"
    assert said == [words] * 5, said
    assert not held.cancel() and not held.running()
    pool.shutdown()
    pool.__exit__(SystemExit, None, None)
    with lw.TaskPool("cpu:1") as own:
        assert own.submit(square, 3).result() == 9
    del pool
    print("child", flush=True)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert held.result() >= 3 * 10**8
assert pool.submit(square, 2).result() == 4
print("parent")
"""


def test_a_fork_needs_a_pool_of_its_own(isolate: bool) -> None:
    done = run_script(FORKED.replace("ISOLATE", str(isolate)))
    assert (done.stdout, done.stderr) == ("child\nparent\n", "")


@pytest.mark.parametrize("isolate", [False, True], ids=["", "isolated"])
def test_a_thread_that_cannot_be_started_is_told_and_nothing_waits_for_it(isolate: bool) -> None:
    text = """
import threading
start = threading.Thread.start
def refuse(thread):
    if thread.name == "laneway.TaskPool":
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = refuse
try:
    lw.TaskPool("cpu:1", isolate=ISOLATE)
except lw.SystemError as error:
    print(error)
threading.Thread.start = start
with lw.TaskPool("cpu:1") as pool:
    print(pool.submit(square, 3).result())
"""
    done = run_script(text.replace("ISOLATE", str(isolate)), 30)
    told = "the thread of a pool could not be started: can't start new thread\n"
    assert (done.stdout, done.stderr) == (told + "9.0\n", "")


def test_processes_that_fork_again_and_again() -> None:
    text = """
import multiprocessing
pool = lw.TaskPool("cpu:1")
def work(x):
    return x + 1
with multiprocessing.get_context("fork").Pool(2) as others:
    print(others.map(work, range(3)), pool.submit(square, 3).result())
"""
    done = run_script(text)
    assert (done.stdout, done.stderr) == ("[1, 2, 3] 9.0\n", "")

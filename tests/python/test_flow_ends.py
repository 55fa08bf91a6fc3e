"""How waits of a dataflow end: by deadlines, errors, interrupts, and with Python. Nothing waits for ever."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import laneway as lw
import numpy as np
import pytest


def test_deadlines_name_the_link() -> None:
    with lw.flow.Context("cpu:1", timeout=0.1) as ctx:
        link = lw.flow.Link(ctx.host, ctx.devices[0])
        with pytest.raises(lw.TimeoutError, match=r"link host -> cpu:0: no packet came within 0.1 s"):
            link.receive().result()
        with pytest.raises(lw.TimeoutError, match="no packet came"):
            link.send([1])  # it has ended the dataflow
    with lw.flow.Context("cpu:1", timeout=0.1) as ctx:
        sending = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=8).send(np.arange(5))
        assert not sending.done()
        with pytest.raises(lw.TimeoutError, match=r"link host -> cpu:0: a send was not received within 0\.1 s"):
            sending.result()
    with lw.flow.Context("cpu:1", timeout=0.2) as ctx:
        gate = threading.Event()
        ctx.start_worker(gate.wait)
        with pytest.raises(lw.TimeoutError, match=r"worker wait did not return within 0\.2 s"):
            ctx.join()
        gate.set()


def test_a_worker_that_raises_ends_all_waits(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.devices[0], ctx.host)

    def fails() -> None:
        raise ZeroDivisionError("no\nluck")

    receiving = link.receive()
    assert not receiving.done()
    ctx.start_worker(fails)
    for call in (receiving.result, ctx.join, lambda: link.send([1])):
        with pytest.raises(lw.Error, match=r"^worker fails: ZeroDivisionError: no luck"):
            call()


def test_closing_ends_waits_in_other_threads() -> None:
    ctx = lw.flow.Context("cpu:1", timeout=3600)
    link = lw.flow.Link(ctx.host, ctx.devices[0])
    with ThreadPoolExecutor(4) as threads:
        waits = [threads.submit(link.receive().result) for _ in range(4)]
        ctx.close()
        for wait in waits:
            with pytest.raises(lw.UsageError, match="closed"):
                wait.result()
    ctx.close()
    with pytest.raises(lw.UsageError, match="the context of the dataflow has been closed"):
        link.send([1])
    with pytest.raises(lw.UsageError, match="closed"):
        link.receive()


def test_other_threads_run_while_one_waits(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0])
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lambda: link.receive().result().array(np.int64).tolist())  # type: ignore[union-attr]
        while ctx._core.inside == 0:  # where it waits without the interpreter's lock, or this would not come back
            time.sleep(0)
        link.send(np.arange(3))
        assert waiting.result(timeout=20) == [0, 1, 2]


def test_interrupts_leave_a_wait(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0])
    receiving = link.receive()

    def interrupt() -> None:
        while ctx._core.inside == 0:
            time.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as thread, pytest.raises(KeyboardInterrupt):
        thread.submit(interrupt)
        receiving.result()
    link.send([5])  # the dataflow goes on
    assert receiving.result().array(np.int64).tolist() == [5]  # type: ignore[union-attr]


ENDS = """
import threading
import numpy as np
import laneway as lw

ctx = lw.flow.Context("cpu:2", timeout=3600)
router = lw.flow.Router(ctx, lambda packet, source, outputs: len(outputs) - 1)
feed, link = lw.flow.Link(ctx.host, router), lw.flow.Link(router, ctx.devices[0], packet_bytes=8, buffers=1)
feed.send(np.arange(100))
held = link.receive().result()
alone = [lw.flow.Link((other := lw.flow.Context("cpu:1", timeout=3600)).host, other.devices[0])]
del other  # whose link is there still
threading.Thread(target=lambda: alone[0].receive().result()).start()
for daemon in (False, True):
    threading.Thread(target=lambda: [link.receive().result(), link.receive().result()], daemon=daemon).start()
ctx.start_worker(lambda: lw.flow.Link(ctx.host, ctx.devices[1]).receive().result())
print("end", flush=True)
"""


def test_python_ends_while_threads_wait() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_a_worker_does_not_join_itself(ctx: lw.flow.Context) -> None:
    told: list[str] = []

    def joins() -> None:
        try:
            ctx.join()
        except lw.UsageError as error:
            told.append(str(error))

    ctx.start_worker(joins)
    ctx.join()
    assert told == ["a worker cannot wait until all workers have returned"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's, of forks in processes with threads
def test_forks_are_refused(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            link.send([1])
        except lw.UsageError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            del link, ctx
            gc.collect()
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    link.send([1])
    assert link.receive().result() is not None

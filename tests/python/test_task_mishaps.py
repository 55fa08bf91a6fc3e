"""Pools of tasks: callbacks, threads and arrays that do what they should not, and compilers that are none."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from laneway.pool_worker import PoolWorker

POINT = "struct point { double x; std::int64_t n; }; double sum(const point& p) { return p.x + double(p.n); }"
LAYOUT = np.dtype([("x", "f8"), ("n", "i8")], align=True)


def square() -> lw.TaskBody:
    return lw.TaskBody("double square(double x) { return x * x; }")


def test_threads_may_submit_while_a_pool_is_shut_down() -> None:
    def submit(pool: lw.TaskPool, refused: list[BaseException], busy: threading.Semaphore) -> None:
        try:
            while True:
                pool.submit("adder", 1, 1, 3)
                busy.release()
        except lw.Error as error:
            refused.append(error)

    for _ in range(30):
        pool = lw.TaskPool("cpu:1")
        refused: list[BaseException] = []
        busy = threading.Semaphore(0)
        threads = [threading.Thread(target=submit, args=(pool, refused, busy)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            assert busy.acquire(timeout=20)
        pool.shutdown()
        for thread in threads:
            thread.join(60)
        assert [type(error) for error in refused] == [lw.PoolClosedError] * 2


@pytest.mark.parametrize("by_shutdown", [False, True])
def test_a_held_task_that_is_cancelled_does_not_hold_the_pool(by_shutdown: bool) -> None:
    never: Future[Any] = Future()
    pool = lw.TaskPool("cpu:1")
    tasks = [pool.submit("adder", 1, 1, 3, after=never), pool.submit(pow, 2, 3, after=never)]
    if not by_shutdown:
        assert all(task.cancel() for task in tasks)
    pool.shutdown(cancel_futures=by_shutdown)
    assert all(task.cancelled() for task in tasks)


def test_results_that_cannot_be_made_are_exceptions() -> None:
    with pytest.raises(lw.UsageError, match="returns"):
        lw.TaskBody("struct s { double x; }; s f(double x) { return {x}; }", result=("f4", 2))
    with pytest.raises(lw.UsageError, match="returns"):
        lw.TaskBody("struct s { double x; }; s f(double x) { return {x}; }", result=[("x", ">f8")])
    with pytest.raises(lw.UsageError, match="cannot be made"):
        lw.TaskBody("double f(double x) { return x; }", result="nonsense")
    opened: Future[Any] = Future()
    with lw.TaskPool("cpu:1") as pool:
        broken = pool.submit_many("mandelbrot", [0.0], 0.0, 0.1, 10, 5, after=opened)
        broken._decode = lambda raw: 1 / 0  # type: ignore[attr-defined]
        opened.set_result(None)
        assert isinstance(broken.exception(20), ZeroDivisionError)


def test_callbacks_that_raise_or_wait_do_not_end_the_pool() -> None:
    with lw.TaskPool("cpu:1") as pool:
        said: list[BaseException] = []
        waited = threading.Event()

        def leave(_: Future[Any]) -> None:
            raise SystemExit(3)

        def wait(_: Future[Any]) -> None:
            try:
                pool.submit("adder", 1, 1, 3).result()
            except lw.UsageError as error:
                said.append(error)
            waited.set()

        opened: Future[Any] = Future()
        for callback in (leave, wait):  # on the pool's thread: the tasks are not done before
            pool.submit("spin", 10, after=opened).add_done_callback(callback)
        opened.set_result(None)
        assert waited.wait(20)
        assert pool.submit("adder", 1, 1, 3).result(20) == 6
        assert "give result a timeout" in str(said[0])


def test_a_host_task_cannot_wait_for_the_end_of_its_pool() -> None:
    with lw.TaskPool("cpu:1") as pool, pytest.raises(lw.UsageError, match="cannot wait for its end"):
        pool.submit(pool.shutdown).result(20)


def test_held_batches_keep_what_they_were_given() -> None:
    x, opened = np.arange(3.0), Future()  # type: ignore[var-annotated]
    with lw.TaskPool("cpu:1") as pool:
        squares = pool.submit_many(square(), x, after=opened)
        x[:] = 100
        opened.set_result(None)
        assert squares.result().tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    "given",
    [
        np.array((1.0, 2), LAYOUT.newbyteorder()),
        np.array([None, None]),
        np.ma.masked_array(np.array([(1.0, 2)], LAYOUT), mask=[(True, False)]),
        np.array([1.0, 2.0]),
        np.array(["2020-01-01", "2021-01-01"], "M8[s]"),
    ],
)
def test_structs_are_given_as_structs(given: np.ndarray[Any, Any]) -> None:
    body = lw.TaskBody(POINT)
    with lw.TaskPool("cpu:1") as pool:
        assert pool.submit(body, np.array((1.5, 2), LAYOUT)[()]).result() == 3.5
        with pytest.raises(lw.UsageError, match="struct"):
            pool.submit(body, given)
        with pytest.raises(lw.UsageError):
            pool.submit_many(body, np.atleast_1d(given))


@pytest.mark.parametrize("compiler", ["g++ '", "/bin/true", "/bin/false", "none", "{script}"])
def test_compilers_that_are_none(compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", compiler.format(script=script))
    with pytest.raises(lw.TaskBodyError):
        lw.TaskBody("double f(double x) { return x + 31; }", cache=tmp_path / "bodies")
    assert not list((tmp_path / "bodies").glob("*.so"))


@pytest.mark.parametrize("flags", [None, 3, ["\0"], ["-c"], ["-fsyntax-only"], [3]])
def test_flags_that_make_no_library(flags: Any, tmp_path: Path) -> None:
    with pytest.raises(lw.UsageError):
        lw.TaskBody("double f(double x) { return x + 32; }", flags=flags, cache=tmp_path)


def test_functions_without_a_definition_and_hidden_ones(tmp_path: Path) -> None:
    with pytest.raises(lw.TaskBodyError, match="cannot be loaded"):
        lw.TaskBody("extern double nope(double); double f(double x) { return nope(x); }", cache=tmp_path)
    hidden = lw.TaskBody("double f(double x) { return x + 33; }", flags=["-fvisibility=hidden"], cache=tmp_path)
    with lw.TaskPool("cpu:1") as pool:
        assert pool.submit(hidden, 1).result() == 34


def test_a_cached_body_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    source = "double f(double x) { return x + 34; }"
    lw.TaskBody(source, cache=tmp_path)
    (library,) = tmp_path.glob("*.so")
    content = library.read_bytes()
    library.unlink()  # the first is in use
    library.write_bytes(content[:5000])
    with lw.TaskPool("cpu:1") as pool:
        assert pool.submit(lw.TaskBody(source, cache=tmp_path), 1).result() == 35
    assert library.stat().st_size == len(content)


def test_a_function_whose_thread_cannot_be_started_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    gate, ran = threading.Event(), []
    with lw.TaskPool("cpu:1", host_threads=2) as pool:
        first = pool.submit(gate.wait, 60)
        with monkeypatch.context() as without_threads:
            without_threads.setattr(threading.Thread, "start", refuse)
            with pytest.raises(lw.SystemError, match="a thread for Python functions could not be started: can't start"):
                pool.submit(ran.append, 1)
        gate.set()
        assert first.result(60)
        assert pool.submit(abs, -3).result(60) == 3
    assert ran == []


def test_a_process_without_threads_says_so(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(os, "_exit", leave)
    worker = PoolWorker.__new__(PoolWorker)
    with pytest.raises(SystemExit, match="3"):
        worker.serve()
    assert capfd.readouterr().err == "laneway: a pool's process could not start a thread: can't start new thread\n"


def test_batches_are_cancelled_while_their_arguments_are_copied() -> None:
    square = lw.TaskBody("double square(double x) { return x * x; }")
    given = np.arange(400_000.0)  # more than are copied at once
    for _ in range(8):
        pool, batches = lw.TaskPool("cpu:1"), list[Future[Any]]()

        def submit(pool: lw.TaskPool = pool, batches: list[Future[Any]] = batches) -> None:
            with contextlib.suppress(lw.PoolClosedError):
                while len(batches) < 1000:
                    batches.append(pool.submit_many(square, given))

        submitters = [threading.Thread(target=submit) for _ in range(3)]
        for thread in submitters:
            thread.start()
        end = time.monotonic() + 60
        while len(batches) < 4:
            assert time.monotonic() < end
            time.sleep(0.001)  # between two looks
        pool.shutdown(cancel_futures=True)
        for thread in submitters:
            thread.join()
        for batch in batches:
            assert batch.cancelled() or np.array_equal(batch.result(60), given**2)

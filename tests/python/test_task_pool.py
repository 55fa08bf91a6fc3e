"""Pools of tasks: results, failures and order."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS
from gates import COUNT, Gate, Word

SQUARE = "double square(double x) { return x * x; }"
PICKY = 'int picky(int x) { if (x < 0) throw std::runtime_error("negative"); return x; }'
DEVICES = ["cpu:1", "cpu:2", "checked:2"] + [f"cuda:0-{GPUS - 1}"] * bool(GPUS)


@pytest.fixture(scope="module")
def square() -> lw.TaskBody:
    return lw.TaskBody(SQUARE)


@pytest.fixture(scope="module")
def picky() -> lw.TaskBody:
    return lw.TaskBody(PICKY)


@pytest.fixture
def gate(pool: lw.TaskPool) -> Iterator[Gate]:
    """Opens before the pool ends."""
    with Gate() as made:
        yield made


@pytest.mark.parametrize("devices", DEVICES)
def test_built_in_tasks(devices: str, isolate: bool) -> None:
    count = 20 if devices.startswith("checked") else 300
    rng = np.random.default_rng(1)
    a, b = rng.random((count, 9, 9), np.float32), rng.random((count, 9, 9), np.float32)
    rows = np.linspace(-1, 1, count)
    with lw.TaskPool(devices, isolate=isolate) as pool:
        sums = [pool.submit("adder", i, 2, i) for i in range(count)]
        assert [future.result() for future in sums] == [i * i + i * (i - 1) for i in range(count)]
        found = pool.submit_many("adder", np.arange(count), 2, np.arange(count)).result()
        assert found.tolist() == [i * i + i * (i - 1) for i in range(count)]
        assert pool.submit("spin", 50_000).result() >= 50_000
        assert (pool.submit_many("spin", np.arange(count)).result() >= np.arange(count)).all()
        np.testing.assert_allclose(pool.submit("matmul", a[0], b[0]).result(), a[0] @ b[0], rtol=1e-5)
        np.testing.assert_allclose(pool.submit_many("matmul", a, b).result(), a @ b, rtol=1e-5)
        picture = pool.submit_many("mandelbrot", -2, rows, 0.25, 13, 60).result()
        one = [pool.submit("mandelbrot", -2, y, 0.25, 13, 60) for y in rows]
        assert np.array_equal(picture, [future.result() for future in one])
        assert np.array_equal(picture, [[steps(-2 + 0.25 * i, y, 60) for i in range(13)] for y in rows])
        assert pool.devices == tuple(lw._core.parse_devices(devices))
        assert len(pool.statistics.entries) == len(pool.devices)


def steps(x: float, y: float, limit: int) -> int:
    z, count = 0j, 0
    while count < limit and z.real * z.real + z.imag * z.imag <= 4:
        z = complex(z.real * z.real - z.imag * z.imag + x, 2 * z.real * z.imag + y)
        count += 1
    return count


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
def test_bodies(devices: str, square: lw.TaskBody, isolate: bool) -> None:
    count = 50 if devices.startswith("checked") else 5000
    with lw.TaskPool(devices, isolate=isolate) as pool:
        given = [pool.submit(square, i) for i in range(count)]
        assert [future.result() for future in given] == [i * i for i in range(count)]
        many = pool.submit_many(square, np.arange(10 * count))
        assert np.array_equal(many.result(), np.arange(10 * count, dtype=float) ** 2)
        assert pool.statistics.submitted == pool.statistics.done == 11 * count
        assert pool.statistics.failed == 0
        assert sum(pool.statistics.entries) >= count


def test_arrays_of_batches(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    for given in (np.arange(7, dtype=np.int16), [1, 2, 3], np.arange(20.0)[::2], np.array([True, False])):
        assert np.array_equal(pool.submit_many(square, given).result(), np.square(given, dtype=float))
    empty = pool.submit_many(square, []).result()
    assert (empty.shape, empty.dtype) == ((0,), np.float64)
    given = np.arange(100.0)
    future = pool.submit_many(square, given)
    given[:] = 0
    assert future.result()[9] == 81, "arguments are those of the call"


def test_matrices_are_rounded_to_float32(pool: lw.TaskPool) -> None:
    given = np.array([[0.1, np.inf], [1e-300, 2.0**40 + 1]])
    expected = given.astype(np.float32)
    assert np.array_equal(pool.submit("matmul", given[:1, :1], np.ones((1, 1))).result(), expected[:1, :1])
    assert pool.submit("matmul", given[:1, 1:], np.ones((1, 1))).result() == np.inf
    assert np.array_equal(pool.submit("matmul", given[1:, 1:], np.ones((1, 1))).result(), expected[1:, 1:])


BAD = [
    (lambda p, s: p.submit(s), "square takes 1 argument, not 0"),
    (lambda p, s: p.submit(s, 1, 2), "square takes 1 argument, not 2"),
    (lambda p, s: p.submit(s, "abc"), "argument 1 of square is a number, not 'abc'"),
    (lambda p, s: p.submit(s, None), "argument 1 of square is a number, not None"),
    (lambda p, s: p.submit(s, x=1), "square takes no keyword 'x'"),
    (lambda p, s: p.submit("spin", -1), "argument 1 of spin is a whole number from 0 on of 64 bits, not -1"),
    (lambda p, s: p.submit("spin", 1.5), "argument 1 of spin is a whole number from 0 on of 64 bits, not 1.5"),
    (lambda p, s: p.submit("spam", 1), "no task is called 'spam': there are adder, spin, matmul, mandelbrot"),
    (lambda p, s: p.submit(5, 1), "a task is a TaskBody, a name or a Python function, not 5"),
    (lambda p, s: p.submit(s, 1, priority="high"), "priority must be a whole number of 32 bits, not 'high'"),
    (lambda p, s: p.submit(s, 1, priority=2**31), "priority must be a whole number of 32 bits"),
    (lambda p, s: p.submit(s, 1, after=5), "after must be a list of futures, not 5"),
    (lambda p, s: p.submit(s, 1, after=[5]), "after must be a list of futures, which 5 is not"),
    (lambda p, s: p.submit(s, 1, timeout=0), "timeout must be a positive number of seconds below 1e9, not 0"),
    (lambda p, s: p.submit(s, 1, timeout="x"), "timeout must be a number"),
    (lambda p, s: p.submit(pow, 2, 3, priority=1), "host tasks have no priority and no timeout"),
    (lambda p, s: p.submit_many(pow, [2], [3]), "submit_many takes a TaskBody or the name of a task"),
    (lambda p, s: p.submit_many(s, 1.0), "submit_many of square takes arrays of one length: none is an array"),
    (lambda p, s: p.submit_many(s), "square takes 1 argument, not 0"),
    (lambda p, s: p.submit_many("adder", [1, 2], 0, [1, 2, 3]), "takes arrays of one length: 2 and 3"),
    (lambda p, s: p.submit_many(s, [[1.0]]), "argument 1 of square must have one dimension, not 2"),
    (lambda p, s: p.submit_many(s, ["a"]), "argument 1 of square must be float64, not <U1"),
    (lambda p, s: p.submit_many("spin", [1, -1]), "argument 1 of spin must be uint64: element 1 is -1"),
    (lambda p, s: p.submit_many("spin", [1.0]), "argument 1 of spin must be uint64, not float64"),
    (lambda p, s: p.submit_many(s, np.ma.masked_array([1.0, 2.0], [0, 1])), r"argument 1 of square\[1\] is masked"),
    (lambda p, s: p.submit("matmul", np.ones((2, 3)), np.ones((2, 3))), "must be a square matrix, not of shape"),
    (lambda p, s: p.submit("matmul", np.ones((2, 2)), np.ones((3, 3))), "takes matrices of one shape"),
    (lambda p, s: p.submit("matmul", np.ones((2000, 2000)), 0), "must have 1 to 1024 rows, not 2000"),
    (lambda p, s: p.submit("matmul", np.ones((0, 0)), np.ones((0, 0))), "must have 1 to 1024 rows, not 0"),
    (
        lambda p, s: p.submit_many("matmul", np.full((1, 1, 1), 1e300), np.ones((1, 1, 1))),
        r"argument 1 of matmul must be float32, which 1e\+300 is too large for",
    ),
    (lambda p, s: p.submit("matmul", np.ones((2, 2)), np.diag([1, -1e39])), "argument 2 of matmul .* which -1e.39 is"),
    (lambda p, s: p.submit("mandelbrot", 0, 0, 1, 0, 9), "is one number of columns, 1 to 1048576, not 0"),
    (lambda p, s: p.map(s, [1], chunksize=0), "chunksize must be a whole number from 1"),
    (lambda p, s: p.map(s, [1], chunksize=-1), "chunksize must be a whole number from 1"),
    (lambda p, s: p.map(s, [1], chunksize=1.5), "chunksize must be a whole number from 1 to .*, not 1.5"),
    (lambda p, s: p.map(s, [1], chunksize="a"), "chunksize must be a whole number from 1 to .*, not 'a'"),
    (lambda p, s: p.map(pow, [1], [1], chunksize=None), "chunksize must be a whole number from 1 to .*, not None"),
    (lambda p, s: p.map(s, [1], timeout="x"), "timeout must be a number, not 'x'"),
    (lambda p, s: p.map(5, [1], chunksize=2), "a task is a TaskBody, a name or a Python function, not 5"),
    (lambda p, s: pickle.dumps(p), "a pool cannot be pickled or copied"),
    (lambda p, s: copy.copy(p), "a pool cannot be pickled or copied"),
]


def test_wrong_use_is_refused_and_the_pool_goes_on(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    for call, words in BAD:
        with pytest.raises(lw.UsageError, match=words) as caught:
            call(pool, square)
        assert "\n" not in str(caught.value)
        assert pool.submit(square, 3).result() == 9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"devices": "nix"}, "nix"),
        ({"devices": 4}, "devices must be a list"),
        ({"timeout": None}, "timeout must be a positive number"),
        ({"capacity": 0}, "capacity must be a whole number"),
        ({"bundle": 0}, "bundle must be a whole number"),
        ({"batch_bytes": -1}, "batch_bytes must be a whole number"),
        ({"operand_bytes": 1.5}, "operand_bytes must be a whole number"),
        ({"host_threads": 0}, "host_threads must be a whole number"),
        ({"isolate": "yes"}, "isolate must be False or True"),
    ],
)
def test_wrong_options(options: dict[str, object], words: str, isolate: bool) -> None:
    with pytest.raises(lw.UsageError, match=words):
        lw.TaskPool(**{"isolate": isolate, **options})  # type: ignore[arg-type]


def test_a_pool_larger_than_memory_is_refused(square: lw.TaskBody, isolate: bool) -> None:
    with pytest.raises(lw.SystemError, match="no memory for 140737488355328 bytes"):
        lw.TaskPool("cpu:1", batch_bytes=2**47, isolate=isolate)
    with pytest.raises(TypeError, match="'spam'"):
        lw.TaskPool("cpu:1", spam=1)  # type: ignore[call-arg]
    with lw.TaskPool("cpu:1", isolate=isolate) as pool:
        assert pool.submit(square, 3).result() == 9


def test_failed_tasks_harm_no_other(pool: lw.TaskPool, picky: lw.TaskBody) -> None:
    futures_ = [pool.submit(picky, x - 50) for x in range(100)]
    for x, future in enumerate(futures_):
        if x < 50:
            with pytest.raises(lw.TaskError, match=r"^negative$"):
                future.result()
        else:
            assert future.result() == x - 50
    assert pool.statistics.failed == 50


def test_what_no_device_has_can_be_cancelled(pool: lw.TaskPool, gate: Gate, square: lw.TaskBody) -> None:
    waiting = gate.fill(pool)
    lost, kept, batch = pool.submit(square, 1), pool.submit(square, 2), pool.submit_many(square, [1, 2, 3])
    seen: list[str] = []
    lost.add_done_callback(lambda _: seen.append("lost"))
    assert waiting[0].running()
    assert not waiting[0].cancel()
    assert not lost.running()
    assert lost.cancel()
    assert lost.cancel(), "again"
    assert batch.cancel()
    assert seen == ["lost"]
    assert (lost.cancelled(), lost.done(), lost.running()) == (True, True, False)
    assert futures.wait([lost, kept], return_when=futures.FIRST_COMPLETED).done == {lost}
    for future in (lost, batch):
        with pytest.raises(futures.CancelledError):
            future.result()
    gate.open()
    assert kept.result() == 4
    assert not kept.cancel()
    assert not kept.cancelled()


def test_higher_priorities_come_first(pool: lw.TaskPool, gate: Gate) -> None:
    gate.fill(pool)
    count, word = lw.TaskBody(COUNT), Word()
    given = [pool.submit(count, word.place, priority=p) for p in (0, -1, 5, 0, 5, -1)]
    assert not any(future.running() for future in given)
    gate.open()
    assert [future.result() for future in given] == [2, 4, 0, 3, 1, 5]


def test_tasks_follow_others(pool: lw.TaskPool, gate: Gate) -> None:
    count, word = lw.TaskBody(COUNT), Word()
    waiting = gate.fill(pool)
    first = pool.submit(count, word.place, after=waiting[0])
    others = [pool.submit(count, word.place, after=[first]) for _ in range(5)]
    last = pool.submit(count, word.place, after=others, priority=9)
    batch = pool.submit_many(count, np.full(3, word.place, np.uint64), after=[last])
    host = pool.submit(lambda: word.value, after=[batch])
    behind_host = pool.submit(count, word.place, after=[host])
    assert word.value == 0
    gate.open()
    assert behind_host.result() == 10
    assert host.result() == 10
    assert first.result() == 0
    assert sorted(future.result() for future in others) == [1, 2, 3, 4, 5]
    assert last.result() == 6
    assert sorted(batch.result()) == [7, 8, 9]
    assert pool.submit(count, word.place, after=[first, last, host]).result() == 11, "they are done"


def test_tasks_follow_those_of_other_executors(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    event = threading.Event()
    with ThreadPoolExecutor(1) as threads, lw.TaskPool("cpu:1") as other:
        slow = threads.submit(event.wait, 60)
        mine = pool.submit(square, 2, after=[slow])
        theirs = other.submit(square, 3, after=[mine])
        lost = pool.submit(square, 4, after=[theirs])
        assert not any(future.done() or future.running() for future in (mine, theirs, lost))
        assert lost.cancel()
        event.set()
        assert theirs.result() == 9
        assert mine.result() == 4


def test_what_follows_a_failed_task_fails_without_a_start(pool: lw.TaskPool, picky: lw.TaskBody) -> None:
    bad, called = pool.submit(picky, -1), []
    host_bad = pool.submit(divmod, 1, 0)
    for after in ([bad], [host_bad], [pool.submit(picky, 1), bad]):
        next_one = pool.submit(picky, 5, after=after)
        next_host = pool.submit(called.append, 5, after=after)
        next_but_one = pool.submit(picky, 5, after=[next_one])
        for future in (next_one, next_host, next_but_one):
            with pytest.raises(lw.TaskError, match="a task that it was to follow has failed"):
                future.result()
    assert called == []
    assert pool.submit(picky, 1).result() == 1


def test_tasks_that_follow_what_is_just_ending(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    """The moment between the end of a task and the news of it."""
    previous = pool.submit(square, 0)
    chain = []
    for i in range(3000):
        previous = pool.submit(square, i, after=[previous])
        chain.append(previous)
    assert [future.result() for future in chain] == [i * i for i in range(3000)]


@pytest.mark.parametrize("options", [{"capacity": 8}])
def test_a_full_pool_says_so_or_waits(options: dict[str, int], square: lw.TaskBody, isolate: bool) -> None:
    with lw.TaskPool("cpu:1", isolate=isolate, **options) as pool, Gate() as gate:  # type: ignore[arg-type]
        held = gate.hold(pool, 7)
        last = pool.submit(square, 1)
        with pytest.raises(
            lw.PoolFullError, match=r"the pool holds 8 tasks that are not done, as many as its capacity$"
        ):
            pool.submit(square, 2, wait=False)
        with pytest.raises(lw.PoolFullError):
            pool.submit_many(square, [2, 3], wait=False)
        assert last.cancel(), "which makes room"
        late = pool.submit(square, 3, wait=False)
        threading.Timer(0.05, gate.open).start()
        assert pool.submit(square, 4).result() == 16, "it waits for room"
        assert late.result() == 9
        assert [future.result() for future in held] == [1] * 7


def test_batches_that_find_no_memory(square: lw.TaskBody, isolate: bool) -> None:
    with lw.TaskPool("cpu:1", isolate=isolate, batch_bytes=64 * 1024) as pool:
        with pytest.raises(lw.PoolFullError, match=r"takes \d+ bytes: batch_bytes is 65536, of"):
            pool.submit_many(square, np.arange(10_000.0))
        given = np.arange(4000.0)
        batches = [pool.submit_many(square, given) for _ in range(20)]
        assert all(np.array_equal(batch.result(), given**2) for batch in batches), "they wait for each other"


def test_late_tasks_are_told(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    with Gate() as gate:
        late = pool.submit(gate.body, gate.place, timeout=0.05)
        with pytest.raises(lw.TimeoutError, match=r"was not done 0\.05"):
            late.result()
    assert pool.submit(square, 2, timeout=50).result() == 4


def test_a_pool_whose_devices_stand_still_fails(square: lw.TaskBody, isolate: bool) -> None:
    gate = Gate()
    pool = lw.TaskPool("cpu:1", timeout=2, isolate=isolate)
    held, behind = gate.hold(pool), pool.submit(square, 1, after=gate.hold(pool))
    for future in (*held, behind):
        assert isinstance(future.exception(timeout=60), lw.Error)
    assert isinstance(held[0].exception(), lw.TimeoutError)
    pool.shutdown()
    for submit in (pool.submit, pool.submit_many):
        with pytest.raises(lw.PoolClosedError, match=r"the pool has ended: .*deadline"):
            submit(square, [1.0])
    gate.open()


def test_callbacks_may_submit(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    seen: list[float] = []
    over = threading.Event()

    def again(future: futures.Future[float]) -> None:
        seen.append(future.result())
        if len(seen) == 100:
            over.set()
        else:
            pool.submit(square, len(seen), after=[future]).add_done_callback(again)

    pool.submit(square, 0).add_done_callback(again)
    assert over.wait(60)
    assert seen == [i * i for i in range(100)]


def test_callbacks_that_raise_harm_nobody(pool: lw.TaskPool, gate: Gate, square: lw.TaskBody) -> None:
    gate.fill(pool)
    given = [pool.submit(square, i) for i in range(3)]
    for future in given:
        future.add_done_callback(lambda _: 1 / 0)
    gate.open()
    assert [future.result() for future in given] == [0, 1, 4]


def test_futures_of_the_standard_library(pool: lw.TaskPool, gate: Gate, square: lw.TaskBody) -> None:
    waiting = gate.fill(pool)
    given = {pool.submit(square, i): i * i for i in range(50)}
    assert waiting[0] in futures.wait([*given, *waiting], timeout=0).not_done
    with pytest.raises(futures.TimeoutError):
        waiting[0].result(timeout=0.01)
    with pytest.raises(futures.TimeoutError):
        list(futures.as_completed(waiting, timeout=0.01))
    gate.open()
    assert {future: future.result() for future in futures.as_completed(given)} == given
    assert futures.wait(given).done == set(given)
    assert isinstance(waiting[0], futures.Future)
    assert "finished" in repr(next(iter(given)))


def test_poll_gives_what_is_done_in_that_order(pool: lw.TaskPool, gate: Gate, square: lw.TaskBody) -> None:
    gate.fill(pool)
    given = [pool.submit(square, p, priority=p) for p in (-1, 0, 1)]
    host, lost = pool.submit(pow, 2, 3), pool.submit(square, 1)
    assert host.result() == 8 and lost.cancel()
    foreign: futures.Future[int] = futures.Future()
    assert pool.poll([]) == pool.poll([foreign, *given]) == []
    foreign.set_result(1)
    assert pool.poll([foreign, lost, *given, host]) == [host, lost, foreign], "what is another's comes last"
    gate.open()
    futures.wait(given)
    assert pool.poll([host, *given]) == [host, *reversed(given)]
    with pytest.raises(lw.UsageError, match="poll takes a list of futures, which 5 is not"):
        pool.poll([5])  # type: ignore[list-item]


def test_asyncio(pool: lw.TaskPool, square: lw.TaskBody, picky: lw.TaskBody) -> None:
    async def many() -> list[float]:
        loop = asyncio.get_running_loop()
        with pytest.raises(lw.TaskError, match="negative"):
            await asyncio.wrap_future(pool.submit(picky, -1))
        assert await loop.run_in_executor(pool, pow, 2, 5) == 32
        return await asyncio.gather(*(asyncio.wrap_future(pool.submit(square, i)) for i in range(100)))

    assert asyncio.run(many()) == [i * i for i in range(100)]


def test_map(pool: lw.TaskPool, square: lw.TaskBody, picky: lw.TaskBody) -> None:
    for size in (1, 7, 1000):
        assert list(pool.map(square, range(100), chunksize=size)) == [i * i for i in range(100)]
        rest = pool.map(picky, [1, 2, -1, 3], chunksize=size)
        with pytest.raises(lw.TaskError, match="negative"):
            list(rest)
        assert list(pool.map(pow, range(10), range(10), chunksize=size)) == [i**i for i in range(10)]
    assert list(pool.map(square, [])) == []
    assert {type(value) for size in (1, 2) for value in pool.map(square, range(5), chunksize=size)} == {float}


def test_map_of_structs(pool: lw.TaskPool) -> None:
    """Bytes may end with zeros, which are part of the struct."""
    body = lw.TaskBody("struct pair { double a, b; }; pair swapped(pair p) { return {p.b, p.a}; }")
    given = [np.array([i, 0.0]).tobytes() for i in range(5)]
    for size in (1, 2):
        found = pool.map(body, given, chunksize=size)
        assert [np.frombuffer(pair).tolist() for pair in found] == [[0, i] for i in range(5)]
    with pytest.raises(lw.UsageError, match="must be structs of 16 bytes: element 1 has 3"):
        pool.submit_many(body, [given[0], b"abc"])


def test_statistics_show_their_numbers(pool: lw.TaskPool, square: lw.TaskBody) -> None:
    pool.submit(square, 1).result()
    words = r"TaskStatistics\(submitted=1, done=1, failed=0, entries=\[1\], bundles=\d+, workers=\d+\)"
    assert re.fullmatch(words, repr(pool.statistics))


def test_a_map_that_nobody_wants_any_more(pool: lw.TaskPool, gate: Gate) -> None:
    gate.fill(pool)
    count, word = lw.TaskBody(COUNT), Word()
    for size in (1, 4):
        results = pool.map(count, [word.place] * 40, timeout=0.01, chunksize=size)
        with pytest.raises(futures.TimeoutError):
            next(results)
    gate.open()
    pool.shutdown()
    assert word.value < 80, "what was not asked for is cancelled"

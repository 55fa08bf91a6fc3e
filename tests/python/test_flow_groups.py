"""Collectives of a dataflow, and paths between its devices."""

from __future__ import annotations

import linecache
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType
from typing import Any

import laneway as lw
import numpy as np
import pytest

GROUPS = ["cpu:1", "cpu:2", "cpu:3", "checked:2"]


def arrays_of(members: int, size: int, dtype: Any = np.float64) -> list[Any]:
    return [(np.arange(size) * 7 + 100 * i).astype(dtype) for i in range(members)]


@pytest.mark.parametrize("devices", GROUPS)
def test_collectives_of_a_group(devices: str) -> None:
    with lw.flow.Context(devices, timeout=20) as ctx:
        group = lw.flow.Group(ctx, [ctx.host, *ctx.devices], packet_bytes=256)
        n, size = len(group), 60 * (len(ctx.devices) + 1)
        for shape in ("direct", "ring", "tree"):
            for op, combine in (("sum", np.sum), ("min", np.min), ("max", np.max)):
                given = arrays_of(n, size, np.int32)
                expected = combine(given, axis=0)
                group.all_reduce(given, op, shape=shape)
                assert all(np.array_equal(each, expected) for each in given), (shape, op)
            given = arrays_of(n, size, np.float32)
            expected = np.sum(given, axis=0)
            group.reduce(given, root=n - 1, shape=shape)
            assert np.array_equal(given[-1], expected)
            given = arrays_of(n, size, np.int8)
            expected = given[n - 1].copy()
            group.broadcast(given, n - 1, shape=shape)
            assert all(np.array_equal(each, expected) for each in given), shape
        blocks = [given.reshape(n, -1) for given in arrays_of(n, size, np.uint64)]
        whole = np.stack([blocks[i][i] for i in range(n)])
        group.all_gather(blocks, shape="ring")
        assert all(np.array_equal(each, whole) for each in blocks)
        parts = arrays_of(n, size)
        total = np.sum(parts, axis=0).reshape(n, -1)
        group.reduce_scatter(parts)
        assert all(np.array_equal(parts[i].reshape(n, -1)[i], total[i]) for i in range(n))
        for shape in ("direct", "tree"):
            spread = arrays_of(n, size, np.complex128)
            source = spread[1].reshape(n, -1).copy()
            group.scatter(spread, root=1, shape=shape)
            assert all(np.array_equal(spread[i].reshape(n, -1)[i], source[i]) for i in range(n)), shape
            for i in range(n):
                spread[i] += 1
            group.gather(spread, root=n - 1, shape=shape)
            assert np.array_equal(spread[n - 1].reshape(n, -1), source + 1), shape
        counts = np.array([[(i + 2 * j) % 5 for j in range(n)] for i in range(n)])
        sources = [np.arange(counts[i].sum()) + 1000 * i for i in range(n)]
        starts = np.cumsum(counts, axis=1) - counts
        for shape in ("direct", "ring"):
            targets = [np.zeros(counts[:, j].sum(), np.int64) for j in range(n)]
            group.all_to_all(sources, targets, counts, shape=shape)
            for j in range(n):
                came = np.concatenate([sources[i][starts[i, j] : starts[i, j] + counts[i, j]] for i in range(n)])
                assert np.array_equal(targets[j], came), shape


@pytest.mark.parametrize("devices", ["cpu:3", "checked:3"])
def test_some_members_exchange_nothing(devices: str) -> None:
    """In a group that leaves a device out, whose members are in another order."""
    with lw.flow.Context(devices, timeout=20) as ctx:
        group = lw.flow.Group(ctx, [ctx.devices[2], ctx.host, ctx.devices[0]], packet_bytes=16)
        for counts in (
            [[0, 9, 0], [0, 0, 0], [5, 0, 2]],  # one gives nothing
            [[3, 0, 1], [0, 0, 7], [0, 0, 0]],  # one gets nothing, another gives nothing
            [[0, 0, 0], [0, 4, 0], [0, 0, 0]],  # one is by itself
            [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        ):
            table = np.array(counts)
            sources = [np.arange(n) + 100 * i for i, n in enumerate(table.sum(axis=1))]
            pieces = [np.split(source, np.cumsum(row)[:-1]) for source, row in zip(sources, table)]
            for shape in ("direct", "ring"):
                targets = [np.full(n + 1, -1) for n in table.sum(axis=0)]
                group.all_to_all(sources, targets, counts, shape=shape)
                for j, target in enumerate(targets):
                    assert target.tolist() == [*np.concatenate([row[j] for row in pieces]).tolist(), -1], counts


def test_wrong_collectives_are_refused_and_the_group_goes_on(ctx: lw.flow.Context) -> None:
    group = lw.flow.Group(ctx)
    one, other = np.zeros(6), np.zeros(6)
    for call, words in (
        (lambda: group.all_reduce([one]), "a collective of 2 members takes an array of each, not 1"),
        (lambda: group.all_reduce([one, one]), "arrays of a collective share no memory"),
        (lambda: group.all_reduce([one, other[:5]]), "arrays of a collective are alike: 6 x float64, and 5 x float64"),
        (lambda: group.all_reduce([one, other.astype(int)]), "and 6 x int64"),
        (lambda: group.all_reduce([one, np.zeros(12)[::2]]), "the array of member 1 is not contiguous"),
        (lambda: group.all_reduce([one, [1.0] * 6]), "member 1, cpu:1, takes an array of NumPy, not list"),
        (lambda: group.all_reduce([one, other], "mean"), "op must be sum, min or max, not mean"),
        (lambda: group.all_reduce([one, other], shape="star"), "shape must be direct, ring or tree, not star"),
        (lambda: group.all_reduce([one.astype("i2"), other.astype("i2")]), "must be int32, .*, not int16"),
        (lambda: group.broadcast([one, other], 2), "root must be below 2, the number of members, not 2"),
        (lambda: group.scatter([one[:5], other[:5]]), "arrays of 5 elements have no 2 blocks of equal size"),
        (lambda: group.scatter([one, other], shape="ring"), "scatter has the shapes direct and tree, not ring"),
        (lambda: group.gather([one, other], shape="ring"), "gather has the shapes direct and tree, not ring"),
        (
            lambda: group.all_to_all([one, other], [one.copy(), other.copy()], np.eye(2, dtype=int), shape="tree"),
            "all_to_all has the shapes direct and ring, not tree",
        ),
        (lambda: group.gather([one, other], shape=None), "shape and op of a collective are names"),  # type: ignore[arg-type]
        (lambda: group.all_to_all([one], [other], [[1, 2]]), "counts must be 2 x 2 whole numbers"),
        (lambda: group.all_to_all([one, other], [one.copy()], np.eye(2, dtype=int)), "a source and a target of each"),
        (lambda: group.all_to_all([one, other], [one.copy(), other.copy()], [[7, 0], [0, 0]]), "has 6 elements, not 7"),
        (lambda: lw.flow.Group(ctx, [ctx.host, ctx.host]), "host is a member of the group twice"),
        (lambda: group.broadcast([one, other], shape=None), "shape and op of a collective are names"),  # type: ignore[arg-type]
        (lambda: group.all_reduce(None), "arrays must be a list, one for each member"),  # type: ignore[arg-type]
        (lambda: lw.flow.Group(ctx, 5), "members must be a list, one for each member"),  # type: ignore[arg-type]
        (lambda: lw.flow.Group(ctx, group.members), "cpu:0 is a member of another group: Context.add_endpoint"),
        (lambda: lw.flow.Group(ctx, []), "a group has one member at least"),
        (lambda: lw.flow.Group(5), "a group is of a Context, not of 5"),  # type: ignore[arg-type]
        (lambda: ctx.path(ctx.host, lw.flow.Router(ctx, "ring")), "a path joins devices or the host, not router"),
    ):
        with pytest.raises(lw.UsageError, match=words):
            call()
    bytes_of = lambda: [np.ones(4, "u1"), np.ones(4, "u1")]  # noqa: E731
    most = 2**64 - 2
    for counts, words in (
        (np.full((2, 2), 2**63, np.uint64), f"the source of member 0 has 4 elements, not {2**64}"),
        (np.array([[most, 4], [4, most]], np.uint64), f"has 4 elements, not {2**64 + 2}"),
        ([[1], [1, 2]], "counts must be a list of numbers, or of rows of the same length"),
    ):
        with pytest.raises(lw.UsageError, match=words):
            group.all_to_all(bytes_of(), bytes_of(), counts)
    one.flags.writeable = False
    with pytest.raises(lw.UsageError, match="the array of member 0 cannot be written to"):
        group.broadcast([one, other])
    group.broadcast([other, np.ones(6)], root=1)
    assert other.sum() == 6


def test_collectives_of_several_threads_wait_for_each_other(ctx: lw.flow.Context) -> None:
    """Also those of two groups of the same devices."""
    groups = [lw.flow.Group(ctx), lw.flow.Group(ctx)]
    wrong: list[int] = []

    def sum_again_and_again(number: int) -> None:
        for _ in range(100):
            arrays = [np.full(1000, number + 1.0), np.full(1000, number + 1.0)]
            groups[number % 2].all_reduce(arrays)
            wrong.extend(number for each in arrays if (each != 2 * (number + 1)).any())

    threads = [threading.Thread(target=sum_again_and_again, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    del groups[1]
    assert len(lw.flow.Group(ctx)) == 2


def test_collectives_take_turns_in_the_order_of_their_calls(ctx: lw.flow.Context) -> None:
    order: list[int] = []

    def collective(number: int) -> None:
        with ctx._turn():
            order.append(number)

    with ThreadPoolExecutor(4) as threads:
        with ctx._turn():
            calls = []
            for number in range(4):
                calls.append(threads.submit(collective, number))
                wait_in_line(ctx, number + 2, calls[-1])
        for call in calls:
            call.result()
    assert order == [0, 1, 2, 3]


def wait_in_line(ctx: lw.flow.Context, n: int, call: Future[None]) -> None:
    """Until `n` collectives stand in line, of which `call` is the last."""
    while len(ctx._line) < n and not call.done():
        time.sleep(0)


def test_the_deadline_is_of_each_turn() -> None:
    with lw.flow.Context("cpu:1", timeout=3) as ctx:

        def collective() -> None:
            with ctx._turn():
                time.sleep(1.2)

        with ThreadPoolExecutor(4) as threads:
            for call in [threads.submit(collective) for _ in range(4)]:  # the last one waits for 3.6 s
                call.result()


def test_a_collective_waits_for_its_turn_until_the_deadline() -> None:
    with lw.flow.Context("cpu:2", timeout=0.1) as ctx:
        group = lw.flow.Group(ctx)
        with ctx._turn():  # as a collective that takes long has it
            for _ in range(2):
                with pytest.raises(lw.TimeoutError, match=r"a collective did not get its turn within 0\.1 s"):
                    group.broadcast([np.ones(1), np.ones(1)])  # it has ended the dataflow
    ctx = lw.flow.Context("cpu:1", timeout=3600)
    group = lw.flow.Group(ctx)
    with ThreadPoolExecutor(1) as thread, ctx._turn():
        waiting = thread.submit(group.broadcast, [np.ones(1)])
        wait_in_line(ctx, 2, waiting)
        ctx.close()
        with pytest.raises(lw.UsageError, match="closed"):
            waiting.result()


def interrupted_turn(ctx: lw.flow.Context, at: int) -> bool:
    """A turn whose `at`-th line is interrupted instead of run; whether it has as many. The way out of a `with` is no
    place where Python looks for interrupts."""
    left = at

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        code = frame.f_code
        if event == "line" and code.co_name == "_turn":
            if not linecache.getline(code.co_filename, frame.f_lineno).strip().startswith("with "):
                left -= 1
            if left < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with ctx._turn():
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupted_collective_leaves_the_line() -> None:
    at = 0
    with lw.flow.Context("cpu:1", timeout=1) as ctx, ThreadPoolExecutor(1) as thread:

        def collective() -> None:
            with ctx._turn():
                pass

        while interrupted_turn(ctx, at):
            thread.submit(collective).result()
            at += 1
    assert at > 5


def test_arrays_live_as_long_as_a_collective_uses_them(ctx: lw.flow.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Any]] = []

    def arrays() -> Iterator[Any]:
        for i in range(2):
            array = np.full(100, float(i))
            made.append(weakref.ref(array))
            yield array
            del array

    group = lw.flow.Group(ctx)
    do = group._do

    def while_they_live(*call: Any) -> None:
        do(*call)
        assert [each()[0] for each in made] == [0, 0]  # type: ignore[index]

    monkeypatch.setattr(group, "_do", while_they_live)
    group.broadcast(arrays())  # type: ignore[arg-type]
    assert all(each() is None for each in made)


def test_paths_between_devices(ctx: lw.flow.Context) -> None:
    assert [repr(path) for path in ctx.paths[:2]] == [
        "<laneway.flow.Path: host -> cpu:0: same memory>",
        "<laneway.flow.Path: host -> cpu:1: same memory>",
    ]
    assert len(ctx.paths) == 6
    path = ctx.path(*ctx.devices)
    assert (path.kind, path.peer_access, path.rank) == ("same memory", True, 0)
    assert path.bandwidth == path.bandwidth > 1e7

"""Links and routers driven by Python threads: what is sent arrives, wrong use is told, and nothing waits for ever."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS

DEVICES = ["cpu:1", "cpu:3", "checked:2", *(["cuda:0", "cuda:0,cpu:1"] if GPUS else [])]


@pytest.fixture
def ctx() -> Iterator[lw.flow.Context]:
    with lw.flow.Context("cpu:2", timeout=20) as made:
        yield made


def received(link: lw.flow.Link, dtype: Any) -> Any:
    """All that comes until the end, in its place."""
    parts = {segment.offset: segment.array(dtype) for segment in link}
    return np.concatenate([parts[offset] for offset in sorted(parts)])


@pytest.mark.parametrize("devices", DEVICES)
def test_arrays_arrive_in_packets(devices: str) -> None:
    sent = np.arange(1000, dtype=np.float32)
    with lw.flow.Context(devices, timeout=20) as ctx:
        link = lw.flow.Link(ctx.host, ctx.devices[-1], packet_bytes=402, buffers=2)
        sending = link.send(sent, tag=7)
        assert not sending.done(), "two of ten packets have room"
        link.shutdown()
        parts = []
        for segment in link:
            assert (segment.offset, segment.message, segment.tag) == (400 * len(parts), 0, 7)
            assert (segment.message_nbytes, segment.source) == (4000, ctx.host)
            parts.append(segment.array(np.float32))
        sending.result()
        assert sending.done()
        assert np.array_equal(np.concatenate(parts), sent)
        assert link.receive().result() is None, "the end stays the end"
        assert (ctx.host.name, ctx.host.is_host, ctx.devices[-1].is_host) == ("host", True, False)


def test_kinds_of_arrays(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=120, buffers=3)
    matrix = np.arange(60, dtype=np.int64).reshape(6, 10)
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", np.int32), ("b", np.float64)])
    for array in (matrix, matrix[:, 2:7], matrix[::2], matrix[1, 3:9], records, np.empty(0), np.float64(3)):
        sending = link.send(array)
        wanted = np.ascontiguousarray(array).reshape(-1)
        got: list[Any] = []
        while sum(map(len, got)) < len(wanted) or not got:
            with link.receive().result() as segment:  # type: ignore[union-attr]
                got.append(segment.array(array.dtype))
        sending.result()
        assert np.array_equal(np.concatenate(got), wanted)
    read_only = np.arange(3)
    read_only.flags.writeable = False
    link.send(read_only)
    link.send([1, 2])  # a list is an array that nobody else holds
    gc.collect()
    assert [link.receive().result().array(np.int64).tolist() for _ in range(2)] == [[0, 1, 2], [1, 2]]  # type: ignore[union-attr]


def views(item: str) -> list[Any]:
    """Arrays whose elements are not side by side."""
    block = (np.arange(7 * 6 * 10) % 120).astype(item).reshape(7, 6, 10)
    records = np.zeros(9, dtype=[("a", np.int8), ("b", item)])
    records["b"] = np.arange(9).astype(item)
    return [
        block[:, ::2],
        block[::-1, :, 3],
        block[1:6:2, ::-2, 2:9],
        block.T,
        block.transpose(1, 0, 2)[:, :, ::3],
        np.broadcast_to(block[0, 0], (4, 10)),
        np.lib.stride_tricks.sliding_window_view(block[0, 0], 4),
        records["b"][::2],
        records[::-3],
        block[::2, 0:0],
    ]


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("copies", ["engine", "kernel", "rule"])
def test_views_with_strides_arrive_without_a_copy(devices: str, copies: str) -> None:
    if copies == "kernel" and "cuda" in devices:
        pytest.skip("lanes need not reach memory of NumPy")
    with lw.flow.Context(devices, timeout=20) as ctx:
        link = lw.flow.Link(ctx.host, ctx.devices[-1], packet_bytes=96, buffers=3, copies=copies)
        for array in [view for item in ("i2", "f8", "S3") for view in views(item)]:
            sending = link.send(array)
            into = np.zeros(array.shape, array.dtype)[::-1]  # of strides of its own
            got = -1
            while got < array.nbytes:
                got = max(got, 0)
                with link.receive().result() as segment:  # type: ignore[union-attr]
                    segment.unpack(into)
                    got += segment.nbytes
            sending.result()
            assert np.array_equal(into, array), array.strides
        total, by_kernel = link.packets
        assert by_kernel == {"engine": 0, "kernel": total - 3}.get(copies, by_kernel), "empty ones have no copy"


@pytest.mark.parametrize("devices", DEVICES)
def test_pieces_arrive_in_their_order_and_go_where_they_belong(devices: str) -> None:
    random = np.random.default_rng(5)
    with lw.flow.Context(devices, timeout=20) as ctx:
        link = lw.flow.Link(ctx.host, ctx.devices[-1], packet_bytes=200, buffers=2)
        for _ in range(10):
            sent = random.integers(0, 1000, 500)
            starts = np.sort(random.choice(500, 40, replace=False))
            counts = np.minimum(random.integers(0, 9, 40), np.diff(starts, append=500))
            order = random.permutation(40)
            pieces = np.column_stack((starts, counts))[order]
            wanted = np.concatenate([sent[first : first + count] for first, count in pieces])
            into, places = np.full(500, -1), np.zeros(500, bool)
            sending = link.send(sent, pieces=pieces)
            parts: dict[int, Any] = {}
            while sum(map(len, parts.values())) < len(wanted):
                with link.receive().result() as segment:  # type: ignore[union-attr]
                    parts[segment.offset] = segment.array(sent.dtype)
                    segment.unpack(into, pieces)
            sending.result()
            assert np.array_equal(np.concatenate([parts[at] for at in sorted(parts)]), wanted)
            for first, count in pieces:
                places[first : first + count] = True
            assert np.array_equal(into, np.where(places, sent, -1)), "nothing else has changed"


@pytest.mark.parametrize("devices", DEVICES)
def test_workers_share_packets_and_send_results_back(devices: str) -> None:
    """Figure 3 of Groute, in Python: whoever has room gets a packet, what it makes is gathered."""
    values = np.random.default_rng(1).integers(0, 1000, 20_000)
    with lw.flow.Context(devices, timeout=20) as ctx:
        scatter, gather = lw.flow.Router(ctx, "available", "scatter"), lw.flow.Router(ctx)
        feed = lw.flow.Link(ctx.host, scatter)
        collect = lw.flow.Link(gather, ctx.host)

        def keep(source: lw.flow.Link, target: lw.flow.Link) -> None:
            for segment in source:
                part = segment.array(values.dtype)
                target.send(part[part > 500], tag=segment.offset)
            target.shutdown()

        for device in (*ctx.devices, ctx.add_endpoint(ctx.devices[0], "second")):
            ctx.start_worker(keep, lw.flow.Link(scatter, device, packet_bytes=4096), lw.flow.Link(device, gather))
        feed.send(values)
        feed.shutdown()
        kept = {segment.tag: segment.array(values.dtype) for segment in collect}
        ctx.join()
    assert len(kept) == -(-values.nbytes // 4096)
    assert np.array_equal(np.concatenate([kept[tag] for tag in sorted(kept)]), values[values > 500])


@pytest.mark.parametrize("devices", DEVICES)
def test_segments_are_passed_on(devices: str) -> None:
    sent = np.arange(5000, dtype=np.uint16)
    with lw.flow.Context(devices, timeout=20) as ctx:
        there = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=1000, buffers=1)
        back = lw.flow.Link(ctx.devices[0], ctx.host, packet_bytes=1000)
        other = lw.flow.Link(ctx.add_endpoint(ctx.host, "other"), ctx.devices[0])

        def pass_on() -> None:
            while (segment := there.receive().result()) is not None:
                with pytest.raises(lw.UsageError, match=f"lies at {ctx.devices[0].name} is sent from there"):
                    other.send(segment)
                back.send(segment, tag=segment.offset)
                with pytest.raises(lw.UsageError, match="has been released"):
                    segment.array()
            back.shutdown()

        ctx.start_worker(pass_on)
        there.send(sent)
        there.shutdown()
        got = np.concatenate([segment.array(np.uint16) for segment in back])
        ctx.join()
    assert np.array_equal(got, sent)


def outputs_of(ctx: lw.flow.Context, policy: Any, packets: int = 6) -> list[list[int]]:
    """Offsets that each of three outputs gets of one array, a packet a number."""
    router = lw.flow.Router(ctx, policy, "by hand")
    ends = [*ctx.devices, ctx.add_endpoint(ctx.host, "third")]
    links = [lw.flow.Link(router, end, packet_bytes=8, buffers=packets) for end in ends]
    feed = lw.flow.Link(ctx.host, router)
    feed.send(np.arange(packets), tag=1)
    feed.shutdown()
    return [[segment.array(np.int64)[0] for segment in link] for link in links]


def test_policies(ctx: lw.flow.Context) -> None:
    everything = list(range(6))
    assert outputs_of(ctx, "broadcast") == [everything] * 3
    assert outputs_of(ctx, "owner") == [[], everything, []]
    assert outputs_of(ctx, "even") == [[0, 1], [2, 3], [4, 5]]
    assert sorted(number for got in outputs_of(ctx, "available") for number in got) == everything
    seen: list[Any] = []

    def by_hand(packet: lw.flow.Packet, source: lw.flow.Endpoint, outputs: Any) -> Any:
        seen.append((packet, source, [end.name for end in outputs], threading.current_thread()))
        place = packet.offset // 8
        return lw.flow.Route([0, 2], to_all=True) if place == 3 else (place % 2, np.int32(1), [1])[place % 3]

    assert outputs_of(ctx, by_hand) == [[0, 3], [1, 2, 4, 5], [3]]
    packet, source, names, thread = seen[2]
    assert packet == lw.flow.Packet(message=0, tag=1, offset=16, nbytes=8, message_nbytes=48)
    assert (source, thread) == (ctx.host, threading.main_thread())
    assert names == ["cpu:0", "cpu:1", "host (third)"]


def test_policies_that_fail(ctx: lw.flow.Context) -> None:
    def told_of(policy: Any) -> BaseException:
        router = lw.flow.Router(ctx, policy, "odd")
        into, _out = lw.flow.Link(ctx.host, router), lw.flow.Link(router, ctx.devices[0])
        with pytest.raises(BaseException) as told:
            into.send(np.arange(4))
        return told.value

    def fails(*_: Any) -> int:
        raise KeyError("no place")

    def leaves(*_: Any) -> int:
        raise KeyboardInterrupt

    asked = "router 'odd': its policy, asked for packet at byte 0 of message 0 from host, "
    error = told_of(fails)
    assert isinstance(error, lw.UsageError)
    assert str(error) == asked + "threw: KeyError: 'no place'"
    assert isinstance(error.__cause__, KeyError)
    assert str(told_of(lambda *_: [])) == asked + "named no destination"
    assert "a policy returns numbers of outputs, not None" in str(told_of(lambda *_: None))
    assert "a policy returns numbers of outputs, not 'x'" in str(told_of(lambda *_: "x"))
    assert "there is no output 1 of 1" in str(told_of(lambda *_: 1))
    assert "there is no output -1 of 1" in str(told_of(lambda *_: lw.flow.Route([-1])))
    assert isinstance(told_of(leaves), KeyboardInterrupt)
    with pytest.raises(lw.UsageError, match=r"policy must be available, .* not any"):
        lw.flow.Router(ctx, "any")
    with pytest.raises(lw.UsageError, match="the name of one or a function, not 3"):
        lw.flow.Router(ctx, 3)  # type: ignore[arg-type]


def test_wrong_use(ctx: lw.flow.Context) -> None:
    device, router = ctx.devices[0], lw.flow.Router(ctx)
    link = lw.flow.Link(ctx.host, device, packet_bytes=16)
    with lw.flow.Context("cpu:1") as other:
        wrong: list[tuple[Any, str]] = [
            (lambda: lw.flow.Link(device, device), "not one with itself"),
            (lambda: lw.flow.Link(ctx.host, device), "link host -> cpu:0: there is a link between these two"),
            (lambda: lw.flow.Link(router, lw.flow.Router(ctx)), "between two routers"),
            (lambda: lw.flow.Link(other.host, device), "different contexts"),
            (lambda: lw.flow.Link("host", device), "an Endpoint or a Router, not 'host'"),  # type: ignore[arg-type]
            (lambda: lw.flow.Link(device, ctx.host, packet_bytes=0), "packet_bytes must be a whole number from 1"),
            (lambda: lw.flow.Link(device, ctx.host, buffers=0), "buffers must be a whole number from 1"),
            (lambda: ctx.add_endpoint(router, "second"), "no endpoints of its own"),
            (lambda: ctx.add_endpoint(device, 5), "name must be text, not 5"),  # type: ignore[arg-type]
            (lambda: lw.flow.Router(ctx, name=5), "name must be text, not 5"),  # type: ignore[arg-type]
            (lambda: link.send(np.arange(8), pieces=[(1, 2), (1,)]), "pieces must be a list of numbers, or of rows"),
            (lambda: link.send(np.array([None])), "no elements that can be sent"),
            (lambda: link.send(np.arange(8)[::2], pieces=[(0, 1)]), "pieces are of a contiguous array"),
            (lambda: link.send(np.arange(8), pieces=[(0, 9)]), "9 elements from element 0 on is not within .* of 8"),
            (lambda: link.send(np.arange(8), pieces=[(0, 1), (-1, 1)]), "neither number can be negative"),
            (lambda: link.send(np.arange(8), pieces=[(0, -1)]), "neither number can be negative"),
            (lambda: link.send(np.arange(8), pieces=[(0, 0.5)]), "pairs of whole numbers"),
            (lambda: link.send(np.arange(8), pieces=[1, 2]), "pairs of whole numbers"),
            (lambda: lw.flow.Link(device, ctx.host, copies="fast"), "rule, engine or kernel, not fast"),
            (
                lambda: lw.flow.Link(ctx.host, ctx.add_endpoint(ctx.host, "h"), copies="kernel").send([1]),
                "so kernels cannot copy",
            ),
            (lambda: link.send(np.zeros(3, "S20")), "packets of 16 bytes hold no element of 20"),
            (lambda: link.send(np.ma.masked_array([1], [True])), "masked"),
            (lambda: link.send([1], tag=-1), "tag must be a whole number"),
            (lambda: lw.flow.Link(ctx.host, router).receive(), "a router receives for its outputs"),
            (lambda: lw.flow.Link(lw.flow.Router(ctx), device).send([1]), "only passes on"),
            (lambda: lw.flow.Context("cpu:1", timeout=0), "timeout must be a positive"),
            (lambda: lw.flow.Context("gpu"), "expected cuda"),
            (lambda: ctx.start_worker(3), "work must be a function"),  # type: ignore[arg-type]
            (lambda: other.__reduce__(), "cannot be pickled"),
        ]
        for call, told in wrong:
            with pytest.raises(lw.UsageError, match=told):
                call()
    link.send(np.arange(4, dtype=np.int32))
    segment = link.receive().result()
    assert segment is not None
    with pytest.raises(lw.UsageError, match="a segment of 16 bytes has no whole elements of"):
        segment.array("S5")
    with pytest.raises(lw.UsageError, match="dtype must be a type of NumPy, not 'foo'"):
        segment.array("foo")
    whole = np.zeros(4, np.int32)
    frozen = np.zeros(4, np.int32)
    frozen.flags.writeable = False
    broadcast = np.lib.stride_tricks.as_strided(whole, (4,), (0,), writeable=True)
    badly: list[tuple[Any, Any, str]] = [
        (np.zeros(3, np.int32), None, "a message of 16 bytes and a target of 12"),
        (whole, [(0, 3)], "a message of 16 bytes and a target of 12"),
        (whole, [(0, 3), (2, 1)], "overlap"),
        (whole, [(1, 4)], "not within"),
        (broadcast, None, "overlap"),
        (frozen, None, "can be written to"),
        ([0, 0, 0, 0], None, "can be written to"),
    ]
    for into, pieces, told in badly:
        with pytest.raises(lw.UsageError, match=told):
            segment.unpack(into, pieces)
    with pytest.raises(lw.UsageError, match="a segment is passed on as a whole"):
        link.send(segment, pieces=[(0, 1)])
    assert not whole.any(), "nothing has been written"
    segment.release()
    for call in (segment.release, lambda: segment.unpack(whole)):
        with pytest.raises(lw.UsageError, match="link host -> cpu:0: the segment has been released"):
            call()
    link.shutdown()
    link.shutdown()
    with pytest.raises(lw.UsageError, match="link host -> cpu:0: a send after"):
        link.send([1])


def test_segments_that_nobody_holds_are_released(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=8, buffers=1)
    sending = link.send(np.arange(50))
    for number in range(50):
        assert link.receive().result().array(np.int64)[0] == number  # type: ignore[union-attr]
    sending.result()


def test_arrays_live_until_they_have_been_sent(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=800, buffers=1)
    array = np.arange(300)
    gone = weakref.ref(array)
    link.send(array)
    del array
    gc.collect()
    assert gone() is not None
    got = [link.receive().result().array(np.int64) for _ in range(3)]  # type: ignore[union-attr]
    assert np.concatenate(got).tolist() == list(range(300))
    link.send([0]).done()  # looks what can go
    assert gone() is None


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
        spread = arrays_of(n, size, np.complex128)
        source = spread[1].reshape(n, -1).copy()
        group.scatter(spread, root=1)
        assert all(np.array_equal(spread[i].reshape(n, -1)[i], source[i]) for i in range(n))
        for i in range(n):
            spread[i] += 1
        group.gather(spread, root=0)
        assert np.array_equal(spread[0].reshape(n, -1), source + 1)
        counts = np.array([[(i + 2 * j) % 5 for j in range(n)] for i in range(n)])
        sources = [np.arange(counts[i].sum()) + 1000 * i for i in range(n)]
        targets = [np.zeros(counts[:, j].sum(), np.int64) for j in range(n)]
        group.all_to_all(sources, targets, counts)
        starts = np.cumsum(counts, axis=1) - counts
        for j in range(n):
            came = np.concatenate([sources[i][starts[i, j] : starts[i, j] + counts[i, j]] for i in range(n)])
            assert np.array_equal(targets[j], came)


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

    with ThreadPoolExecutor(4) as threads, ctx._turn():
        for number in range(4):
            threads.submit(collective, number)
            while len(ctx._line) < number + 2:
                time.sleep(0)
    assert order == [0, 1, 2, 3]


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
        while len(ctx._line) < 2:
            time.sleep(0)
        ctx.close()
        with pytest.raises(lw.UsageError, match="closed"):
            waiting.result()


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

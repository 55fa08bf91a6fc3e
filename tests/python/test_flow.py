"""Links driven by Python threads: what is sent arrives, and wrong use is told."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS

DEVICES = ["cpu:1", "cpu:3", "checked:2", *(["cuda:0", "cuda:0,cpu:1"] if GPUS else [])]


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
            (lambda: ctx.add_endpoint(other.host, "h"), "host is an endpoint of another context"),
            (lambda: ctx.path(device, other.devices[0]), "cpu:0 is an endpoint of another context"),
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
    for wrong in ("foo", "(2,", ("f4", -3)):
        with pytest.raises(lw.UsageError, match="dtype must be a type of NumPy, not "):
            segment.array(wrong)  # type: ignore[call-overload]
    with pytest.raises(lw.UsageError, match=r"dtype must be that of one element, not of an array of them, .*\(2, 2\)"):
        segment.array("(2,2)f4")
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


def test_segments_that_cannot_be_sent_on_stay_the_callers(ctx: lw.flow.Context) -> None:
    host, device = ctx.host, ctx.devices[0]
    link, onward = lw.flow.Link(host, device, packet_bytes=8, buffers=1), lw.flow.Link(device, host)
    link.send(np.arange(3))
    onward.shutdown()
    with link.receive().result() as first:  # type: ignore[union-attr]
        with pytest.raises(lw.UsageError, match="after"):
            onward.send(first)
        assert first.array(np.int64)[0] == 0
    with link.receive().result() as second:  # type: ignore[union-attr]
        assert second.array(np.int64)[0] == 1


def test_segments_whose_way_on_goes_are_released(ctx: lw.flow.Context) -> None:
    host, device = ctx.host, ctx.devices[0]
    link, onward = lw.flow.Link(host, device, packet_bytes=8, buffers=1), lw.flow.Link(device, host, buffers=1)
    link.send(np.arange(3))
    sendings = [onward.send(link.receive().result()) for _ in range(2)]  # type: ignore[arg-type]
    assert not sendings[1].done()  # nobody takes the first
    del onward, sendings
    gc.collect()
    assert link.receive().result().array(np.int64)[0] == 2  # type: ignore[union-attr]


def test_who_waits_for_one_packet_gets_one_segment(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=8, buffers=1)
    for number in range(20):
        coming = link.receive()
        with ThreadPoolExecutor(4) as threads:
            came = [threads.submit(coming.result) for _ in range(4)]
            link.send([number])
        first = coming.result()
        assert first is not None and all(each.result() is first for each in came)
        first.release()


def test_blocks_of_segments_tell_what_they_raised() -> None:
    with lw.flow.Context("cpu:1") as ctx:
        link = lw.flow.Link(ctx.host, ctx.devices[0])
        link.send([1])
        with pytest.raises(ValueError, match="mine"), link.receive().result():  # type: ignore[union-attr]
            ctx.close()
            raise ValueError("mine")


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


class OfGpu:
    """Memory of NumPy that says it is a GPU's."""

    def __init__(self, array: Any, **fields: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, **fields}


def test_arrays_of_gpus_are_sent_from_there(ctx: lw.flow.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    link = lw.flow.Link(ctx.devices[0], ctx.host, packet_bytes=64)
    grid = np.arange(24, dtype=np.int32).reshape(4, 6)
    with pytest.raises(lw.UsageError, match=r"^link cpu:0 -> host: an array of a GPU is sent from an endpoint of that"):
        link.send(OfGpu(grid))
    monkeypatch.setattr(lw.flow.link, "is_gpu", lambda name: name == "cpu:0")
    one = np.lib.stride_tricks.as_strided(grid, (1, 6), (7, 4))
    for array in (grid, grid[1:3], one, np.empty((0, 3), np.float32), np.array(7.5)):
        sending = link.send(OfGpu(array), tag=3)
        got: list[Any] = []
        while sum(map(len, got)) < array.size or not got:
            with link.receive().result() as segment:  # type: ignore[union-attr]
                assert segment.tag == 3
                got.append(segment.array(array.dtype))
        sending.result()
        assert np.array_equal(np.concatenate(got), array.reshape(-1))
    held = OfGpu(np.arange(4))
    gone = weakref.ref(held)
    sending = link.send(held)
    del held
    assert gone() is not None, "it stays until it has been received"
    assert link.receive().result().array(np.int64).tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]
    for wrong, told in (
        (OfGpu(grid[:, ::2]), "contiguous, in C's order"),
        (OfGpu(grid.T), "contiguous, in C's order"),
        (OfGpu(grid, mask=OfGpu(grid)), "has no mask"),
        (OfGpu(np.array([None])), "no elements that can be sent"),
        (OfGpu(grid, stream=1), "link cpu:0 -> host: streams of CUDA are of GPUs, and cpu:0 is none"),
    ):
        with pytest.raises(lw.UsageError, match=told):
            link.send(wrong)
    with pytest.raises(lw.UsageError, match="one of a GPU is sent as a whole"):
        link.send(OfGpu(grid), pieces=[(0, 1)])


def test_segments_are_computed_on_where_they_lie(ctx: lw.flow.Context) -> None:
    to, back = lw.flow.Link(ctx.host, ctx.devices[0], buffers=1), lw.flow.Link(ctx.devices[0], ctx.host)
    to.send(np.arange(6.0))
    segment = to.receive().result()
    assert segment is not None and not hasattr(segment, "__cuda_array_interface__")
    there = np.asarray(segment).view(np.float64)
    assert there.__array_interface__["data"] == segment.__array_interface__["data"]
    there *= 2
    back.send(segment)
    assert back.receive().result().array(float).tolist() == [0, 2, 4, 6, 8, 10]  # type: ignore[union-attr]
    with pytest.raises(lw.UsageError, match="link host -> cpu:0: the segment has been released"):
        np.asarray(segment)
    to.send(np.arange(2.0))
    there = np.asarray(to.receive().result()).view(np.float64)
    gc.collect()
    waiting = to.send(np.arange(3.0))
    assert there.tolist() == [0, 1] and not waiting.done(), "the array holds the only buffer"
    del there
    gc.collect()
    assert to.receive().result().array(float).tolist() == [0, 1, 2]  # type: ignore[union-attr]


class Stream:
    def __init__(self, **names: Any) -> None:
        self.__dict__.update(names)


def test_segments_are_released_behind_streams_of_gpus(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0])
    link.send([1, 2])
    segment = link.receive().result()
    assert segment is not None
    for stream in (1, np.int64(1), Stream(ptr=0), Stream(cuda_stream=7), Stream(__cuda_stream__=lambda: (0, 9))):
        with pytest.raises(lw.UsageError, match="streams of CUDA are of GPUs, and cpu:0 is none"):
            segment.release(stream)
    no_streams = ((0, 1), lambda: (0,), lambda: "x", lambda: (5, 7), lambda: (0, None))
    odd = [Stream(__cuda_stream__=what) for what in no_streams]
    for stream in (True, -1, 2**64, "default", Stream(ptr=None), Stream(ptr=2**80), *odd):
        with pytest.raises(lw.UsageError, match="stream must be a stream of CUDA or its number"):
            segment.release(stream)
    assert segment.array(np.int64).tolist() == [1, 2], "it is still held"
    segment.release()


def test_sends_are_ordered_behind_streams_of_gpus(ctx: lw.flow.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    to, back = lw.flow.Link(ctx.host, ctx.devices[0]), lw.flow.Link(ctx.devices[0], ctx.host)
    to.send([1, 2])
    segment = to.receive().result()
    assert segment is not None
    monkeypatch.setattr(lw.flow.link, "is_gpu", lambda name: name == "cpu:0")
    for what in (segment, np.arange(3), OfGpu(np.arange(3))):
        with pytest.raises(lw.UsageError, match="link cpu:0 -> host: streams of CUDA are of GPUs, and cpu:0 is none"):
            back.send(what, stream=Stream(ptr=0))
        with pytest.raises(lw.UsageError, match="stream must be a stream of CUDA or its number"):
            back.send(what, stream="default")
    assert segment.array(np.int64).tolist() == [1, 2], "it is still held"
    back.send(segment)
    assert back.receive().result().array(np.int64).tolist() == [1, 2]  # type: ignore[union-attr]


def test_packets_are_awaited_by_streams_of_gpus(ctx: lw.flow.Context) -> None:
    link = lw.flow.Link(ctx.host, ctx.devices[0])
    coming = link.receive()
    for stream in (1, Stream(ptr=0), Stream(cuda_stream=7)):  # told at once: nothing has been sent
        with pytest.raises(lw.UsageError, match="link host -> cpu:0: streams of CUDA are of GPUs, and cpu:0 is none"):
            coming.result(stream)
    for stream in (True, -1, "default"):
        with pytest.raises(lw.UsageError, match="stream must be a stream of CUDA or its number"):
            coming.result(stream)
    link.send([1, 2])
    segment = coming.result()
    assert segment is not None and segment.array(np.int64).tolist() == [1, 2], "the receive is still there"
    assert coming.result() is segment
    back = lw.flow.Link(ctx.devices[0], ctx.host)
    back.send(segment)
    with pytest.raises(lw.UsageError, match="streams of CUDA are of GPUs, and host is none"):
        back.receive().result(1)


SPIN = """extern "C" __global__ void spin(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {}
}"""


@pytest.mark.skipif(not GPUS, reason="needs a GPU")
@pytest.mark.parametrize("way", ["array", "segment"])
def test_arrays_and_streams_of_a_gpu(way: str) -> None:
    cupy = pytest.importorskip("cupy")
    with lw.flow.Context("cuda:0", timeout=20) as ctx:
        to = lw.flow.Link(ctx.host, ctx.devices[0], packet_bytes=8000, buffers=1)
        back = lw.flow.Link(ctx.devices[0], ctx.host, packet_bytes=8000)
        stream = cupy.cuda.Stream(non_blocking=True)
        spin, made = cupy.RawKernel(SPIN, "spin"), cupy.zeros(1000)
        with stream:  # all kernels are there before time counts
            spin((1,), (1,), (1,))
            cupy.multiply(made, 2, out=made)
        stream.synchronize()
        to.send(np.full(1000, 0.0))
        for number in range(4):
            segment = to.receive().result()
            assert segment is not None and not hasattr(segment, "__array_interface__")
            to.send(np.full(1000, number + 1.0))  # into the same buffer, when that is free
            with stream:
                there = cupy.asarray(segment).view(cupy.float64)
                spin((1,), (1,), (500_000_000,))
                cupy.multiply(there, 2, out=made if way == "array" else there)
                if way == "array":
                    segment.release(stream)
                    back.send(made)
                else:
                    back.send(segment, stream=stream)
            assert not stream.done, "all has been given before anything is done"
            got = back.receive().result()
            assert got is not None and (got.array(float) == number * 2).all()
            del there, got


@pytest.mark.skipif(not GPUS, reason="needs a GPU")
def test_a_stream_waits_for_a_packet() -> None:
    cupy = pytest.importorskip("cupy")
    with lw.flow.Context("cuda:0", timeout=20) as ctx:
        first, second = ctx.devices[0], ctx.add_endpoint(ctx.devices[0], "second")
        link, back = lw.flow.Link(first, second, packet_bytes=8000), lw.flow.Link(second, ctx.host, packet_bytes=8000)
        makes, takes = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
        spin, made, kept = cupy.RawKernel(SPIN, "spin"), cupy.zeros(1000), cupy.zeros(1000)
        for stream in (makes, takes):  # all kernels are there before time counts
            with stream:
                spin((1,), (1,), (1,))
                cupy.multiply(made, 2, out=kept)
            stream.synchronize()
        for number in range(4):
            with makes:
                spin((1,), (1,), (500_000_000,))
                made[:] = number + 1
            link.send(made, stream=makes)
            coming = link.receive()
            segment = coming.result(takes)
            assert segment is not None and not makes.done, "no thread has waited for the bytes"
            if number % 2 == 0:
                with takes:
                    cupy.multiply(cupy.asarray(segment).view(cupy.float64), 2, out=kept)
                segment.release(takes)
                takes.synchronize()
                assert (kept == (number + 1) * 2).all()
            else:
                back.send(segment)  # behind its bytes, by itself
                got = back.receive().result()
                assert got is not None and (got.array(float) == number + 1).all()

"""Routers driven by Python threads: segments that are passed on, and policies."""

from __future__ import annotations

import threading
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS

DEVICES = ["cpu:1", "cpu:3", "checked:2", *(["cuda:0", "cuda:0,cpu:1"] if GPUS else [])]


def received(link: lw.flow.Link, dtype: Any) -> Any:
    """All that comes until the end, in its place."""
    parts = {segment.offset: segment.array(dtype) for segment in link}
    return np.concatenate([parts[offset] for offset in sorted(parts)])


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

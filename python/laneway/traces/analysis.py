"""The analysis of MPI traces, after Klenk 2017, chapter 4: calls, messages, rates, peers, queues, wildcards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from os import PathLike

from laneway.traces.call_totals import CallRecorder
from laneway.traces.calls import (
    ANY_SOURCE,
    ANY_TAG,
    BLOCKING,
    COLLECTIVES,
    PROC_NULL,
    Cancellation,
    Completion,
    Operation,
    Probe,
    Receive,
    Send,
)
from laneway.traces.communicators import Communicators
from laneway.traces.files import read_trace
from laneway.traces.histogram import Histogram
from laneway.traces.matching import Matcher
from laneway.traces.queue_replay import QueueReplay
from laneway.traces.relaxations import relaxations
from laneway.traces.result import CallTotals, Messages, PeerTraffic, Tags, TraceAnalysis, Wildcards
from laneway.traces.timeline import RateRecorder, TimelineRecorder
from laneway.traces.trace import Trace
from laneway.traces.volume import POINT_TO_POINT, Transfers, VolumeRecorder, volume_of


def _new_matcher(_rank: int) -> Matcher:
    """The sequential model."""
    return Matcher()


def analyse_trace(
    trace: Trace | str | PathLike[str], matcher: Callable[[int], Matcher] = _new_matcher
) -> TraceAnalysis:
    """Figures of the calls, messages and queues of a trace, or of the file or directory with this name.

    All ranks are read at once, in the order of time, and nothing of them is kept but counts, queues and what is in
    flight. `matcher` makes what matches the messages of a rank. Raises UsageError for what is no trace, or a broken
    one.
    """
    return _Analysis(trace if isinstance(trace, Trace) else read_trace(trace), matcher).run()


class _Analysis:
    """One pass over all calls."""

    def __init__(self, trace: Trace, matcher: Callable[[int], Matcher]) -> None:
        self._trace = trace
        world, own = trace.numbers
        self._communicators = Communicators(world, own, trace.complete, trace.fixed)
        self._replay = QueueReplay(frozenset(trace.ranks), self._communicators, matcher)
        self._calls = CallRecorder()
        self._timeline = TimelineRecorder()
        self._rates, self._collective_rates = RateRecorder(trace.ranks), RateRecorder(trace.ranks)
        self._volume = VolumeRecorder()
        self._by_communicator: Counter[int] = Counter()
        self._peers: dict[int, set[Hashable]] = {rank: set() for rank in trace.ranks}
        self._used: set[Hashable] = set()
        self._traffic: dict[tuple[int, int, str], list[int]] = {}
        self._tags: set[int] = set()
        self._seen: Counter[str] = Counter()

    def run(self) -> TraceAnalysis:
        """Read all, and sum up."""
        for time, call, operations in self._trace.in_order():
            self._timeline.start(time)
            if operations is call.first:
                self._calls.add(call)
                if call.name in COLLECTIVES:
                    self._volume.collective(call)
                    self._timeline.collective(time, call.size)
                    self._collective_rates.happened(call.rank, time)
            for operation in operations:
                self._operate(time, call.rank, operation)
        return self._result()

    def _operate(self, time: int, rank: int, operation: Operation) -> None:
        if isinstance(operation, Completion):
            self._complete(rank, operation)
        elif isinstance(operation, Send):
            self._send(time, rank, operation)
        elif isinstance(operation, Receive):
            self._receive(rank, operation)
        elif isinstance(operation, Cancellation):
            self._replay.cancel(rank, operation)
        elif isinstance(operation, Probe):
            self._seen["probes"] += operation.source == ANY_SOURCE or operation.tag == ANY_TAG
        else:
            self._communicators.make(rank, operation)
        self._timeline.queues(time, *self._replay.lengths)

    def _send(self, time: int, rank: int, operation: Send) -> None:
        self._seen["sends"] += 1
        self._seen["nonblocking sends"] += operation.request != BLOCKING
        if operation.dest != PROC_NULL:
            self._volume.message(operation)
            self._by_communicator[operation.communicator] += 1
            self._used.add(self._communicators.name(rank, operation.communicator))
            self._tags.add(operation.tag)
            self._peer(rank, operation.communicator, operation.dest)
            self._to_peer(rank, operation)
            self._timeline.sent(time, operation.size)
            self._rates.happened(rank, time)
        self._replay.send(rank, operation)

    def _receive(self, rank: int, operation: Receive) -> None:
        any_source, any_tag = operation.source == ANY_SOURCE, operation.tag == ANY_TAG
        self._seen["receives"] += 1
        self._seen["nonblocking receives"] += operation.request != BLOCKING
        self._seen["any source"] += any_source
        self._seen["any tag"] += any_tag
        self._seen["both"] += any_source and any_tag
        if operation.tag >= 0:
            self._tags.add(operation.tag)
        if operation.source >= 0:
            self._peer(rank, operation.communicator, operation.source)
        self._replay.receive(rank, operation)

    def _complete(self, rank: int, operation: Completion) -> None:
        received = self._replay.complete(rank, operation)
        if received is not None and received.source == ANY_SOURCE and operation.source >= 0:
            self._peer(rank, received.communicator, operation.source)

    def _to_peer(self, rank: int, operation: Send) -> None:
        dest, communicator = operation.dest, ""
        world = self._communicators.world_rank(rank, operation.communicator, dest)
        if world is None:
            communicator = f"communicator {operation.communicator}"
        else:
            dest = world
        sent = self._traffic.setdefault((rank, dest, communicator), [0, 0])
        sent[0] += 1
        sent[1] += max(operation.size, 0)

    def _peer(self, rank: int, communicator: int, member: int) -> None:
        world = self._communicators.world_rank(rank, communicator, member)
        self._peers[rank].add((communicator, member) if world is None else world)

    def _result(self) -> TraceAnalysis:
        trace, peers = self._trace, Histogram()
        for each in self._peers.values():
            peers.add(len(each))
        by_call = self._calls.by_call()
        operations = self._volume.operations(_seconds_of_operations(by_call))
        wildcards = self._wildcards()
        queues = self._replay.queues()
        return TraceAnalysis(
            name=trace.name,
            format=trace.format,
            ranks=len(trace.ranks),
            world=trace.world,
            calls=sum(each.count for each in by_call.values()),
            seconds=self._calls.seconds,
            by_call=by_call,
            shares=self._calls.shares(),
            messages=self._messages(operations[POINT_TO_POINT]),
            operations=operations,
            volume=volume_of(
                operations, self._calls.seconds, self._calls.rank_seconds, self._calls.communication_seconds
            ),
            rates=self._rates.rates(),
            collective_rates=self._collective_rates.rates(),
            peers=peers.distribution(),
            tags=Tags(len(self._tags), min(self._tags, default=0), max(self._tags, default=0)),
            wildcards=wildcards,
            queues=queues,
            in_flight=self._replay.requests.distribution(),
            relaxations=relaxations(wildcards, queues, self._seen["receives"]),
            timeline=self._timeline.timeline(),
        )

    def _messages(self, sent: Transfers) -> Messages:
        seen = self._seen
        names: Counter[str] = Counter()
        for number, count in self._by_communicator.items():
            names[self._trace.communicator_name(number)] += count
        return Messages(
            count=sent.count,
            bytes=sent.bytes,
            unknown_bytes=sent.unknown_bytes,
            sizes=sent.byte_sizes,
            by_bytes=sent.by_bytes,
            by_elements=sent.by_elements,
            by_datatype=sent.by_datatype,
            communicators=len(self._used),
            by_communicator=dict(names.most_common()),
            by_peer=tuple(
                PeerTraffic(*pair, messages, size)
                for pair, (messages, size) in sorted(self._traffic.items(), key=lambda each: (-each[1][0], each[0]))
            ),
            nonblocking_sends=seen["nonblocking sends"] / max(seen["sends"], 1),
            nonblocking_receives=seen["nonblocking receives"] / max(seen["receives"], 1),
            receives=seen["receives"],
        )

    def _wildcards(self) -> Wildcards:
        if not self._trace.wildcards_recorded:
            return Wildcards(None, None, None, 0)
        return Wildcards(*(self._seen[each] for each in ("any source", "any tag", "both", "probes")))


def _seconds_of_operations(by_call: dict[str, CallTotals]) -> dict[str, float]:
    """By collective function, and of all calls that messages point to point take."""
    found = {name: each.seconds for name, each in by_call.items() if each.kind == "collective"}
    found[POINT_TO_POINT] = sum(
        each.seconds for each in by_call.values() if each.kind not in ("collective", "administration")
    )
    return found

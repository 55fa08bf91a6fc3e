"""Sends and receives of a trace, played again through the matching model of MPI in the order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from laneway.traces.calls import (
    ANY_SOURCE,
    ANY_TAG,
    BLOCKING,
    PROC_NULL,
    UNKNOWN,
    Cancellation,
    Completion,
    Receive,
    Send,
)
from laneway.traces.communicators import Communicators
from laneway.traces.histogram import Distribution, Histogram
from laneway.traces.matching import Matcher, Search


@dataclass(frozen=True)
class QueueFigures:
    """Entries in a queue as it is searched, and entries that the search looks at."""

    length: Distribution
    depth: Distribution


@dataclass(frozen=True)
class Queues:
    """What the replay found. `recorded` messages came when their send was recorded; for `inferred` ones the sender is
    not traced, and they came when their receive ended, so that nothing is known of how long they would have waited.
    `unexpected_messages` are those of the recorded that came before their receive. Statuses say that `as_recorded`
    receives got the message that the model gives them, and `differing` another; `late` ones ended before their message
    was sent, which clocks that differ make of a trace. The order of MPI alone decides `order_decides` matches. Of
    `lengths_known` matches the sizes of message and buffer are known, and `lengths_differ` of these."""

    posted: QueueFigures
    unexpected: QueueFigures
    recorded: int
    inferred: int
    unexpected_messages: int
    as_recorded: int
    differing: int
    late: int
    order_decides: int
    lengths_known: int
    lengths_differ: int
    messages_left: int
    receives_left: int


class _Message:
    __slots__ = ("key", "size", "source", "tag")

    def __init__(self, source: int, tag: int, size: int, key: tuple[int, int, Hashable]) -> None:
        self.source, self.tag, self.size, self.key = source, tag, size, key


class _Posted:
    __slots__ = ("message", "operation", "status", "ticket")

    def __init__(self, operation: Receive) -> None:
        self.operation = operation
        self.ticket = -1
        self.message: _Message | None = None
        self.status: Completion | None = None


class QueueReplay:
    """Feeds a matcher for each traced rank. `ranks` are those that are traced, `new_matcher` makes one for a rank."""

    def __init__(
        self, ranks: frozenset[int], communicators: Communicators, new_matcher: Callable[[int], Matcher]
    ) -> None:
        self._ranks, self._communicators = ranks, communicators
        self.matchers = {rank: new_matcher(rank) for rank in ranks}
        self._requests: dict[int, dict[int, _Posted | None]] = {rank: {} for rank in ranks}
        self._blocking: dict[int, list[_Posted]] = {rank: [] for rank in ranks}
        self._length_histograms = Histogram(), Histogram()
        self._depth_histograms = Histogram(), Histogram()
        self._recorded = self._inferred = self._unexpected = 0
        self._as_recorded = self._differing = self._late = 0
        self._in_flight: Counter[Hashable] = Counter()
        self._order_decides = self._lengths_known = self._lengths_differ = 0
        self.lengths = (0, 0)
        """Entries of the queues, posted and unexpected, of the rank that was served last."""
        self.requests = Histogram()
        """Requests in flight at a rank, as one more begins."""

    def send(self, rank: int, operation: Send) -> None:
        """A rank sends."""
        if operation.request != BLOCKING:
            self._begin(rank, operation.request, None)
        if operation.dest == PROC_NULL:
            return
        dest = self._communicators.world_rank(rank, operation.communicator, operation.dest)
        if dest is None or dest not in self._ranks:
            return
        name = self._communicators.name(rank, operation.communicator)
        source = self._communicators.rank_in(rank, operation.communicator)
        if source is None:
            return
        self._recorded += 1
        key = (rank, dest, name)
        if self._in_flight[(*key, operation.tag)]:
            self._order_decides += 1
        self._count(key, operation.tag, 1)
        message = _Message(source, operation.tag, operation.size, key)
        matcher = self.matchers[dest]
        found = matcher.arrive(source, operation.tag, name, message)
        self._searched(0, matcher, found)
        if found.found is not None:
            self._order_decides += found.choice
            self._matched(found.found, message)

    def receive(self, rank: int, operation: Receive) -> None:
        """A rank posts a receive."""
        posted = _Posted(operation)
        if operation.request != BLOCKING:
            self._begin(rank, operation.request, posted)
        else:
            self._blocking[rank].append(posted)
        if operation.source in (PROC_NULL, UNKNOWN):
            return
        name = self._communicators.name(rank, operation.communicator)
        matcher = self.matchers[rank]
        found = matcher.post(operation.source, operation.tag, name, posted)
        self._searched(1, matcher, found)
        posted.ticket = found.ticket
        if found.found is not None:
            self._unexpected += 1
            self._matched(posted, found.found)

    def complete(self, rank: int, operation: Completion) -> Receive | None:
        """A request of a rank has ended; the receive that it was, None where it was none."""
        posted: _Posted | None
        if operation.request == BLOCKING:
            posted = self._blocking[rank].pop() if self._blocking[rank] else None
        else:
            posted = self._requests[rank].pop(operation.request, None)
        if posted is None or posted.operation.source in (PROC_NULL, UNKNOWN):
            return None
        posted.status = operation
        if posted.message is not None:
            self._ended(posted, posted.message)
        elif self._is_traced(rank, posted.operation, operation):
            self._late += 1  # clocks of ranks differ: its message was sent, but comes later in the trace
        else:
            self._infer(rank, posted, operation)
        return posted.operation

    def cancel(self, rank: int, operation: Cancellation) -> None:
        """A rank withdraws a request."""
        posted = self._requests[rank].pop(operation.request, None)
        if posted is not None and posted.message is None:
            self.matchers[rank].withdraw(posted.ticket)

    def _begin(self, rank: int, request: int, posted: _Posted | None) -> None:
        requests = self._requests[rank]
        requests[request] = posted
        self.requests.add(len(requests))

    def _is_traced(self, rank: int, operation: Receive, status: Completion) -> bool:
        """Whether the send of the message that ended a receive is in the trace."""
        source = status.source if operation.source == ANY_SOURCE else operation.source
        if source < 0:
            return len(self._ranks) > 1
        sender = self._communicators.world_rank(rank, operation.communicator, source)
        return sender is not None and sender in self._ranks

    def _infer(self, rank: int, posted: _Posted, status: Completion) -> None:
        self._inferred += 1
        matcher, operation = self.matchers[rank], posted.operation
        source = status.source if operation.source == ANY_SOURCE else operation.source
        tag = status.tag if operation.tag == ANY_TAG else operation.tag
        name = self._communicators.name(rank, operation.communicator)
        self._searched(0, matcher, matcher.infer(posted.ticket, source, tag, name))
        if status.size >= 0 and posted.operation.size >= 0:
            self._lengths_known += 1
            self._lengths_differ += status.size != posted.operation.size

    def _searched(self, queue: int, matcher: Matcher, found: Search) -> None:
        self._length_histograms[queue].add(found.length)
        self._depth_histograms[queue].add(found.depth)
        self.lengths = (len(matcher.posted), len(matcher.unexpected))

    def _matched(self, posted: _Posted, message: _Message) -> None:
        posted.message = message
        if posted.operation.tag == ANY_TAG and self._in_flight[message.key] > 1:
            self._order_decides += 1
        if posted.operation.size >= 0 and message.size >= 0:
            self._lengths_known += 1
            self._lengths_differ += message.size != posted.operation.size
        if posted.status is not None:
            self._ended(posted, message)

    def _ended(self, posted: _Posted, message: _Message) -> None:
        self._count(message.key, message.tag, -1)
        status = posted.status
        if status is None or status.source < 0:
            return
        same = status.source == message.source and status.tag in (message.tag, UNKNOWN)
        if same and status.size in (message.size, UNKNOWN):
            self._as_recorded += 1
        else:
            self._differing += 1

    def _count(self, key: tuple[int, int, Hashable], tag: int, step: int) -> None:
        for each in (key, (*key, tag)):
            self._in_flight[each] += step
            if not self._in_flight[each]:
                del self._in_flight[each]

    def queues(self) -> Queues:
        """The figures of all so far."""
        posted, unexpected = (
            QueueFigures(length.distribution(), depth.distribution())
            for length, depth in zip(self._length_histograms, self._depth_histograms)
        )
        return Queues(
            posted,
            unexpected,
            recorded=self._recorded,
            inferred=self._inferred,
            unexpected_messages=self._unexpected,
            as_recorded=self._as_recorded,
            differing=self._differing,
            late=self._late,
            order_decides=self._order_decides,
            lengths_known=self._lengths_known,
            lengths_differ=self._lengths_differ,
            messages_left=sum(len(each.unexpected) for each in self.matchers.values()),
            receives_left=sum(len(each.posted) for each in self.matchers.values()),
        )

"""Messages and receives of a trace, matched once more on devices and compared with the sequential model."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from laneway.arguments import BUFFER_BYTES
from laneway.programs.matching import ANY_SOURCE as ANY
from laneway.programs.matching import MatchResult, match_on
from laneway.traces.analysis import analyse_trace
from laneway.traces.calls import ANY_SOURCE, ANY_TAG
from laneway.traces.matching import Matcher, Search
from laneway.traces.trace import Trace
from laneway.workspace import Workspace

EVENTS_AT_ONCE = 1 << 17
"""Of a batch: some 40 MB."""


@dataclass(frozen=True)
class TraceReplay:
    """What matching on devices came to."""

    messages: int
    """Those that the trace has, and those that are `inferred`."""
    receives: int
    """Those that the model gave a message, or that waited in the end; not those that are `left_out`."""
    queues: int
    """Of a rank and a communicator each."""
    matches: int
    differing: int
    """Events whose partner is another one than the model's: 0, or an error of the engine."""
    mean_depth: float
    """Entries that a search looked at, none where lanes of a device brought a message and its receive together. What
    still waits after a batch is searched for once more in the next."""
    max_depth: int
    """Entries that one search looked at, at most."""
    seconds: float
    inferred: int = 0
    """Messages whose sender is not traced: they come when their receive ends."""
    left_out: int = 0
    """Receives that were cancelled, or ended by a message of which the trace does not tell enough to let it come:
    source and tag, and that it comes before all others that an earlier receive would take."""
    as_recorded: int = 0
    """Receives that got the message which the trace says, by their statuses; of devices as well where `differing`
    is 0."""
    otherwise: int = 0
    """Receives that got another one."""

    @property
    def matches_per_second(self) -> float:
        """In the time of the devices."""
        return self.matches / self.seconds if self.seconds else 0.0


def replay_trace(trace: Trace | str | PathLike[str], *, devices: str = "", timeout: float = 60.0) -> TraceReplay:
    """Match the messages and receives of a trace on devices, and compare with the sequential model.

    They come in the order of time, as `analyse_trace` has them, in batches: memory holds one batch and what waits,
    whatever the length of the trace. The model's matches are compared with the statuses in the trace. `devices` is
    that of `sssp`, and `timeout` for each batch. Raises UsageError for what is no trace, TimeoutError for a failed run.
    """
    with Workspace(devices, 1, timeout, False, BUFFER_BYTES) as workspace:
        replay = EventReplay(workspace, timeout)
        queues = analyse_trace(trace, replay.matcher).queues
        return replace(replay.result(), as_recorded=queues.as_recorded, otherwise=queues.differing)


class EventReplay:
    """Matches on devices what goes through the matchers that it makes, `batch` events or more at a time.

    What waits in the model when a batch ends comes first in the next one. None of it fits another, so the queues are
    then as they were.
    """

    def __init__(self, workspace: Workspace, timeout: float, batch: int = EVENTS_AT_ONCE) -> None:
        self._workspace, self._timeout, self._batch = workspace, timeout, batch
        self._limit = batch
        self._queues: dict[tuple[int, Hashable], int] = {}
        self._sources: dict[int, int] = {}
        self._tags: dict[int, int] = {}
        # By the number of an event: those of the batch, in order, and whom the model matches them with.
        self._events: dict[int, tuple[bool, int, int, int]] = {}
        self._partners: dict[int, int] = {}
        self._next = 0
        self._done = [0, 0]  # receives, messages
        self._matches = self._differing = self._searches = self._inferred = self._left_out = 0
        self._max_depth = 0
        self._looks = self._seconds = 0.0

    def __len__(self) -> int:
        """Events that are kept."""
        return len(self._events)

    def matcher(self, rank: int) -> Matcher:
        """The queues of a rank."""
        return _RecordedMatcher(rank, self)

    def add(self, is_message: bool, source: int, tag: int, queue: tuple[int, Hashable]) -> int:
        """The number of an event. Sources and tags get numbers of their own, from 0 on."""
        if len(self._events) >= self._limit:
            self._match_batch()
        event = self._next
        self._next += 1
        self._events[event] = (
            is_message,
            ANY if source == ANY_SOURCE else self._sources.setdefault(source, len(self._sources)),
            ANY if tag == ANY_TAG else self._tags.setdefault(tag, len(self._tags)),
            self._queues.setdefault(queue, len(self._queues)),
        )
        return event

    def match(self, event: int, other: int) -> None:
        """The model matches two events."""
        self._partners[event], self._partners[other] = other, event

    def drop(self, event: int) -> None:
        """The model takes a receive back. No message came meanwhile that fits it: as if it had not been posted."""
        del self._events[event]
        self._limit -= 1
        self._left_out += 1

    def infer(self, event: int, source: int, tag: int, queue: tuple[int, Hashable]) -> None:
        """A message comes that is not in the trace, and takes a receive."""
        self._inferred += 1
        self.match(self.add(True, source, tag, queue), event)

    def result(self) -> TraceReplay:
        """What all of it came to."""
        self._match_batch()
        for is_message, *_ in self._events.values():
            self._done[is_message] += 1
        return TraceReplay(
            self._done[1],
            self._done[0],
            len(self._queues),
            self._matches,
            self._differing,
            self._looks / self._searches if self._searches else 0.0,
            self._max_depth,
            self._seconds,
            self._inferred,
            self._left_out,
        )

    def _match_batch(self) -> None:
        events = list(self._events)
        place = {event: number for number, event in enumerate(events)}
        rows = np.array(list(self._events.values()), dtype=np.int64).reshape(-1, 4)
        expected = np.array([place[self._partners[event]] if event in self._partners else -1 for event in events])
        found: MatchResult = match_on(
            self._workspace, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], timeout=self._timeout
        )
        self._matches += found.matches
        self._differing += int(np.count_nonzero(found.partner != expected))
        self._searches += len(rows)
        self._looks += found.mean_depth * len(rows)
        self._max_depth = max(self._max_depth, found.max_depth)
        self._seconds += found.seconds
        for event in self._partners:
            self._done[self._events.pop(event)[0]] += 1
        self._partners.clear()
        self._limit = len(self._events) + self._batch


class _RecordedMatcher(Matcher):
    """Its entries are the caller's, with the numbers of their events."""

    def __init__(self, rank: int, replay: EventReplay) -> None:
        super().__init__()
        self._rank, self._replay = rank, replay

    def arrive(self, source: int, tag: int, communicator: Hashable, message: Any) -> Search:
        event = self._replay.add(True, source, tag, (self._rank, communicator))
        return self._told(super().arrive(source, tag, communicator, (event, message)), event)

    def post(self, source: int, tag: int, communicator: Hashable, receive: Any) -> Search:
        event = self._replay.add(False, source, tag, (self._rank, communicator))
        return self._told(super().post(source, tag, communicator, (event, receive)), event)

    def withdraw(self, ticket: int) -> Search:
        found = super().withdraw(ticket)
        if found.found is None:
            return found
        event, entry = found.found
        self._replay.drop(event)
        return found._replace(found=entry)

    def infer(self, ticket: int, source: int, tag: int, communicator: Hashable) -> Search:
        # Where an earlier receive would take the message, that one's own came before it, and is not known yet.
        if min(source, tag) < 0 or self.first_posted(source, tag, communicator) != ticket:
            return self.withdraw(ticket)
        found = super().withdraw(ticket)
        event, entry = found.found
        self._replay.infer(event, source, tag, (self._rank, communicator))
        return found._replace(found=entry)

    def probe(self, source: int, tag: int, communicator: Hashable) -> Search:
        found = super().probe(source, tag, communicator)
        return found if found.found is None else found._replace(found=found.found[1])

    def _told(self, found: Search, event: int) -> Search:
        if found.found is None:
            return found
        other, entry = found.found
        self._replay.match(event, other)
        return found._replace(found=entry)

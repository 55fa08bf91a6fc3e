"""Messages and receives of a trace, matched once more on devices and compared with the sequential model."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from laneway.programs.matching import ANY_SOURCE as ANY
from laneway.programs.matching import MatchResult, match_messages
from laneway.traces.analysis import analyse_trace
from laneway.traces.calls import ANY_SOURCE, ANY_TAG
from laneway.traces.matching import Matcher, Search
from laneway.traces.trace import Trace


@dataclass(frozen=True)
class TraceReplay:
    """What matching on devices came to."""

    messages: int
    receives: int
    """Those that the model gave a message, or that waited in the end; not those that a message ended whose sender is
    not traced, and cancelled ones."""
    queues: int
    """Of a rank and a communicator each."""
    matches: int
    differing: int
    """Events whose partner is another one than the model's: 0, or an error of the engine."""
    mean_depth: float
    """Entries that a search looked at."""
    seconds: float


def replay_trace(trace: Trace | str | PathLike[str], *, devices: str = "", timeout: float = 60.0) -> TraceReplay:
    """Match the messages and receives of a trace on devices, and compare with the sequential model.

    They come in the order of time, as `analyse_trace` has them. `devices` and `timeout` are those of `sssp`. Raises
    UsageError for what is no trace, TimeoutError for a failed run.
    """
    recorder = EventRecorder()
    analyse_trace(trace, recorder.matcher)
    return recorder.replay(devices, timeout)


class EventRecorder:
    """Keeps what goes through the matchers that it makes, in order."""

    def __init__(self) -> None:
        self._queues: dict[tuple[int, Hashable], int] = {}
        self._sources: dict[int, int] = {}
        self._tags: dict[int, int] = {}
        self.rows: list[tuple[bool, int, int, int]] = []
        self.partners: list[int] = []
        self.dropped: set[int] = set()

    def matcher(self, rank: int) -> Matcher:
        """The queues of a rank."""
        return _RecordedMatcher(rank, self)

    def add(self, is_message: bool, source: int, tag: int, queue: tuple[int, Hashable]) -> int:
        """The number of an event. Sources and tags get numbers of their own, from 0 on."""
        self.rows.append(
            (
                is_message,
                ANY if source == ANY_SOURCE else self._sources.setdefault(source, len(self._sources)),
                ANY if tag == ANY_TAG else self._tags.setdefault(tag, len(self._tags)),
                self._queues.setdefault(queue, len(self._queues)),
            )
        )
        self.partners.append(-1)
        return len(self.rows) - 1

    def match(self, event: int, other: int) -> None:
        """The model matches two events."""
        self.partners[event], self.partners[other] = other, event

    def replay(self, devices: str, timeout: float) -> TraceReplay:
        """All of it on devices."""
        kept = np.array([event not in self.dropped for event in range(len(self.rows))], dtype=bool)
        rows = np.array(self.rows, dtype=np.int64).reshape(-1, 4)[kept]
        numbers = np.cumsum(kept) - 1
        expected = np.array(self.partners, dtype=np.int64)[kept]
        expected[expected >= 0] = numbers[expected[expected >= 0]]
        found: MatchResult = match_messages(
            rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], devices=devices, timeout=timeout
        )
        messages = int(rows[:, 0].sum())
        return TraceReplay(
            messages,
            len(rows) - messages,
            len(self._queues),
            found.matches,
            int(np.count_nonzero(found.partner != expected)),
            found.mean_depth,
            found.seconds,
        )


class _RecordedMatcher(Matcher):
    """Its entries are the caller's, with the numbers of their events."""

    def __init__(self, rank: int, recorder: EventRecorder) -> None:
        super().__init__()
        self._rank, self._recorder = rank, recorder

    def arrive(self, source: int, tag: int, communicator: Hashable, message: Any) -> Search:
        event = self._recorder.add(True, source, tag, (self._rank, communicator))
        return self._told(super().arrive(source, tag, communicator, (event, message)), event)

    def post(self, source: int, tag: int, communicator: Hashable, receive: Any) -> Search:
        event = self._recorder.add(False, source, tag, (self._rank, communicator))
        return self._told(super().post(source, tag, communicator, (event, receive)), event)

    def withdraw(self, ticket: int) -> Search:
        """While the receive stood there no message came that fits it, so it is as if it had not been posted."""
        found = super().withdraw(ticket)
        if found.found is None:
            return found
        event, entry = found.found
        self._recorder.dropped.add(event)
        return found._replace(found=entry)

    def probe(self, source: int, tag: int, communicator: Hashable) -> Search:
        found = super().probe(source, tag, communicator)
        return found if found.found is None else found._replace(found=found.found[1])

    def _told(self, found: Search, event: int) -> Search:
        if found.found is None:
            return found
        other, entry = found.found
        self._recorder.match(event, other)
        return found._replace(found=entry)

"""Communication over time, and rates of messages, from a stream of events in the order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from laneway.traces.histogram import Distribution, Histogram

MOST_BINS = 256
INTERVALS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
"""Nanoseconds: 1 us to 100 ms, as in Klenk 2017, section 4.2.5."""


@dataclass(frozen=True)
class Timeline:
    """What happened in each piece of `bin_ns` nanoseconds: messages sent and their bytes, bytes that collectives sent,
    and the longest queues."""

    bin_ns: int
    messages: tuple[int, ...]
    bytes: tuple[int, ...]
    collective_bytes: tuple[int, ...]
    posted: tuple[int, ...]
    unexpected: tuple[int, ...]

    @property
    def bytes_per_second(self) -> tuple[float, ...]:
        """Of messages and collectives, in each piece."""
        return tuple((a + b) * 1e9 / self.bin_ns for a, b in zip(self.bytes, self.collective_bytes))


class TimelineRecorder:
    """Bins whose width doubles whenever time runs out of them, so that memory stays the same."""

    def __init__(self) -> None:
        self._start: int | None = None
        self._width = 1_000
        self._bins: list[list[int]] = []
        self._current: list[int] = []
        self._begin = self._end = 0  # of the current bin

    def start(self, time: int) -> None:
        """The first call begins."""
        self._start = time if self._start is None else self._start

    def _bin(self, time: int) -> list[int]:
        if self._begin <= time < self._end:
            return self._current
        start = self._start or 0
        at = max(time - start, 0) // self._width
        while at >= MOST_BINS:
            self._bins = [_joined(self._bins[i : i + 2]) for i in range(0, len(self._bins), 2)]
            self._width *= 2
            at //= 2
        while len(self._bins) <= at:
            self._bins.append([0] * 5)
        self._begin, self._current = start + at * self._width, self._bins[at]
        self._end = self._begin + self._width
        return self._current

    def sent(self, time: int, size: int) -> None:
        """A message left; a size below 0 is not known."""
        found = self._bin(time)
        found[0] += 1
        found[1] += max(size, 0)

    def collective(self, time: int, size: int) -> None:
        """A rank sent so much in a collective call."""
        self._bin(time)[2] += max(size, 0)

    def queues(self, time: int, posted: int, unexpected: int) -> None:
        """The queues of some rank are so long."""
        found = self._bin(time)
        if posted > found[3]:
            found[3] = posted
        if unexpected > found[4]:
            found[4] = unexpected

    def timeline(self) -> Timeline:
        """All bins so far."""
        columns = list(zip(*self._bins)) or [()] * 5
        return Timeline(self._width, *(tuple(each) for each in columns))


def _joined(bins: list[list[int]]) -> list[int]:
    if len(bins) == 1:
        return bins[0]
    (m, b, s, p, u), (n, c, t, q, v) = bins
    return [m + n, b + c, s + t, max(p, q), max(u, v)]


@dataclass(frozen=True)
class Rate:
    """Messages that a rank sends, or collective calls that it makes, in an interval of `interval_ns` nanoseconds in
    which there are any."""

    interval_ns: int
    counts: Distribution

    @property
    def median_per_second(self) -> float:
        """The median as a rate."""
        return self.counts.median * 1e9 / self.interval_ns


class RateRecorder:
    """Counts what each rank does in intervals of several lengths."""

    def __init__(self, ranks: Iterable[int]) -> None:
        self._histograms = [Histogram() for _ in INTERVALS]
        self._open = {rank: [(-1, 0)] * len(INTERVALS) for rank in ranks}

    def happened(self, rank: int, time: int) -> None:
        """At this rank; its times do not go back."""
        current = self._open[rank]
        for i, interval in enumerate(INTERVALS):
            window, count = current[i]
            now = time // interval
            if now == window:
                current[i] = (window, count + 1)
            else:
                if count:
                    self._histograms[i].add(count)
                current[i] = (now, 1)

    def rates(self) -> tuple[Rate, ...]:
        """Of all intervals; nothing may happen afterwards."""
        for current in self._open.values():
            for histogram, (_, count) in zip(self._histograms, current):
                if count:
                    histogram.add(count)
        return tuple(Rate(ns, each.distribution()) for ns, each in zip(INTERVALS, self._histograms))

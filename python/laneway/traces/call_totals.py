"""Calls by function, and the time spent in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from laneway.traces.calls import Call, Send, family
from laneway.traces.result import CallTotals, TimeShares


class _Totals:
    __slots__ = ("bytes", "count", "elements", "kind", "nanoseconds")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count = self.nanoseconds = self.elements = self.bytes = 0


@dataclass
class _Span:
    """The time of one rank in calls, and from the first to the last."""

    begin: int
    end: int
    inside: int = 0

    def add(self, start: int, stop: int) -> None:
        self.inside += stop - start
        if start < self.begin:
            self.begin = start
        if stop > self.end:
            self.end = stop

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclass
class CallRecorder:
    """Adds calls up."""

    _totals: dict[str, _Totals] = field(default_factory=dict)
    _all: dict[int, _Span] = field(default_factory=dict)
    _communicating: dict[int, _Span] = field(default_factory=dict)

    def add(self, call: Call) -> None:
        """One call more."""
        totals = self._totals.get(call.name)
        if totals is None:
            totals = self._totals[call.name] = _Totals(family(call.name))
        start, stop = call.start, call.stop
        totals.count += 1
        totals.nanoseconds += stop - start
        if call.size or call.elements:
            self._moved(totals, call.elements, call.size)
        for operation in call.first:
            if isinstance(operation, Send):
                self._moved(totals, operation.elements, operation.size)
        self._span(self._all, call.rank, start, stop)
        if totals.kind != "administration":
            self._span(self._communicating, call.rank, start, stop)

    @staticmethod
    def _moved(totals: _Totals, elements: int, size: int) -> None:
        totals.elements += max(elements, 0)
        totals.bytes += max(size, 0)

    @staticmethod
    def _span(spans: dict[int, _Span], rank: int, start: int, stop: int) -> None:
        span = spans.get(rank)
        if span is None:
            span = spans[rank] = _Span(start, stop)
        span.add(start, stop)

    def by_call(self) -> dict[str, CallTotals]:
        """All functions that were called, the most frequent first."""
        ordered = sorted(self._totals.items(), key=lambda each: (-each[1].count, each[0]))
        return {
            name: CallTotals(each.kind, each.count, each.nanoseconds / 1e9, each.elements, each.bytes)
            for name, each in ordered
        }

    @property
    def seconds(self) -> float:
        """From the first call of any rank to the last."""
        if not self._all:
            return 0.0
        return (max(each.end for each in self._all.values()) - min(each.begin for each in self._all.values())) / 1e9

    @property
    def rank_seconds(self) -> float:
        """Of all ranks, from the first call of each to its last."""
        return sum(each.length for each in self._all.values()) / 1e9

    @property
    def communication_seconds(self) -> float:
        """Of all ranks, in calls that communicate."""
        return sum(each.inside for each in self._communicating.values()) / 1e9

    def shares(self) -> TimeShares:
        """The shares of time, over all ranks."""
        inside = sum(each.inside for each in self._all.values())
        communicating = sum(each.inside for each in self._communicating.values())
        return TimeShares(
            mpi=_share(inside, sum(each.length for each in self._all.values())),
            communication=_share(communicating, sum(each.length for each in self._communicating.values())),
            administration=1 - _share(communicating, inside) if inside else 0.0,
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0

"""What each operation sends, and how much of it a second, after Klenk 2017, sections 4.2.3 and 4.2.4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from laneway.traces.calls import SYNCHRONIZATIONS, Call, Send
from laneway.traces.histogram import Distribution, SizeClass, SizeHistogram

POINT_TO_POINT = "point-to-point"


@dataclass(frozen=True)
class Transfers:
    """What one operation sends: `count` messages point to point, or calls of one collective function by all ranks.
    Sizes are those of a message, or of what one rank names in its call; `unknown_elements` and `unknown_bytes` count
    those that the trace does not tell. `seconds` are the sum over ranks, of messages those of all calls that send,
    receive, probe or complete. A barrier sends nothing and has no sizes."""

    count: int
    seconds: float
    elements: int
    bytes: int
    unknown_elements: int
    unknown_bytes: int
    element_sizes: Distribution
    byte_sizes: Distribution
    by_elements: tuple[SizeClass, ...]
    by_bytes: tuple[SizeClass, ...]
    by_datatype: dict[str, int]


@dataclass(frozen=True)
class PerSecond:
    """Elements and bytes in a second."""

    elements: float
    bytes: float


@dataclass(frozen=True)
class Volume:
    """All that is sent, point to point and by collectives, and how much a second: `of_run` from the first call of any
    rank to the last, all ranks together; `of_rank` of one rank from its first call to its last; `of_communication` of
    one rank in calls that communicate. What the trace does not tell the size of is left out."""

    elements: int
    bytes: int
    of_run: PerSecond
    of_rank: PerSecond
    of_communication: PerSecond


def volume_of(
    operations: Mapping[str, Transfers], run_seconds: float, rank_seconds: float, communication_seconds: float
) -> Volume:
    """The volume of all operations; seconds of ranks are those of all together."""
    elements = sum(each.elements for each in operations.values())
    size = sum(each.bytes for each in operations.values())

    def per_second(seconds: float) -> PerSecond:
        return PerSecond(elements / seconds, size / seconds) if seconds else PerSecond(0.0, 0.0)

    return Volume(elements, size, per_second(run_seconds), per_second(rank_seconds), per_second(communication_seconds))


class _Sent:
    """What one operation has sent so far."""

    def __init__(self) -> None:
        self.count = 0
        self.elements, self.bytes = SizeHistogram(), SizeHistogram()
        self.datatypes: Counter[str] = Counter()

    def add(self, elements: int, size: int, datatype: str) -> None:
        self.elements.add(elements)
        self.bytes.add(size)
        if datatype:
            self.datatypes[datatype] += 1

    def transfers(self, seconds: float) -> Transfers:
        return Transfers(
            count=self.count,
            seconds=seconds,
            elements=self.elements.total,
            bytes=self.bytes.total,
            unknown_elements=self.elements.unknown,
            unknown_bytes=self.bytes.unknown,
            element_sizes=self.elements.distribution(),
            byte_sizes=self.bytes.distribution(),
            by_elements=self.elements.classes(),
            by_bytes=self.bytes.classes(),
            by_datatype=dict(self.datatypes.most_common()),
        )


class VolumeRecorder:
    """Adds up what operations send; memory grows with the different sizes alone."""

    def __init__(self) -> None:
        self._operations = {POINT_TO_POINT: _Sent()}

    def message(self, operation: Send) -> None:
        """A message point to point."""
        sent = self._operations[POINT_TO_POINT]
        sent.count += 1
        sent.add(operation.elements, operation.size, operation.datatype)

    def collective(self, call: Call) -> None:
        """A rank's call of a collective function."""
        sent = self._operations.setdefault(call.name, _Sent())
        sent.count += 1
        if call.name not in SYNCHRONIZATIONS:
            sent.add(call.elements, call.size, call.datatype)

    def operations(self, seconds: Mapping[str, float]) -> dict[str, Transfers]:
        """What was sent by messages, then by each collective function, the one that sends most first. `seconds` are
        those of each operation."""
        messages, *collectives = (
            (name, sent.transfers(seconds.get(name, 0.0))) for name, sent in self._operations.items()
        )
        collectives.sort(key=lambda each: (-each[1].bytes, -each[1].count, each[0]))
        return dict([messages, *collectives])

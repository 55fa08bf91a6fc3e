"""What the analysis of a trace finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from laneway.traces.histogram import Distribution, SizeClass
from laneway.traces.queue_replay import Queues
from laneway.traces.relaxations import Relaxation
from laneway.traces.timeline import Rate, Timeline
from laneway.traces.volume import Transfers, Volume


@dataclass(frozen=True)
class CallTotals:
    """All calls of one function: `seconds` are the sum over ranks; `elements` and `bytes` are what they send."""

    kind: str
    count: int
    seconds: float
    elements: int
    bytes: int


@dataclass(frozen=True)
class TimeShares:
    """Shares of time as Klenk 2017, section 4.2.2, defines them: of the time from a rank's first call to its last, what
    it spends in calls; of the time from its first communicating call to its last, what it spends in these; and of the
    time in calls, what it spends in those that do not communicate."""

    mpi: float
    communication: float
    administration: float


@dataclass(frozen=True)
class PeerTraffic:
    """Messages from one rank to another. `dest` is a rank of the world where `communicator` is empty, else one of that
    communicator, of which the trace does not tell the ranks."""

    source: int
    dest: int
    communicator: str
    messages: int
    bytes: int


@dataclass(frozen=True)
class Messages:
    """Point-to-point messages as they are sent. Sizes are in bytes and in elements; `unknown_bytes` counts messages of
    datatypes whose size the trace does not tell. `communicators` are those that messages are sent in; `by_peer` has the
    pairs with most messages first. Nonblocking calls are shares of all sends and of all receives."""

    count: int
    bytes: int
    unknown_bytes: int
    sizes: Distribution
    by_bytes: tuple[SizeClass, ...]
    by_elements: tuple[SizeClass, ...]
    by_datatype: dict[str, int]
    communicators: int
    by_communicator: dict[str, int]
    by_peer: tuple[PeerTraffic, ...]
    nonblocking_sends: float
    nonblocking_receives: float
    receives: int


@dataclass(frozen=True)
class Wildcards:
    """Receives and probes that ask for any source, any tag, or both; None where the trace does not tell."""

    source: int | None
    tag: int | None
    both: int | None
    probes: int


@dataclass(frozen=True)
class Tags:
    """The tags of messages that are sent or asked for, wildcards aside."""

    different: int
    least: int
    greatest: int


@dataclass(frozen=True)
class TraceAnalysis:
    """The figures of one trace. `operations` has `point-to-point` and the collective functions by name; `peers` are the
    ranks that a rank sends to or receives from, a number for each rank; `in_flight` the requests of a rank that have
    not ended, as one more begins."""

    name: str
    format: str
    ranks: int
    world: int | None
    calls: int
    seconds: float
    by_call: dict[str, CallTotals]
    shares: TimeShares
    messages: Messages
    operations: dict[str, Transfers]
    volume: Volume
    rates: tuple[Rate, ...]
    collective_rates: tuple[Rate, ...]
    peers: Distribution
    tags: Tags
    wildcards: Wildcards
    queues: Queues
    in_flight: Distribution
    relaxations: tuple[Relaxation, ...]
    timeline: Timeline

    @property
    def unexpected_share(self) -> float | None:
        """The share of messages that came before their receive; None where no arrival is recorded."""
        return self.queues.unexpected_messages / self.queues.recorded if self.queues.recorded else None

    def as_dict(self) -> dict[str, Any]:
        """All figures, for JSON."""
        found = asdict(self)
        found["unexpected_share"] = self.unexpected_share
        found["timeline"]["bytes_per_second"] = list(self.timeline.bytes_per_second)
        return found

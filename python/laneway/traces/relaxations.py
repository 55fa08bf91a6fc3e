"""What each relaxation of MPI's matching would be allowed for a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from laneway.traces.queue_replay import Queues

if TYPE_CHECKING:
    from laneway.traces.result import Wildcards


@dataclass(frozen=True)
class Relaxation:
    """A rule that a matching engine may drop. `allowed` is None where the trace does not tell. `against` counts what
    stands against it, of `of` that were looked at. `assertion` is the key of MPI 4's info object, empty where it has
    none."""

    name: str
    assertion: str
    allowed: bool | None
    against: int
    of: int


def relaxations(wildcards: Wildcards, queues: Queues, receives: int) -> tuple[Relaxation, ...]:
    """All of them, from the weakest demand on a program to the strongest."""
    matched = queues.recorded - queues.messages_left
    seen = queues.recorded > 0 and queues.inferred == 0  # all messages that came
    lengths = queues.lengths_known
    return (
        _wildcard("no source wildcard", "mpi_assert_no_any_source", wildcards.source, receives),
        _wildcard("no tag wildcard", "mpi_assert_no_any_tag", wildcards.tag, receives),
        _relaxation("exact length", "mpi_assert_exact_length", lengths > 0, queues.lengths_differ, lengths),
        _relaxation("overtaking", "mpi_assert_allow_overtaking", seen, queues.order_decides, matched),
        _relaxation("no unexpected messages", "", seen, queues.unexpected_messages, matched),
    )


def _relaxation(name: str, assertion: str, known: bool, against: int, of: int) -> Relaxation:
    """Allowed where nothing stands against it, unknown where the trace cannot tell."""
    return Relaxation(name, assertion, False if against else (True if known else None), against, of)


def _wildcard(name: str, assertion: str, used: int | None, receives: int) -> Relaxation:
    return _relaxation(name, assertion, used is not None and receives > 0, used or 0, receives)

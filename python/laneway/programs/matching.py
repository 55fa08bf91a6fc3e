"""Matching of messages and receives, as MPI has it, on many devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arguments import BUFFER_BYTES
from laneway.errors import UsageError
from laneway.vertex_array import read_only
from laneway.workspace import Workspace

ANY_SOURCE = -1
"""In a receive: a message of any source."""
ANY_TAG = -1
"""In a receive: a message with any tag."""


@dataclass(frozen=True, eq=False)
class MatchResult:
    """Which message went to which receive, and what finding it took."""

    partner: NDArray[np.int64]
    """One entry an event: the position of the event that it was matched with; -1: it was not."""
    max_posted: NDArray[np.uint32]
    """Receives that waited at once, at most; one entry a queue that has events, in the order of `queues`."""
    max_unexpected: NDArray[np.uint32]
    """Messages that waited at once, at most; the same."""
    queues: NDArray[np.int64]
    """Numbers of the queues that have events, in ascending order."""
    matches: int
    mean_depth: float
    """Entries that a search looked at, on average; 0 where the other queue was empty, or where lanes of a device
    brought a message and its receive together."""
    max_depth: int
    """Entries that one search looked at, at most."""
    seconds: float
    """For all matches, without the copies to the devices and back."""


class MatchPromises(NamedTuple):
    """What the events of `match_messages` keep to."""

    no_any_source: bool = False
    no_any_tag: bool = False
    no_unexpected: bool = False


NO_PROMISES = MatchPromises()


def match_messages(
    is_message: ArrayLike,
    source: ArrayLike,
    tag: ArrayLike,
    queue: ArrayLike | None = None,
    *,
    no_any_source: bool = False,
    no_any_tag: bool = False,
    no_unexpected: bool = False,
    devices: str = "",
    timeout: float = 60.0,
) -> MatchResult:
    """Match messages that arrive and receives that are posted, in MPI's order.

    Each event is a message (`is_message` true) or a receive, with a source and a tag; a receive may have ANY_SOURCE
    and ANY_TAG. `queue` is the number of the queue that an event belongs to, that of a rank and a communicator, say;
    None: all belong to one. Events of a queue come in the order in which they stand. Of all receives that take a
    message the one that was posted first gets it, of all messages that a receive takes the one that arrived first.

    `no_any_source`, `no_any_tag` and `no_unexpected` promise that there are no receives of any source, none of any tag,
    and no messages before their receives; a receive that breaks a promise is a UsageError, a message stays unmatched.
    `devices` and `timeout` are those of `sssp`. Raises UsageError for arrays of different lengths and numbers that do
    not fit 31 bits, TimeoutError for a failed run. Each queue is matched by one warp: see "Matching" in the
    documentation.
    """
    with Workspace(devices, 1, timeout, False, BUFFER_BYTES) as workspace:
        promises = MatchPromises(bool(no_any_source), bool(no_any_tag), bool(no_unexpected))
        return match_on(workspace, is_message, source, tag, queue, promises, timeout=timeout)


def match_on(
    workspace: Workspace,
    is_message: ArrayLike,
    source: ArrayLike,
    tag: ArrayLike,
    queue: ArrayLike | None = None,
    promises: MatchPromises = NO_PROMISES,
    *,
    timeout: float,
) -> MatchResult:
    """The same on devices that are open already."""
    messages = np.ascontiguousarray(np.asarray(is_message, dtype=bool)).view(np.uint8)
    sources, tags = _numbers("source", source), _numbers("tag", tag)
    queues = np.zeros(len(messages), dtype=np.int64) if queue is None else _numbers("queue", queue).astype(np.int64)
    if messages.ndim != 1 or not len(messages) == len(sources) == len(tags) == len(queues):
        raise UsageError("is_message, source, tag and queue: one entry an event each")
    if np.any(queues < 0):
        raise UsageError("queue: numbers from 0 on")
    used, queues = np.unique(queues, return_inverse=True)
    order = np.argsort(queues, kind="stable")
    starts = np.searchsorted(queues[order], np.arange(len(used) + 1)).astype(np.uint64)
    raw = _core.replay_matches(workspace.core, messages[order], sources[order], tags[order], starts, *promises, timeout)
    # From numbers within a queue to positions.
    found = raw.take_partners().astype(np.int64)
    matched = found != np.iinfo(np.uint32).max
    first = starts[queues[order]].astype(np.int64)
    partner = np.full(len(messages), -1, dtype=np.int64)
    partner[order[matched]] = order[(first + found)[matched]]
    return MatchResult(
        read_only(partner),
        read_only(raw.take_max_posted()),
        read_only(raw.take_max_unexpected()),
        read_only(used),
        raw.matches,
        raw.looks / raw.searches if raw.searches else 0.0,
        raw.max_depth,
        raw.seconds,
    )


def _numbers(name: str, values: ArrayLike) -> NDArray[np.int32]:
    """Whole numbers from -1 to 2**31 - 1."""
    given = np.asarray(values)
    if given.size == 0:
        return np.zeros(0, dtype=np.int32)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise UsageError(f"{name}: whole numbers, one an event, not {given.dtype} of the shape {given.shape}")
    if given.min() < -1 or given.max() > np.iinfo(np.int32).max:
        raise UsageError(f"{name}: from -1 to {np.iinfo(np.int32).max}, not {given.min()} to {given.max()}")
    return np.ascontiguousarray(given, dtype=np.int32)

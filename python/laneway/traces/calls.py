"""MPI calls as traces record them, and what each does to messages."""

from __future__ import annotations

from typing import NamedTuple, Union

ANY_SOURCE = -1
ANY_TAG = -1
UNKNOWN = -2
"""A source, a tag, a size or an end that the trace does not tell."""
PROC_NULL = -3
"""The rank that is none: nothing is sent to it and nothing comes from it."""
BLOCKING = -1
"""In the place of a request's number: the operation ends with the call that starts it."""


class Send(NamedTuple):
    """A message leaves. `dest` is a rank of `communicator`; `size` is in bytes, `elements` of `datatype`, whose
    name is empty where the trace does not tell it."""

    dest: int
    tag: int
    communicator: int
    size: int
    elements: int
    datatype: str
    request: int


class Receive(NamedTuple):
    """A receive is posted. `size` is what its buffer holds in bytes; `source` and `tag` may be wildcards."""

    source: int
    tag: int
    communicator: int
    size: int
    request: int


class Completion(NamedTuple):
    """A request has ended; source, tag and size are those of its status. A blocking receive ends with BLOCKING."""

    request: int
    source: int
    tag: int
    size: int


class Cancellation(NamedTuple):
    """A posted receive, or a send, is withdrawn."""

    request: int


class Probe(NamedTuple):
    """A look for a message that has come."""

    source: int
    tag: int
    communicator: int


class NewCommunicator(NamedTuple):
    """A communicator is made of `parent`. `color` tells the groups of one call apart; `key` orders the ranks in each.
    `ranks` is the new group, in ranks of the parent, where the trace tells it at once."""

    communicator: int
    parent: int
    color: int
    key: int
    ranks: tuple[int, ...] | None


Operation = Union[Send, Receive, Completion, Cancellation, Probe, NewCommunicator]


class Call(NamedTuple):
    """One MPI call of one rank; times in nanoseconds. What happens as the call begins stands in `first`, what has
    happened when it ends in `last`. `elements`, `size` (bytes) and `datatype` are of what the rank names to be sent
    in a call of a collective function."""

    rank: int
    name: str
    start: int
    stop: int
    first: tuple[Operation, ...]
    last: tuple[Operation, ...]
    elements: int
    size: int
    datatype: str = ""


def functions_of(names: str) -> frozenset[str]:
    """The names of MPI functions, given without `MPI_`."""
    return frozenset(f"MPI_{name}" for name in names.split())


COLLECTIVES = functions_of(
    "Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan Gather Gatherv Reduce "
    "Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv Iallgather Iallgatherv Iallreduce Ialltoall Ialltoallv "
    "Ialltoallw Ibarrier Ibcast Iexscan Igather Igatherv Ireduce Ireduce_scatter Ireduce_scatter_block Iscan Iscatter "
    "Iscatterv"
)
SYNCHRONIZATIONS = functions_of("Barrier Ibarrier")
"""Collective functions that send no data."""
SENDS = functions_of("Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Sendrecv Sendrecv_replace")
RECEIVES = functions_of("Recv Irecv Mrecv Imrecv")
COMPLETIONS = functions_of("Wait Waitall Waitany Waitsome Test Testall Testany Testsome Start Startall")
PROBES = functions_of("Probe Iprobe Mprobe Improbe")


def family(name: str) -> str:
    """The kind of a call: `send`, `receive`, `completion`, `probe`, `collective` or `administration`.

    All but the last transfer data or wait for others, and count as communication
    (Klenk 2017, section 4.2.2).
    """
    for kind, names in _FAMILIES.items():
        if name in names:
            return kind
    return "administration"


_FAMILIES = {
    "send": SENDS,
    "receive": RECEIVES,
    "completion": COMPLETIONS,
    "probe": PROBES,
    "collective": COLLECTIVES,
}

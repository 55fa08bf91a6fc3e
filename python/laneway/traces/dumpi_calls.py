"""What the records of DUMPI traces do to messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Callable

from laneway.traces import calls
from laneway.traces.calls import (
    BLOCKING,
    PROC_NULL,
    UNKNOWN,
    Call,
    Cancellation,
    Completion,
    NewCommunicator,
    Operation,
    Probe,
    Receive,
    Send,
)
from laneway.traces.dumpi import Record
from laneway.traces.dumpi_types import Datatypes

WORLD, SELF = 2, 3
"""The numbers of MPI_COMM_WORLD and MPI_COMM_SELF."""
_NULL = 1  # of requests and of communicators
_NOTHING: tuple[Operation, ...] = ()
_Fields = dict[str, Any]
_Statuses = tuple[tuple[int, int, int, int], ...]
_Both = tuple[tuple[Operation, ...], tuple[Operation, ...]]

_TYPE_CALLS = calls.functions_of(
    "Type_contiguous Type_vector Type_hvector Type_indexed Type_hindexed Type_struct Type_dup Type_size "
    "Type_create_darray Type_create_hindexed Type_create_hvector Type_create_indexed_block Type_create_resized "
    "Type_create_struct Type_create_subarray"
)


_TO_EACH = calls.functions_of("Alltoall Scatter")
"""Collective functions whose count is that of one receiver among all ranks."""


class DumpiCalls:
    """Makes calls of the records of one rank, in their order."""

    def __init__(self, rank: int, types: Datatypes) -> None:
        self._rank, self._types = rank, types
        self._groups: dict[int, tuple[int, tuple[int, ...] | None]] = {}
        self._persistent: dict[int, Send | Receive] = {}
        self._cancelled: set[int] = set()
        self._ranks: dict[int, int] = {}  # of communicators, where the program asked

    def of(self, records: Iterable[Record]) -> Iterator[Call]:
        """The calls, one for each record."""
        for name, start, stop, fields in records:
            elements, size, datatype = 0, 0, ""
            first = last = _NOTHING
            if fields:
                handler = _HANDLERS.get(name)
                if handler is not None:
                    first, last = handler(self, name, fields)
                elif name in calls.COLLECTIVES:
                    elements, size, datatype = self._volume(name, fields)
                elif name in _TYPE_CALLS:
                    self._types.made(name, fields)
            yield Call(self._rank, name, start, max(start, stop), first, last, elements, size, datatype)

    def _volume(self, name: str, fields: _Fields) -> tuple[int, int, str]:
        """Elements, bytes and datatype that this rank names to be sent in a collective call."""
        if "sendtypes" in fields:
            return self._volume_of_types(fields["sendtypes"], fields["sendcounts"])
        kind = fields.get("sendtype", fields.get("datatype", fields.get("recvtype")))
        if kind is None:
            return 0, 0, ""
        count = fields["count"] if "count" in fields else fields.get("sendcount")
        if count is None:
            counts: tuple[int, ...] = fields["sendcounts"] if "sendcounts" in fields else fields.get("recvcounts") or ()
            count = sum(counts)
        elif name in _TO_EACH:
            ranks = self._ranks.get(fields["comm"], UNKNOWN)
            count = UNKNOWN if ranks < 0 else count * ranks
        return count, self._types.size(kind, count), self._types.name(kind)

    def _volume_of_types(self, kinds: tuple[int, ...], counts: tuple[int, ...]) -> tuple[int, int, str]:
        sizes = [self._types.size(kind, count) for kind, count in zip(kinds, counts)]
        names = {self._types.name(kind) for kind, count in zip(kinds, counts) if count}
        size = UNKNOWN if min(sizes, default=0) < 0 else sum(sizes)
        return sum(counts), size, names.pop() if len(names) == 1 else "several"

    def _communicator_size(self, name: str, fields: _Fields) -> _Both:
        self._ranks[fields["comm"]] = fields["size"]
        return _NOTHING, _NOTHING

    def _send(self, name: str, fields: _Fields) -> _Both:
        return (self._sent(fields, fields["tag"], fields.get("request", BLOCKING)),), _NOTHING

    def _sent(self, fields: _Fields, tag: int, request: int) -> Send:
        count = fields["sendcount"] if "sendcount" in fields else fields["count"]
        kind = fields["sendtype"] if "sendtype" in fields else fields["datatype"]
        dest = fields["dest"] if fields["dest"] >= 0 else PROC_NULL
        name = self._types.name(kind)
        return Send(dest, tag, fields["comm"], self._types.size(kind, count), count, name, request)

    def _received(self, fields: _Fields, tag: int, request: int) -> Receive:
        count = fields["recvcount"] if "recvcount" in fields else fields["count"]
        kind = fields["recvtype"] if "recvtype" in fields else fields["datatype"]
        source = fields["source"] if fields["source"] >= calls.ANY_SOURCE else PROC_NULL
        return Receive(source, tag, fields["comm"], self._types.size(kind, count), request)

    def _recv(self, name: str, fields: _Fields) -> _Both:
        return (self._received(fields, fields["tag"], BLOCKING),), (self._ended(BLOCKING, fields["status"]),)

    def _irecv(self, name: str, fields: _Fields) -> _Both:
        return (self._received(fields, fields["tag"], fields["request"]),), _NOTHING

    def _sendrecv(self, name: str, fields: _Fields) -> _Both:
        posted = self._received(fields, fields["recvtag"], BLOCKING)
        sent = self._sent(fields, fields["sendtag"], BLOCKING)
        return (posted, sent), (self._ended(BLOCKING, fields["status"]),)

    def _init(self, name: str, fields: _Fields) -> _Both:
        request = fields["request"]
        made = self._received if name == "MPI_Recv_init" else self._sent
        self._persistent[request] = made(fields, fields["tag"], request)
        return _NOTHING, _NOTHING

    def _start(self, name: str, fields: _Fields) -> _Both:
        requests = fields["requests"] if "requests" in fields else (fields["request"],)
        return tuple(self._persistent[each] for each in requests if each in self._persistent), _NOTHING

    def _wait(self, name: str, fields: _Fields) -> _Both:
        if fields.get("flag", 1) == 0 or fields["request"] == _NULL:
            return _NOTHING, _NOTHING
        return _NOTHING, (self._ended(fields["request"], fields["status"]),)

    def _waitany(self, name: str, fields: _Fields) -> _Both:
        index, requests = fields["index"], fields["requests"]
        if fields.get("flag", 1) == 0 or not 0 <= index < len(requests):
            return _NOTHING, _NOTHING
        return _NOTHING, (self._ended(requests[index], fields["status"]),)

    def _waitall(self, name: str, fields: _Fields) -> _Both:
        if fields.get("flag", 1) == 0:
            return _NOTHING, _NOTHING
        return _NOTHING, self._all_ended(fields["requests"], fields["statuses"])

    def _waitsome(self, name: str, fields: _Fields) -> _Both:
        requests = fields["requests"]
        done = [requests[index] for index in fields["indices"] if 0 <= index < len(requests)]
        return _NOTHING, self._all_ended(done, fields["statuses"])

    def _free(self, name: str, fields: _Fields) -> _Both:
        self._persistent.pop(fields["request"], None)
        return _NOTHING, _NOTHING

    def _cancel(self, name: str, fields: _Fields) -> _Both:
        """Only the end of the request tells whether it was cancelled: its message may have come before."""
        self._cancelled.add(fields["request"])
        return _NOTHING, _NOTHING

    def _ended(self, request: int, statuses: _Statuses) -> Operation:
        if request in self._cancelled:
            self._cancelled.discard(request)
            if not statuses or statuses[0][3]:
                return Cancellation(request)
        if not statuses:
            return Completion(request, UNKNOWN, UNKNOWN, UNKNOWN)
        size, source, tag, _ = statuses[0]
        return Completion(request, source, tag, size)

    def _all_ended(self, requests: Iterable[int], statuses: _Statuses) -> tuple[Operation, ...]:
        requests = list(requests)
        told: list[_Statuses] = [(each,) for each in statuses]
        if len(told) != len(requests):
            told = [()] * len(requests)
        return tuple(self._ended(each, status) for each, status in zip(requests, told) if each != _NULL)

    def _probe(self, name: str, fields: _Fields) -> _Both:
        return (Probe(fields["source"], fields["tag"], fields["comm"]),), _NOTHING

    def _group(self, name: str, fields: _Fields) -> _Both:
        """The ranks of groups, each with the communicator that they number."""
        if name == "MPI_Comm_group":
            self._groups[fields["group"]] = (fields["comm"], None)
        else:
            base, ranks = self._groups.get(fields["group"], (_NULL, ()))
            chosen = fields["ranks"]
            if ranks is not None:
                chosen = tuple(ranks[each] for each in chosen if 0 <= each < len(ranks))
            self._groups[fields["newgroup"]] = (base, chosen)
        return _NOTHING, _NOTHING

    def _communicator(self, name: str, fields: _Fields) -> _Both:
        parent, new = fields["oldcomm"], fields["newcomm"]
        color = -1 if new == _NULL else 0
        key, ranks = 0, None
        if name == "MPI_Comm_split":
            color, key = fields["color"], fields["key"]
        elif name == "MPI_Comm_create":
            base, ranks = self._groups.get(fields["group"], (_NULL, ()))
            if base != parent:
                color = UNKNOWN
        elif name == "MPI_Cart_sub":
            color = UNKNOWN
        return (NewCommunicator(new, parent, color, key, ranks),), _NOTHING


_Handler = Callable[[DumpiCalls, str, _Fields], _Both]
_BY_METHOD: list[tuple[Any, str]] = [
    (DumpiCalls._send, "Send Bsend Ssend Rsend Isend Ibsend Issend Irsend"),
    (DumpiCalls._recv, "Recv"),
    (DumpiCalls._irecv, "Irecv"),
    (DumpiCalls._sendrecv, "Sendrecv Sendrecv_replace"),
    (DumpiCalls._init, "Send_init Bsend_init Ssend_init Rsend_init Recv_init"),
    (DumpiCalls._start, "Start Startall"),
    (DumpiCalls._wait, "Wait Test"),
    (DumpiCalls._waitany, "Waitany Testany"),
    (DumpiCalls._waitall, "Waitall Testall"),
    (DumpiCalls._waitsome, "Waitsome Testsome"),
    (DumpiCalls._free, "Request_free"),
    (DumpiCalls._cancel, "Cancel"),
    (DumpiCalls._probe, "Probe Iprobe"),
    (DumpiCalls._communicator_size, "Comm_size"),
    (DumpiCalls._group, "Comm_group Group_incl"),
    (DumpiCalls._communicator, "Comm_dup Comm_create Comm_split Cart_create Graph_create Cart_sub"),
]
_HANDLERS: dict[str, _Handler] = {name: method for method, names in _BY_METHOD for name in calls.functions_of(names)}
WANTED = frozenset(_HANDLERS) | calls.COLLECTIVES | _TYPE_CALLS
"""The functions whose fields are read."""

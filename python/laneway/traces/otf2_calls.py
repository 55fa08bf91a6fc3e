"""What the events of OTF2 traces do to messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Callable

from laneway.errors import UsageError
from laneway.traces.calls import (
    BLOCKING,
    COLLECTIVES,
    UNKNOWN,
    Call,
    Cancellation,
    Completion,
    Operation,
    Receive,
    Send,
)
from laneway.traces.otf2 import Archive
from laneway.traces.otf2_records import Values, records

_ENTER, _LEAVE = 12, 13
_SEND, _ISEND, _ISEND_COMPLETE, _IRECV_REQUEST, _RECV, _IRECV = 14, 15, 16, 17, 18, 19
_CANCELLED, _COLLECTIVE_END = 21, 23
_OUTSIDE = {
    _SEND: "MPI_Send",
    _ISEND: "MPI_Isend",
    _ISEND_COMPLETE: "MPI_Wait",
    _IRECV_REQUEST: "MPI_Irecv",
    _RECV: "MPI_Recv",
    _IRECV: "MPI_Wait",
    _CANCELLED: "MPI_Cancel",
}
"""What an event stands for where the trace has no regions of MPI around it."""
MOST_HELD = 1 << 20


class _Open:
    """A call that is not complete: a receive of it may wait for its message."""

    __slots__ = ("first", "last", "missing", "name", "size", "start", "stop")

    def __init__(self, name: str, start: int) -> None:
        self.name, self.start, self.stop = name, start, start
        self.first: list[Operation] = []
        self.last: list[Operation] = []
        self.missing: set[int] = set()
        self.size = UNKNOWN  # of what a collective call sends


class Otf2Calls:
    """Makes calls of the events of one rank.

    OTF2 tells source and tag of a nonblocking receive when its message has come, not when it is posted. So calls are
    held back from such a receive on until its end: memory grows with the calls between.
    """

    def __init__(self, archive: Archive, rank: int) -> None:
        self._archive, self._rank = archive, rank
        self._location = archive.location(archive.ranks[rank])
        self._names: dict[int, str] = {}
        self._open: list[_Open] = []
        self._held: deque[_Open] = deque()
        self._waiting: dict[int, tuple[_Open, int]] = {}

    def calls(self) -> Iterator[Call]:
        """The calls, in the order of their ends."""
        archive = self._archive
        path = archive.event_file(archive.ranks[self._rank])
        name = f"{archive.name}: {path.parent.name}/{path.name}"
        for kind, ticks, values in records(path, name, archive.event_chunk_bytes, stamped=True):
            handler = _HANDLERS.get(kind)
            if handler is None:
                continue
            try:
                handler(self, kind, ticks, values)
            except IndexError:
                raise UsageError(f"{name}: broken: a record ends inside a value") from None
            while self._held and (not self._held[0].missing or len(self._held) > MOST_HELD):
                yield self._closed(self._held.popleft())
        while self._open:
            self._held.append(self._open.pop())
        while self._held:
            yield self._closed(self._held.popleft())

    def _closed(self, call: _Open) -> Call:
        for request in call.missing:
            self._waiting.pop(request, None)
        first, last = tuple(call.first), tuple(call.last)
        elements, size = (UNKNOWN, call.size) if call.name in COLLECTIVES else (0, 0)
        return Call(self._rank, call.name, call.start, call.stop, first, last, elements, size)

    def _nanoseconds(self, ticks: int) -> int:
        corrected = ticks + self._location.correction(ticks) - self._archive.offset
        return corrected * 1_000_000_000 // self._archive.resolution

    def _region(self, values: Values) -> str:
        number = values.integer()
        name = self._names.get(number)
        if name is None:
            name = self._archive.region_name(self._location.regions.get(number, number))
            self._names[number] = name
        return name

    def _enter(self, kind: int, ticks: int, values: Values) -> None:
        name = self._region(values)
        if name.startswith("MPI_"):
            self._open.append(_Open(name, self._nanoseconds(ticks)))

    def _leave(self, kind: int, ticks: int, values: Values) -> None:
        name = self._region(values)
        if self._open and self._open[-1].name == name:
            call = self._open.pop()
            call.stop = max(call.start, self._nanoseconds(ticks))
            self._held.append(call)

    def _around(self, kind: int, ticks: int) -> _Open:
        """The call in which an event happens."""
        if self._open:
            return self._open[-1]
        call = _Open(_OUTSIDE[kind], self._nanoseconds(ticks))
        self._held.append(call)
        return call

    def _peer(self, values: Values) -> tuple[int, int, int, int]:
        """Rank, tag, communicator and bytes of a message."""
        peer, communicator, tag, size = values.integer(), values.integer(), values.integer(), values.integer()
        return peer, tag, self._location.communicators.get(communicator, communicator), size

    def _send(self, kind: int, ticks: int, values: Values) -> None:
        dest, tag, communicator, size = self._peer(values)
        request = values.integer() if kind == _ISEND else BLOCKING
        self._around(kind, ticks).first.append(Send(dest, tag, communicator, size, UNKNOWN, "", request))

    def _send_complete(self, kind: int, ticks: int, values: Values) -> None:
        self._around(kind, ticks).last.append(Completion(values.integer(), UNKNOWN, UNKNOWN, UNKNOWN))

    def _receive_posted(self, kind: int, ticks: int, values: Values) -> None:
        request = values.integer()
        call = self._around(kind, ticks)
        call.missing.add(request)
        self._waiting[request] = (call, len(call.first))
        call.first.append(Receive(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, request))

    def _received(self, kind: int, ticks: int, values: Values) -> None:
        source, tag, communicator, size = self._peer(values)
        call = self._around(kind, ticks)
        if kind == _RECV:
            call.first.append(Receive(source, tag, communicator, UNKNOWN, BLOCKING))
            call.last.append(Completion(BLOCKING, source, tag, size))
            return
        request = values.integer()
        if request in self._waiting:
            posted, at = self._waiting.pop(request)
            posted.first[at] = Receive(source, tag, communicator, UNKNOWN, request)
            posted.missing.discard(request)
        call.last.append(Completion(request, source, tag, size))

    def _cancelled(self, kind: int, ticks: int, values: Values) -> None:
        request = values.integer()
        if request in self._waiting:
            self._waiting.pop(request)[0].missing.discard(request)
        self._around(kind, ticks).last.append(Cancellation(request))

    def _collective(self, kind: int, ticks: int, values: Values) -> None:
        values.byte()
        values.integer()
        values.integer()
        if self._open:
            self._open[-1].size = max(values.integer(), 0)


_HANDLERS: dict[int, Callable[[Otf2Calls, int, int, Values], None]] = {
    _ENTER: Otf2Calls._enter,
    _LEAVE: Otf2Calls._leave,
    _SEND: Otf2Calls._send,
    _ISEND: Otf2Calls._send,
    _ISEND_COMPLETE: Otf2Calls._send_complete,
    _IRECV_REQUEST: Otf2Calls._receive_posted,
    _RECV: Otf2Calls._received,
    _IRECV: Otf2Calls._received,
    _CANCELLED: Otf2Calls._cancelled,
    _COLLECTIVE_END: Otf2Calls._collective,
}

"""Small MPI traces for tests, written call by call in the formats of DUMPI and OTF2."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from laneway.traces.dumpi import MAGIC
from laneway.traces.dumpi_functions import END_OF_STREAM, functions

WORLD = 2
INT = 9
NUMBERS = {name: number for number, (name, _) in enumerate(functions())}
STATUSES_WALL_THREAD = 0x03 | 0x08 | 0x40


class Dumpi(NamedTuple):
    """A call to write: times are in microseconds."""

    name: str
    start: int
    stop: int
    fields: dict[str, Any]


def send(start: int, stop: int, dest: int, tag: int, comm: int = WORLD, count: int = 1) -> Dumpi:
    fields = {"count": count, "datatype": INT, "dest": dest, "tag": tag, "comm": comm}
    return Dumpi("MPI_Send", start, stop, fields)


def isend(start: int, dest: int, tag: int, request: int, comm: int = WORLD, count: int = 1) -> Dumpi:
    fields = {"count": count, "datatype": INT, "dest": dest, "tag": tag, "comm": comm, "request": request}
    return Dumpi("MPI_Isend", start, start, fields)


def irecv(start: int, source: int, tag: int, request: int, comm: int = WORLD, count: int = 1) -> Dumpi:
    fields = {"count": count, "datatype": INT, "source": source, "tag": tag, "comm": comm, "request": request}
    return Dumpi("MPI_Irecv", start, start, fields)


def recv(start: int, stop: int, source: int, tag: int, status: tuple[int, int, int] | None = None) -> Dumpi:
    statuses = () if status is None else (status,)
    fields = {"count": 1, "datatype": INT, "source": source, "tag": tag, "comm": WORLD, "status": statuses}
    return Dumpi("MPI_Recv", start, stop, fields)


def wait(start: int, stop: int, request: int, status: tuple[int, int, int]) -> Dumpi:
    return Dumpi("MPI_Wait", start, stop, {"request": request, "status": (status,)})


def waitall(start: int, stop: int, requests: Sequence[int], statuses: Sequence[tuple[int, int, int]] = ()) -> Dumpi:
    fields = {"count": len(requests), "requests": tuple(requests), "statuses": tuple(statuses)}
    return Dumpi("MPI_Waitall", start, stop, fields)


def comm_rank(rank: int) -> Dumpi:
    return Dumpi("MPI_Comm_rank", 0, 0, {"comm": WORLD, "rank": rank})


def comm_size(size: int) -> Dumpi:
    return Dumpi("MPI_Comm_size", 0, 0, {"comm": WORLD, "size": size})


def write_dumpi(path: Path, calls: Iterable[Dumpi], seconds: int = 1_000_000_000) -> Path:
    """A DUMPI file; `seconds` is the time at which the calls' microseconds begin."""
    parts = [struct.pack(">ii", 0, seconds)]
    counts = [0] * (END_OF_STREAM - 2)  # of all functions of MPI, and their sum
    for call in calls:
        number = NUMBERS[call.name]
        counts[min(number, len(counts) - 1)] += 1
        parts.append(struct.pack(">HBH", number, STATUSES_WALL_THREAD, 0))
        for time in (call.start, call.stop):
            parts.append(struct.pack(">Hi", time // 1_000_000, time % 1_000_000 * 1000))
        parts.append(_fields(call))
    parts.append(struct.pack(">H", END_OF_STREAM))
    content = MAGIC + b"".join(parts)
    places = {"body": len(MAGIC), "header": len(content)}
    content += bytes((1, 1, 0)) + struct.pack(">QHHii", 0, 0, 0, 0, 0)
    places["footer"] = len(content)
    content += struct.pack(f">Q{2 * len(counts)}I", 0xF007FEE7, *counts, *[0] * len(counts))
    places["keyvals"] = len(content)
    content += struct.pack(">i", 0)
    places["sizes"] = len(content)
    content += struct.pack(">i", 0)
    order = ("sizes", "addresses", "counters", "header", "body", "footer", "keyvals")
    path.write_bytes(content + MAGIC + struct.pack(">7Q", *(places.get(name, 0) for name in order)))
    return path


def _fields(call: Dumpi) -> bytes:
    kinds = functions()[NUMBERS[call.name]][1] or ()
    return b"".join(_field(kind, call.fields[name]) for name, kind in kinds if kind[0] != "?" or name in call.fields)


def _field(kind: str, value: Any) -> bytes:
    kind = kind.lstrip("?")
    if kind in "bhiq":
        return struct.pack(">" + kind, value)
    if kind == "S":
        packed = b"".join(struct.pack(">iibbi", *each[:2], *each[3:] or (0,), 0, each[2]) for each in value)
        return struct.pack(">i", len(value)) + packed
    if kind == "s":
        return struct.pack(">i", len(value)) + value
    if kind in ("ss", "v"):
        return struct.pack(">i", len(value)) + b"".join(_field("s", each) for each in value)
    letter = {"I": "i", "J": "i", "H": "h", "B": "b"}[kind]
    return struct.pack(f">i{len(value)}{letter}", len(value), *value)


class Otf2(NamedTuple):
    """An event: its kind by OTF2's number, its time in ticks, and its values."""

    kind: int
    time: int
    values: tuple[int, ...]


REGIONS = ("MPI_Send", "MPI_Irecv", "MPI_Wait", "MPI_Recv", "MPI_Isend", "compute", "MPI_Allreduce", "MPI_Barrier")
ENTER, LEAVE, COLLECTIVE_END = 12, 13, 23
_LONE = (12, 13, 16, 17, 20, 21)


def inside(region: str, start: int, stop: int, *events: tuple[int, tuple[int, ...]]) -> list[Otf2]:
    """Events inside a region."""
    number = (REGIONS.index(region),)
    middle = [Otf2(kind, start, values) for kind, values in events]
    return [Otf2(ENTER, start, number), *middle, Otf2(LEAVE, stop, number)]


def packed(value: int) -> bytes:
    """An integer as OTF2 packs it; -1 is the greatest."""
    if value == -1:
        return b"\xff"
    length = (value.bit_length() + 7) // 8
    return bytes([length]) + value.to_bytes(length, "little")


def _record(kind: int, data: bytes) -> bytes:
    length = bytes([len(data)]) if len(data) < 255 else b"\xff" + len(data).to_bytes(8, "little")
    return bytes([kind]) + length + data


_CHUNK = b"\x03\x42" + bytes(16)
CHUNK_BYTES = 1 << 10


def _chunks(records: Iterable[bytes]) -> bytes:
    """Records in chunks of `CHUNK_BYTES`, which are filled up with zeros, the last one cut short."""
    content, filled = bytearray(_CHUNK), len(_CHUNK)
    for record in records:
        if filled + len(record) + 1 > CHUNK_BYTES:
            content += bytes(CHUNK_BYTES - filled)
            content += _CHUNK
            filled = len(_CHUNK)
        content += record
        filled += len(record)
    return bytes(content + b"\x02\x01")


def write_otf2(
    folder: Path,
    ranks: Sequence[Sequence[Otf2]],
    clocks: Sequence[Sequence[tuple[int, int]]] = (),
    regions: dict[int, int] | None = None,
) -> Path:
    """An archive of ticks of a nanosecond: events of each rank, what its clock was off by, and its own numbers of
    regions by those of all."""
    anchor = folder / "traces.otf2"
    (folder / "traces").mkdir(parents=True)
    head = b"\x03\x42OTF2\0\x03\x03\x03\x00\x02" + struct.pack("<QQBBQQ", CHUNK_BYTES, CHUNK_BYTES, 1, 1, len(ranks), 9)
    anchor.write_bytes(head + b"\0\0\0" + bytes(20) + b"\x02")
    names = ["MPI_COMM_WORLD", *REGIONS]
    everyone = b"".join(packed(rank) for rank in range(len(ranks)))
    definitions = [_record(5, packed(1_000_000_000) + packed(0) + packed(1))]
    definitions += [_record(10, packed(i) + name.encode() + b"\0") for i, name in enumerate(names)]
    definitions += [_record(15, packed(i) + packed(i + 1) + bytes(8)) for i in range(len(REGIONS))]
    definitions += [_record(14, packed(i) + bytes(4)) for i in range(len(ranks))]
    for number, kind in ((0, 4), (1, 5)):
        group = packed(number) + packed(0) + b"\0" + packed(len(ranks)) + everyone + bytes([kind, 4]) + packed(0)
        definitions.append(_record(18, group))
    definitions.append(_record(22, packed(0) + packed(0) + packed(1) + packed(-1)))
    (folder / "traces.def").write_bytes(_chunks(definitions))
    for rank, events in enumerate(ranks):
        (folder / "traces" / f"{rank}.evt").write_bytes(_chunks(_event(event, regions or {}) for event in events))
        own = [_record(6, struct.pack("<Q", at) + _signed(offset) + bytes(8)) for at, offset in _clock(clocks, rank)]
        if regions:
            pairs = b"".join(packed(mine) + packed(theirs) for theirs, mine in regions.items())
            own.append(_record(5, bytes([3]) + packed(len(regions)) + b"\1" + pairs))
        (folder / "traces" / f"{rank}.def").write_bytes(_chunks(own))
    return anchor


def _clock(clocks: Sequence[Sequence[tuple[int, int]]], rank: int) -> Sequence[tuple[int, int]]:
    return clocks[rank] if rank < len(clocks) else ()


def _signed(value: int) -> bytes:
    return packed(value) if value >= 0 else b"\x08" + value.to_bytes(8, "little", signed=True)


def _event(event: Otf2, regions: dict[int, int]) -> bytes:
    stamp = b"\x05" + struct.pack("<Q", event.time)
    values = event.values
    if event.kind in (ENTER, LEAVE):
        values = (regions.get(values[0], values[0]),)
    head = b""
    if event.kind == COLLECTIVE_END:
        head, values = bytes(values[:1]), values[1:]  # which operation it was, in a byte
    data = head + b"".join(packed(value) for value in values)
    return stamp + (bytes([event.kind]) + data if event.kind in _LONE else _record(event.kind, data))

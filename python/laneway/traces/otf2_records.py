"""Records of OTF2 files: chunks, time stamps and packed integers.

A file is a row of chunks of one size, of which the last may be shorter. A record is its type, the length of its data,
and the data; a few events have no length. Integers are packed: a byte tells how many follow. Source: OTF2 1.5 and 3.0,
`src/OTF2_Buffer.c` and the readers beside it, https://www.vi-hps.org/projects/score-p.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from laneway.errors import UsageError
from laneway.traces.blocks import Blocks

_END_OF_CHUNK, _END_OF_FILE, _CHUNK, _TIME_STAMP, _ATTRIBUTES = 0, 2, 3, 5, 6
_LONE = frozenset((12, 13, 16, 17, 20, 21, 24, 28, 29, 30))
"""Events of one packed integer, before which no length stands."""
_ORDERS = {0x23: "big", 0x42: "little"}
_CHUNK_HEAD = 18  # mark, byte order, numbers of the first and last event


class Values:
    """The data of one record, value by value. Raises IndexError at its end."""

    __slots__ = ("at", "data", "order")

    def __init__(self, data: bytes, order: str) -> None:
        self.data, self.at, self.order = data, 0, order

    def byte(self) -> int:
        """An integer of 8 bits."""
        self.at += 1
        return self.data[self.at - 1]

    def integer(self) -> int:
        """A packed integer; -1 stands for the greatest, which means that it is not defined."""
        count = self.byte()
        if count == 0xFF:
            return -1
        if count > 8 or self.at + count > len(self.data):
            raise IndexError
        self.at += count
        return int.from_bytes(self.data[self.at - count : self.at], self.order)  # type: ignore[arg-type]

    def signed(self) -> int:
        """A packed integer with a sign, of which negative ones take 64 bits."""
        value = self.integer()
        return value - (1 << 64) if value >> 63 else value

    def full(self) -> int:
        """An integer of 64 bits that is not packed."""
        if self.at + 8 > len(self.data):
            raise IndexError
        self.at += 8
        return int.from_bytes(self.data[self.at - 8 : self.at], self.order)  # type: ignore[arg-type]

    def text(self) -> str:
        """A string that a zero byte ends."""
        end = self.data.index(0, self.at) if 0 in self.data[self.at :] else len(self.data)
        found = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return found


def records(path: Path, name: str, chunk_bytes: int, stamped: bool) -> Iterator[tuple[int, int, Values]]:
    """Type, time and data of each record of a file; the time is that of the last stamp, 0 where files have none.

    UsageError where the file is broken; the caller turns IndexError of `Values` into one.
    """
    blocks = Blocks(path, name)
    begin, order, time = 0, _chunk_order(blocks), 0
    stamp = struct.Struct("<Q" if order == "little" else ">Q")
    while True:
        kind = blocks.take(1)[0]
        if stamped and kind == _TIME_STAMP:
            (time,) = blocks.unpack(stamp)
        elif kind == _END_OF_CHUNK:
            begin += chunk_bytes
            blocks.go_to(begin)
            order = _chunk_order(blocks)
        elif kind == _END_OF_FILE:
            return
        elif kind <= _CHUNK:
            raise blocks.broken(f"a record of the unknown kind {kind}")
        elif stamped and kind in _LONE:
            blocks.need(1)
            length = blocks.data[blocks.at]
            data = blocks.take(1 if length == 0xFF else length + 1)
            yield kind, time, Values(data, order)
        else:
            length = blocks.take(1)[0]
            if length == 0xFF:
                (length,) = blocks.unpack(stamp)
            if length > chunk_bytes:
                raise blocks.broken(f"a record of {length:,} bytes")
            data = blocks.take(length)
            if not (stamped and kind == _ATTRIBUTES):
                yield kind, time, Values(data, order)


def _chunk_order(blocks: Blocks) -> str:
    """The byte order of the chunk that begins here, whose head is passed."""
    head = blocks.take(_CHUNK_HEAD)
    if head[0] != _CHUNK or head[1] not in _ORDERS:
        raise blocks.broken("a chunk does not begin as it should")
    return _ORDERS[head[1]]


def anchor_chunk_bytes(path: Path, name: str) -> tuple[int, int]:
    """Bytes of the chunks of events and of definitions, as the anchor file tells."""
    with path.open("rb") as file:
        head = file.read(46)
    if len(head) < 46 or head[0] != _CHUNK or head[1] not in _ORDERS or head[2:7] != b"OTF2\0":
        raise UsageError(f"{name}: broken: does not begin as the anchor file of an OTF2 trace")
    order = "<" if _ORDERS[head[1]] == "little" else ">"
    events, definitions, substrate, compression = struct.unpack_from(order + "QQBB", head, 12)
    if substrate == 2:
        raise UsageError(f"{name}: its files are in a SIONlib container, which cannot be read")
    if substrate != 1 or compression not in (1, 2):
        raise UsageError(f"{name}: broken: the anchor file has impossible settings")
    if compression == 2:
        raise UsageError(f"{name}: compressed by OTF2 itself, which cannot be read")
    for each in (events, definitions):
        if not 1 << 10 <= each <= 1 << 30:
            raise UsageError(f"{name}: broken: chunks of {each:,} bytes")
    return events, definitions

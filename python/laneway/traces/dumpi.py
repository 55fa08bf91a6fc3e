"""DUMPI traces of SST in their binary form: one file holds the calls of one rank.

A file is a mark, the calls, then sections that an index at the very end points to: header, counts of calls, sizes of
datatypes. Source: SST DUMPI 14.1, `dumpi/common/io.c` and `iodefs.h`, https://github.com/sstsimulator/sst-dumpi.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, NamedTuple

from laneway.errors import UsageError
from laneway.traces.blocks import Blocks
from laneway.traces.dumpi_functions import END_OF_STREAM, functions

MAGIC = bytes.fromhex("ffaadd44554d5049")
_FOOTER_MAGIC = 0xF007FEE7
_STATUSES, _CPU_TIME, _WALL_TIME, _THREAD, _COUNTERS = 0x03, 0x04, 0x08, 0x40, 0x80
_FIRST_INDEX = ("sizes", "addresses", "counters", "header", "body", "footer", "keyvals")
_SHORT, _INT, _LONG = struct.Struct(">H"), struct.Struct(">i"), struct.Struct(">Q")
_HEAD, _OFFSETS = struct.Struct(">HB"), struct.Struct(">ii")


class Record(NamedTuple):
    """A call as it stands in the file: times in nanoseconds, fields by their names."""

    name: str
    start: int
    stop: int
    fields: dict[str, Any]


class DumpiFile:
    """The calls of one rank. `name` is what errors call the file."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self._sections = self._read_index()
        self.version = self._read_version()
        self.type_sizes = self._read_type_sizes()

    def _blocks(self, section: str) -> Blocks:
        place = self._sections[section]
        later = [each for each in self._sections.values() if each > place]
        return Blocks(self.path, self.name, place, min(later))

    def _read_index(self) -> dict[str, int]:
        """Offsets of the sections. Older versions have fewer entries before the last four."""
        size = self.path.stat().st_size
        if size < len(MAGIC) + 40:
            raise UsageError(f"{self.name}: broken: too short for a DUMPI trace")
        with self.path.open("rb") as file:
            if file.read(8) != MAGIC:
                raise UsageError(f"{self.name}: broken: does not begin as a DUMPI trace")
            file.seek(max(size - 64, 8))
            last = file.read(64)
        at = last.find(MAGIC)
        if at < 0 or (len(last) - at) % 8 or len(last) - at < 40:
            raise UsageError(f"{self.name}: broken: its index is missing, the end may be cut off")
        values = struct.unpack(f">{(len(last) - at) // 8 - 1}Q", last[at + 8 :])
        found = {"end": size - len(last) + at}
        for section, offset in zip(_FIRST_INDEX[-len(values) :], values):
            if offset >= found["end"]:
                raise UsageError(f"{self.name}: broken: its index names byte {offset:,}, behind the end")
            if offset:
                found[section] = offset
        for section in ("header", "body"):
            if section not in found:
                raise UsageError(f"{self.name}: broken: its index names no {section}")
        return found

    def _read_version(self) -> tuple[int, int, int]:
        a, b, c = self._blocks("header").take(3)
        return a, b, c

    def _read_type_sizes(self) -> list[int]:
        """Bytes of each datatype by its number, as far as the program was asked for them."""
        if "sizes" not in self._sections:
            return []
        blocks = self._blocks("sizes")
        return list(_array("i", blocks, blocks.left // 4))

    def counts(self) -> dict[str, int]:
        """How often each function was called, as the tracing library counted by itself."""
        if "footer" not in self._sections:
            return {}
        blocks = self._blocks("footer")
        if blocks.unpack(_LONG)[0] != _FOOTER_MAGIC:
            raise blocks.broken("the counts of calls do not begin as they should")
        counts = struct.unpack(f">{blocks.left // 8}I", blocks.take(blocks.left // 8 * 4))
        return {name: count for (name, _), count in zip(functions(), counts) if count and name}

    def records(self, wanted: frozenset[str]) -> Iterator[Record]:
        """All calls in order. Fields are given of those functions alone that are `wanted`."""
        blocks = self._blocks("body")
        cpu_offset, wall_offset = blocks.unpack(_OFFSETS)
        plans: dict[int, _Plan] = {}
        while blocks.left >= 3:
            blocks.need(3)
            number, mask = _HEAD.unpack_from(blocks.data, blocks.at)
            plan = plans.get(number << 8 | mask)
            if plan is None:
                if number == END_OF_STREAM:
                    return
                plan = plans[number << 8 | mask] = self._plan(blocks, number, mask)
            blocks.at += 3
            head = blocks.unpack(plan.head)
            if mask & _COUNTERS:
                blocks.take(16 * blocks.take(1)[0])
            if mask & _WALL_TIME:
                start, stop = _times(head, plan.wall, wall_offset)
            elif mask & _CPU_TIME:
                start, stop = _times(head, plan.cpu, cpu_offset)
            else:
                start = stop = 0
            fields = plan.read(blocks)
            if plan.is_mpi:
                yield Record(plan.name, start, stop, fields if plan.name in wanted else _NONE)

    def _plan(self, blocks: Blocks, number: int, mask: int) -> _Plan:
        name, fields = functions()[number] if number < len(functions()) else ("", None)
        if fields is None:
            raise blocks.broken(f"a call of {name or 'an unknown function'}, of which DUMPI records nothing")
        thread = mask & _THREAD != 0
        cpu, wall = mask & _CPU_TIME != 0, mask & _WALL_TIME != 0
        head = struct.Struct(">" + "H" * thread + "HiHi" * (cpu + wall))
        read = _reader(fields, mask, self.version)
        return _Plan(name, name.startswith("MPI"), head, int(thread), thread + 4 * cpu, read)


_NONE: dict[str, Any] = {}


def _times(head: tuple[int, ...], at: int, offset: int) -> tuple[int, int]:
    """Begin and end in nanoseconds, of seconds and nanoseconds that stand at `at`."""
    seconds, nanos, end_seconds, end_nanos = head[at : at + 4]
    return (seconds + offset) * 1_000_000_000 + nanos, (end_seconds + offset) * 1_000_000_000 + end_nanos


class _Plan(NamedTuple):
    """How to read the records of one function with one mask."""

    name: str
    is_mpi: bool
    head: struct.Struct
    cpu: int
    wall: int
    read: Callable[[Blocks], dict[str, Any]]


def _reader(
    fields: tuple[tuple[str, str], ...], mask: int, version: tuple[int, int, int]
) -> Callable[[Blocks], dict[str, Any]]:
    """Reads the fields of one function: those of fixed size that come first at once, then one by one."""
    fixed = 0
    while fixed < len(fields) and fields[fixed][1] in "bhiq":
        fixed += 1
    form = struct.Struct(">" + "".join(kind for _, kind in fields[:fixed]))
    names, rest = [name for name, _ in fields[:fixed]], fields[fixed:]

    def read(blocks: Blocks) -> dict[str, Any]:
        found: dict[str, Any] = dict(zip(names, blocks.unpack(form)))
        for name, kind in rest:
            if kind[0] == "?":
                if found.get("root") != found.get("commrank", found.get("oldcommrank")):
                    continue
                kind = kind[1:]
            found[name] = _field(kind, blocks, mask, version)
        return found

    return read


def _field(kind: str, blocks: Blocks, mask: int, version: tuple[int, int, int]) -> Any:
    if kind in "bhiq":
        return blocks.unpack(struct.Struct(">" + kind))[0]
    if kind == "S":
        return _statuses(blocks, version) if mask & _STATUSES else ()
    if kind == "J":
        return _array("i", blocks, blocks.left // 4) if version >= (0, 6, 9) else blocks.unpack(_INT)
    if kind == "v":
        if version < (0, 6, 2):
            blocks.take(4)
        kind = "ss"
    if kind in ("I", "H", "B"):
        return _array(kind.lower() if kind != "I" else "i", blocks, blocks.left)
    if kind == "s":
        return blocks.take(_length(blocks, blocks.left))
    return [_field(kind[1:], blocks, mask, version) for _ in range(_length(blocks, blocks.left // 4))]


def _statuses(blocks: Blocks, version: tuple[int, int, int]) -> tuple[tuple[int, int, int, int], ...]:
    """Bytes, source, tag and cancellation of each status; the tag was forgotten before version 0.6.3."""
    form = _STATUS if version >= (0, 6, 3) else _OLD_STATUS
    count = _length(blocks, blocks.left // form.size)
    found = form.iter_unpack(blocks.take(count * form.size))
    return tuple((each[0], each[1], each[4] if len(each) == 5 else -2, each[2]) for each in found)


_STATUS, _OLD_STATUS = struct.Struct(">iibbi"), struct.Struct(">iibb")


def _array(kind: str, blocks: Blocks, most: int) -> tuple[int, ...]:
    count = _length(blocks, most)
    form = struct.Struct(f">{count}{kind}")
    return blocks.unpack(form)


def _length(blocks: Blocks, most: int) -> int:
    """The length of what follows; nothing is allocated for one that the file cannot hold."""
    (count,) = blocks.unpack(_INT)
    if not 0 <= count <= most:
        raise blocks.broken(f"a length of {count:,}")
    return count

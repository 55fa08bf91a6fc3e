"""OTF2 archives: an anchor file, definitions, and the events of each location in a file of its own."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from laneway.errors import UsageError
from laneway.traces.otf2_records import Values, anchor_chunk_bytes, records

_CLOCK, _STRING, _LOCATION, _REGION, _GROUP, _COMM = 5, 10, 14, 15, 18, 22
_MAPPING, _CLOCK_OFFSET = 5, 6  # in the definitions of one location
_MAPPED_REGIONS, _MAPPED_COMMUNICATORS = 3, 6
_COMM_LOCATIONS, _COMM_GROUP, _COMM_SELF = 4, 5, 6  # kinds of groups
_MPI = 4  # the paradigm


@dataclass
class Location:
    """What the definitions of one location say: its own numbers for things, and how its clock went."""

    regions: dict[int, int] = field(default_factory=dict)
    communicators: dict[int, int] = field(default_factory=dict)
    clock: list[tuple[int, int]] = field(default_factory=list)

    def correction(self, time: int) -> int:
        """Ticks to add to a time: linear between the two nearest measurements of the clock, as OTF2 does."""
        if not self.clock:
            return 0
        if len(self.clock) == 1:
            return self.clock[0][1]
        at = min(max(bisect_right(self.clock, (time, 0)), 1), len(self.clock) - 1)
        (t0, offset0), (t1, offset1) = self.clock[at - 1], self.clock[at]
        return offset0 + round((offset1 - offset0) * (time - t0) / (t1 - t0)) if t1 > t0 else offset0


class Archive:
    """The definitions of an archive. `name` is what errors call it."""

    def __init__(self, anchor: Path, name: str) -> None:
        self.anchor, self.name = anchor, name
        self.event_chunk_bytes, self._definition_chunk_bytes = anchor_chunk_bytes(anchor, name)
        self.resolution, self.offset = 1_000_000_000, 0
        self._strings: dict[int, str] = {}
        self._regions: dict[int, int] = {}
        self._groups: dict[int, tuple[int, int, list[int]]] = {}
        self._comms: dict[int, tuple[int, int]] = {}
        self.locations: list[int] = []
        self._read_definitions()
        self.ranks = self._find_ranks()
        """The location of each rank."""

    def event_file(self, location: int) -> Path:
        """The file with the events of a location; UsageError where it is missing."""
        path = self.anchor.with_suffix("") / f"{location}.evt"
        if not path.is_file():
            raise UsageError(f"{self.name}: incomplete: {path.parent.name}/{path.name} is missing")
        return path

    def region_name(self, region: int) -> str:
        """The name of a region, empty where it has none."""
        return self._strings.get(self._regions.get(region, -1), "")

    def communicators(self) -> dict[int, list[int] | None]:
        """The ranks in the world of each communicator; None where each rank is alone."""
        found: dict[int, list[int] | None] = {}
        for number, (_, group) in self._comms.items():
            kind, _, members = self._groups.get(group, (0, 0, []))
            if kind == _COMM_SELF:
                found[number] = None
            elif kind == _COMM_GROUP:
                found[number] = members
        return found

    def communicator_name(self, number: int) -> str:
        """The name of a communicator, empty where it has none."""
        return self._strings.get(self._comms.get(number, (-1, -1))[0], "")

    def location(self, number: int) -> Location:
        """What the definitions of one location say; nothing where it has none."""
        found = Location()
        path = self.anchor.with_suffix("") / f"{number}.def"
        if not path.is_file():
            return found
        name = f"{self.name}: {path.parent.name}/{path.name}"
        for kind, _, values in records(path, name, self._definition_chunk_bytes, stamped=False):
            with _whole(name):
                if kind == _MAPPING:
                    what = values.byte()
                    table = {_MAPPED_REGIONS: found.regions, _MAPPED_COMMUNICATORS: found.communicators}.get(what)
                    if table is not None:
                        table.update(_id_map(values))
                elif kind == _CLOCK_OFFSET:
                    found.clock.append((values.full(), values.signed()))
        found.clock.sort()
        return found

    def _read_definitions(self) -> None:
        path = self.anchor.with_suffix(".def")
        if not path.is_file():
            raise UsageError(f"{self.name}: incomplete: {path.name} is missing")
        name = f"{self.name}: {path.name}"
        for kind, _, values in records(path, name, self._definition_chunk_bytes, stamped=False):
            with _whole(name):
                self._define(kind, values)
        if self.resolution <= 0:
            raise UsageError(f"{name}: broken: a clock of {self.resolution} ticks a second")

    def _define(self, kind: int, values: Values) -> None:
        if kind == _CLOCK:
            self.resolution, self.offset = values.integer(), values.integer()
        elif kind == _STRING:
            number = values.integer()
            self._strings[number] = values.text()
        elif kind == _LOCATION:
            self.locations.append(values.integer())
        elif kind == _REGION:
            number = values.integer()
            self._regions[number] = values.integer()
        elif kind == _GROUP:
            number, _, _ = values.integer(), values.integer(), values.byte()
            members = [values.integer() for _ in range(values.integer())]
            self._groups[number] = (values.byte(), values.byte(), members)
        elif kind == _COMM:
            number, string = values.integer(), values.integer()
            self._comms[number] = (string, values.integer())

    def _find_ranks(self) -> list[int]:
        for kind, paradigm, members in self._groups.values():
            if kind == _COMM_LOCATIONS and paradigm == _MPI:
                return members
        raise UsageError(f"{self.name}: no trace of an MPI program: it defines no ranks")


def _id_map(values: Values) -> dict[int, int]:
    count, sparse = values.integer(), values.byte()
    if sparse:
        return {values.integer(): values.integer() for _ in range(count)}
    return {number: values.integer() for number in range(count)}


class _whole:  # noqa: N801 - reads as a word
    """Turns the end of a record in the midst of a value into UsageError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (IndexError, ValueError)):
            raise UsageError(f"{self._name}: broken: a record ends inside a value") from None

"""DUMPI traces as text, as `dumpi2ascii` prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from laneway.errors import UsageError
from laneway.traces.dumpi import Record
from laneway.traces.dumpi_functions import functions

_CALL = re.compile(r"(MPI\w*) (entering|returning) at walltime (\d+)\.(\d{9}), cputime (\d+)\.(\d{9})")
_FIELD = re.compile(r"\w+ (\w+)(?:\[-?\d+\])*=(.*)")
_STATUS = re.compile(r"\{bytes=(-?\d+), cancelled=(-?\d+), source=(-?\d+), tag=(-?\d+)")
_SIZE = re.compile(r"Datatype \d+ \(\S+\) has size (-?\d+)")
_INTEGER = re.compile(r"-?\d+")
MOST_LINE = 1 << 24
"""Characters of a line: more than the statuses of any call take."""


class DumpiAscii:
    """The calls of one rank. `name` is what errors call the file."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.type_sizes: list[int] = []
        with path.open(errors="replace") as file:
            while line := file.readline(MOST_LINE):
                if found := _SIZE.match(line):
                    self.type_sizes.append(int(found[1]))

    def records(self, wanted: frozenset[str]) -> Iterator[Record]:
        """All calls in order. Fields are given of those functions alone that are `wanted`."""
        kinds = {name: dict(fields) for name, fields in functions() if fields is not None and name.startswith("MPI")}
        begun: tuple[str, int] | None = None
        fields: dict[str, Any] = {}
        number = 0
        with self.path.open(errors="replace") as file:
            while line := file.readline(MOST_LINE):
                number += 1
                if found := _CALL.match(line):
                    name, time = found[1], _time(found)
                    if found[2] == "entering":
                        if name not in kinds:
                            raise self._broken(number, f"{name} is no function of MPI that DUMPI knows")
                        begun, fields = (name, time), {}
                    elif begun is None or begun[0] != name:
                        raise self._broken(number, f"{name} returns, but was not entered")
                    else:
                        missing = {field for field, kind in kinds[name].items() if kind in "bhiq"} - fields.keys()
                        if name in wanted and missing:
                            raise self._broken(number, f"{name} lacks {min(missing)}")
                        yield Record(name, begun[1], time, _complete(fields, kinds[name]) if name in wanted else {})
                        begun = None
                elif begun is not None and begun[0] in wanted and (found := _FIELD.match(line)):
                    kind = kinds[begun[0]].get(found[1])
                    if kind is not None:
                        fields[found[1]] = self._value(kind.lstrip("?"), found[2], number)
        if begun is not None:
            raise self._broken(number, f"it ends inside {begun[0]}")

    def _value(self, kind: str, text: str, number: int) -> Any:
        if kind == "S":
            statuses = (tuple(map(int, each)) for each in _STATUS.findall(text))
            return tuple((size, source, tag, cancelled) for size, cancelled, source, tag in statuses)
        if kind in "IHBJ":
            return tuple(map(int, _INTEGER.findall(text)))
        if kind not in "bhiq":
            return text
        found = _INTEGER.match(text.lstrip("["))
        if found is None or len(found[0]) > 20:
            raise self._broken(number, f"no number: {text.strip()[:40]}")
        return int(found[0])

    def _broken(self, number: int, what: str) -> UsageError:
        return UsageError(f"{self.name}: broken at line {number:,}: {what}")


def _time(found: re.Match[str]) -> int:
    """Wall time in nanoseconds, or CPU time where there is none."""
    wall = int(found[3]) * 1_000_000_000 + int(found[4])
    return wall or int(found[5]) * 1_000_000_000 + int(found[6])


def _complete(fields: dict[str, Any], kinds: dict[str, str]) -> dict[str, Any]:
    """Empty arrays in the place of those that were ignored."""
    for name, kind in kinds.items():
        if name not in fields and kind in ("S", "I", "H", "B", "J"):
            fields[name] = ()
    return fields

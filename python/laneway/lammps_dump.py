"""The text of LAMMPS's dumps: sections that begin with `ITEM:`, a time step after the other.

Described in LAMMPS's manual under `dump`, style `custom`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from laneway.errors import UsageError

LONGEST_LINE = 1 << 16
"""Characters; LAMMPS writes some twenty a column."""
NEEDED = ("id", "x", "y", "z", "vx", "vy", "vz")
OUTSIDE = 1.0
"""How far outside the box an atom may be, in sigma: between two builds of neighbour lists atoms are not wrapped."""


@dataclass(frozen=True)
class Frame:
    """A time step of a dump, in the order of its lines."""

    step: int
    box: NDArray[np.float64]
    ids: NDArray[np.int64]
    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]


def frames_of(path: Path, text: io.TextIOWrapper) -> Iterator[Frame]:
    """The time steps of a dump. UsageError, with `path` and the line, for what is none."""
    lines = _Lines(path, text)
    line = lines.read()
    if not line:
        raise UsageError(f"{path}: is empty")
    while line:
        yield _frame(lines, line)
        line = lines.read()


class _Lines:
    """The lines of a text, bounded and counted."""

    def __init__(self, path: Path, text: io.TextIOWrapper) -> None:
        self._path = path
        self._text = text
        self.number = 0

    def read(self) -> str:
        """The next line with its end; empty at the end of the file."""
        line = self._text.readline(LONGEST_LINE + 1)
        if line:
            self.number += 1
        if len(line) > LONGEST_LINE:
            self.refuse(f"the line is longer than {LONGEST_LINE} characters")
        return line

    def need(self, what: str) -> str:
        """The next line; UsageError where the file ends before `what`, or within it."""
        line = self.read()
        if not line:
            raise UsageError(f"{self._path}: ends after line {self.number}, before {what}")
        if not line.endswith("\n"):
            self.refuse("the file ends within this line")
        return line

    def refuse(self, reason: str) -> NoReturn:
        """UsageError for the line that was read last."""
        raise UsageError(f"{self._path}:{self.number}: {reason}") from None


def _frame(lines: _Lines, line: str) -> Frame:
    sections = {"TIMESTEP": _step, "NUMBER OF ATOMS": _count, "BOX BOUNDS": _box, "UNITS": _units, "TIME": _time}
    found: dict[str, Any] = {}
    while True:
        words = line.split()
        name = " ".join(word for word in words[1:] if word.isupper())
        missing = [needed for needed in ("TIMESTEP", "NUMBER OF ATOMS", "BOX BOUNDS") if needed not in found]
        if words[:1] == ["ITEM:"] and name == "ATOMS" and not missing:
            return _rows(lines, words[2:], found["TIMESTEP"], found["NUMBER OF ATOMS"], found["BOX BOUNDS"])
        if words[:1] != ["ITEM:"] or name not in sections or name in found:
            lines.refuse(f"expected ITEM: {(missing or ['ATOMS'])[0]}, not {_shown(line.strip())}")
        found[name] = sections[name](lines, words)
        line = lines.need(f"ITEM: {(missing[1:] or ['ATOMS'])[0]}")


def _step(lines: _Lines, _: list[str]) -> int:
    return _whole(lines, lines.need("the time step").strip(), "the time step")


def _count(lines: _Lines, _: list[str]) -> int:
    count = _whole(lines, lines.need("the number of atoms").strip(), "the number of atoms")
    if count < 2:
        lines.refuse(f"the number of atoms is {count}, not 2 or more")
    return count


def _units(lines: _Lines, _: list[str]) -> None:
    units = lines.need("the units").strip()
    if units != "lj":
        lines.refuse(f"units are {_shown(units)}, not lj")


def _time(lines: _Lines, _: list[str]) -> None:
    lines.need("the time")


def _box(lines: _Lines, words: list[str]) -> NDArray[np.float64]:
    kind = words[3:]
    if kind != ["pp", "pp", "pp"]:
        lines.refuse(f"the box is {_shown(' '.join(kind))}, not periodic with right angles: pp pp pp")
    box = np.empty((3, 2))
    for row, axis in zip(box, "xyz"):
        bounds = lines.need("the bounds of the box").split()
        if len(bounds) != 2:
            lines.refuse(f"two bounds of the box along {axis} are needed, not {len(bounds)}")
        row[:] = [_number(lines, word, f"a bound of the box along {axis}") for word in bounds]
        if not row[0] < row[1]:
            lines.refuse(f"the box along {axis} is empty")
    return box


def _rows(lines: _Lines, columns: list[str], step: int, count: int, box: NDArray[np.float64]) -> Frame:
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        lines.refuse(f"columns {' '.join(missing)} are missing; those needed are {' '.join(NEEDED)}")
    places = [columns.index(name) for name in NEEDED[1:]]
    id_place = columns.index("id")
    type_place = columns.index("type") if "type" in columns else None
    first_line: dict[int, int] = {}
    numbers: list[list[float]] = []
    kind = ""
    for row in range(count):
        words = lines.need(f"the last {count - row} of {count} atoms").split()
        if words[:1] == ["ITEM:"]:
            lines.refuse(f"{row} atoms only, where {count} are announced")
        if len(words) != len(columns):
            lines.refuse(f"{len(columns)} columns are announced, this row has {len(words)}")
        number = _whole(lines, words[id_place], "id")
        if first_line.setdefault(number, lines.number) != lines.number:
            lines.refuse(f"atom {number} comes twice, first in line {first_line[number]}")
        if type_place is not None:
            kind = kind or words[type_place]
            if words[type_place] != kind:
                lines.refuse(f"type is {_shown(words[type_place])}, not {_shown(kind)}: atoms are of one type")
        values = [_number(lines, words[place], name) for place, name in zip(places, NEEDED[1:])]
        _require_inside(lines, number, values, box)
        numbers.append(values)
    table = np.array(numbers)
    ids = np.fromiter(first_line, np.int64, count)
    return Frame(step, box, ids, table[:, :3], table[:, 3:])


def _require_inside(lines: _Lines, number: int, values: list[float], box: NDArray[np.float64]) -> None:
    for name, x, (low, high) in zip("xyz", values, box.tolist()):
        if not low - OUTSIDE <= x <= high + OUTSIDE:
            lines.refuse(f"atom {number} is outside the box: {name} is {x!r}, the box is from {low!r} to {high!r}")


def _whole(lines: _Lines, word: str, name: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        lines.refuse(f"{name} is {_shown(word)}, no whole number")
    return int(word)


def _number(lines: _Lines, word: str, name: str) -> float:
    try:
        value = float(word.replace("_", "?"))  # which only Python's own numbers have
    except ValueError:
        lines.refuse(f"{name} is {_shown(word)}, no number")
    if value - value != 0:
        lines.refuse(f"{name} is {_shown(word)}, not finite")
    return value


def _shown(word: str) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in word[:40])
    return f"'{text}{'...' if len(word) > 40 else ''}'"

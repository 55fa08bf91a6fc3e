"""Tables of energies in LAMMPS's logs, as `thermo_style custom step temp ...` prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laneway.compressed import DAMAGED, damage, text_of
from laneway.errors import UsageError, reason_of
from laneway.file_names import PathLike, as_path


@dataclass(frozen=True, eq=False)
class ThermoTable:
    """The last table of a log."""

    steps: NDArray[np.int64]
    columns: dict[str, NDArray[np.float64]]
    """By LAMMPS's names, such as `Temp` and `TotEng`; one number a step."""
    seconds: float
    """What LAMMPS says that the run took; 0 where it does not say it."""


def read_thermo(path: PathLike) -> ThermoTable:
    """Read the last table of a log, plain, gzip or xz. The log may be that of a run that goes on: a last line without
    its end, of which only a part may be there, does not count. Raises UsageError, naming the line, for a file without a
    table, and rows that are none."""
    file = as_path(path, "the name of the log")
    try:
        with file.open("rb") as opened:
            return _Reader(str(file)).read(text_of(opened, opened.peek(6)).read())
    except OSError as error:
        raise UsageError(f"{file}: {reason_of(error)}") from None
    except DAMAGED as error:
        raise UsageError(f"{file}: {damage(error)}") from None


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._titles: list[str] = []
        self._rows: list[list[float]] = []
        self._seconds = 0.0

    def read(self, text: str) -> ThermoTable:
        inside = False
        for number, line in enumerate(text.split("\n")[:-1], 1):
            words = line.split()
            if words[:1] == ["Step"]:
                inside, self._titles, self._rows, self._seconds = True, words, [], 0.0
            elif line.startswith("Loop time of"):
                inside = False
                found = re.match(r"Loop time of ([0-9.e+-]+) on", line)
                self._seconds = float(found.group(1)) if found else 0.0
            elif inside and words and re.fullmatch(r"\d{1,18}", words[0], re.ASCII):  # others are warnings
                self._rows.append(self._row(number, words))
        if not self._rows:
            raise UsageError(f"{self._name}: has no table of energies, which begins with Step")
        columns = {title: np.array(values) for title, values in zip(self._titles, zip(*self._rows))}
        return ThermoTable(columns.pop("Step").astype(np.int64), columns, self._seconds)

    def _row(self, number: int, words: list[str]) -> list[float]:
        if len(words) != len(self._titles):
            raise UsageError(
                f"{self._name}:{number}: the table has {len(self._titles)} columns, this row has {len(words)}"
            )
        try:
            return [float(word) for word in words]
        except ValueError:
            raise UsageError(f"{self._name}:{number}: a row has other things than numbers") from None

"""What a program's command tells the frame that all commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np

from laneway._core import Report
from laneway.verification import Verification

Row = tuple[str, str]


@dataclass(frozen=True)
class Account:
    """One finished run in the program's own words."""

    subject: str
    """What it ran on, after the command's name in titles: "NY.gr from vertex 1"."""
    headline: str
    """What came out, in a few words below the title of the plot."""
    report: Report
    rows: Sequence[Row]
    """Own rows of the table: sizes, result, work."""
    fields: Mapping[str, Any]
    """Own parts of the JSON report in plain numbers: input and parameters, `work`, `result`."""
    verify: Callable[[], Verification]
    """Compares the result with the program's reference."""
    arrays: Mapping[str, Any] = field(default_factory=dict)
    """NumPy arrays that --output writes as .npz, unless `write` does it."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Times between reading and running, by name."""
    write: Callable[[Path], None] | None = None
    """Writes --output in a format of its own."""
    files: Mapping[Path, Callable[[Path], None]] = field(default_factory=dict)
    """What writes the files that the body has had prepared by `Job.prepare`."""

    def write_output(self, file: Path) -> None:
        """Write --output to `file`."""
        if self.write is not None:
            self.write(file)
            return
        with file.open("wb") as stream:
            np.savez(stream, **self.arrays)


def printable(path: str) -> str:
    """A path with ? for what cannot be printed: line ends, bytes that are no text."""
    return "".join(letter if letter.isprintable() else "?" for letter in path)

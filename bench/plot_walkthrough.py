"""Draws the picture of docs/guides/walkthrough.md from a recorded run, by the code of the page itself. With --record it
makes the run, as the page has it, and writes the record first.

.venv/bin/python bench/plot_walkthrough.py bench/results/2026-11-23-cpu-lyapunov.npz docs/images/lyapunov.png
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import laneway as lw
import numpy as np

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "walkthrough.md"


def cell(words: str) -> str:
    """The code of the page's cell that has these words."""
    cells = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return next(code for code in cells if words in code)


def record(file: Path) -> None:
    names: dict[str, object] = {"lw": lw, "rates": np.linspace(2, 4, 161)}
    exec(cell("lw.sweep("), names)
    found = names["found"]
    assert isinstance(found, lw.SweepResult)
    axes = {name: axis.astype(np.float64) for name, axis in found.axes.items()}
    np.savez_compressed(file, values=found.values.astype(np.float32), formula=found.formula, **axes)  # type: ignore[arg-type]


def draw(file: Path, picture: Path) -> None:
    with np.load(file) as recorded:
        axes = {name: recorded[name] for name in recorded.files if name not in ("values", "formula")}
        found = lw.SweepResult(str(recorded["formula"]), axes, recorded["values"])
    names: dict[str, object] = {"np": np, "found": found}
    exec(cell('savefig("lyapunov.png")').replace('"lyapunov.png"', repr(str(picture))), names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="The record, .npz.")
    parser.add_argument("picture", type=Path, help="The picture, .png.")
    parser.add_argument("--record", action="store_true", help="Make the run, and write the record.")
    given = parser.parse_args()
    if given.record:
        record(given.file)
    draw(given.file, given.picture)


if __name__ == "__main__":
    main()

"""Draws from a record how simulations fill a GPU: one of them over the lanes of a warp, and many over its workers.

.venv/bin/python bench/plot_md.py bench/results/2026-11-29-h200.json docs/images/md.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLORS = ["#1b6ca8", "#c8553d"]

Row = dict[str, object]


def rows_of(record: dict[str, object], part: str) -> list[Row]:
    """The rows of a part of bench_md."""
    rows = record["rows"]
    assert isinstance(rows, list)
    return [row for row in rows if row.get("benchmark") == "md" and row["what"] == part]


def number(row: Row, name: str) -> float:
    """A number of a row."""
    return float(str(row[name]))


def draw_lanes(axes: Axes, rows: list[Row]) -> None:
    """Speed-up of one simulation over one lane."""
    for color, atoms in zip(COLORS, sorted({number(row, "atoms") for row in rows}), strict=False):
        points = sorted((number(row, "n"), number(row, "share")) for row in rows if number(row, "atoms") == atoms)
        axes.plot(*zip(*points, strict=True), "o-", color=color, ms=4, label=f"{atoms:.0f} atoms")
    axes.plot([1, 32], [1, 32], "k:", lw=1, label="ideal")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axes.set_yticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axes.set_xlabel("lanes of a warp that share a simulation")
    axes.set_ylabel("speed-up over one lane")


def draw_universes(axes: Axes, rows: list[Row]) -> None:
    """Steps a second of all simulations together, over their number."""
    points = sorted(
        (number(row, "universes"), number(row, "universes") * number(row, "steps") / number(row, "median_s"))
        for row in rows
    )
    axes.plot(*zip(*points, strict=True), "o-", color=COLORS[0], ms=4, label="256 atoms each")
    first = points[0]
    axes.plot([1, points[-1][0]], [first[1], first[1] * points[-1][0]], "k:", lw=1, label="ideal")
    axes.set_ylim(first[1] / 2, 4 * points[-1][1])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("simulations")
    axes.set_ylabel("steps a second, all together")


def main() -> int:
    """The command."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    record = json.loads(Path(sys.argv[1]).read_text())
    figure = Figure(figsize=(9, 3.6))
    left, right = figure.subplots(1, 2)
    draw_lanes(left, rows_of(record, "lanes"))
    draw_universes(right, rows_of(record, "universes"))
    for axes in (left, right):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())

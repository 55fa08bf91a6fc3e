"""Draws how fast engines match from records of measurements: over the length of queues, and over engines, by rule.

.venv/bin/python bench/plot_matching.py bench/results/2026-11-24-h100-matching.json docs/images/matching.png
.venv/bin/python bench/plot_matching.py bench/results/2026-11-29-h200.json \
    bench/results/2026-11-30-h200-x2-memory.json docs/images/matching-h200.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Rule and team, as bench_matching names them: what it is called in the picture, its color and its line.
SERIES = {
    ("mpi", "block"): ("MPI's order, a block", "#1b6ca8", "-"),
    ("mpi", "warp"): ("MPI's order, a warp", "#1b6ca8", "--"),
    ("no_any_source", "block"): ("no any-source, a block", "#8a5a9e", "-"),
    ("no_any_source", "warp"): ("no any-source, a warp", "#8a5a9e", "--"),
    ("exact", "block"): ("no wildcards, a block", "#588157", "-"),
    ("exact", "warp"): ("no wildcards, a warp", "#588157", "--"),
    ("unordered", "lanes"): ("no order, all lanes", "#c8553d", "-"),
}
# Klenk 2017, one Pascal GPU, millions of matches a second: in MPI's order, and the range of relaxed rules.
KLENK_ORDERED = 6.0
KLENK_RELAXED = (60.0, 512.0)

Row = dict[str, object]
Points = dict[float, float]


def number(row: Row, name: str) -> float:
    """A number of a row."""
    return float(str(row[name]))


def rows_of(record: dict[str, object]) -> list[Row]:
    """Those of the record, and of its runs."""
    parts = [record, *cast("list[dict[str, object]]", record.get("runs", []))]
    return [row for part in parts for row in cast("list[Row]", part["rows"])]


def series_over(rows: list[Row], along: str, fixed: str, value: float) -> dict[tuple[str, str], Points]:
    """Millions of matches a second over `along` where `fixed` has this value, of each rule and team."""
    found: dict[tuple[str, str], Points] = {}
    for row in rows:
        if row.get("benchmark") != "matching" or row.get("mode", "queues") != "queues":
            continue
        if number(row, "wildcards") != 0 or number(row, fixed) != value:
            continue
        points = found.setdefault((str(row["rule"]), str(row["team"])), {})
        points[number(row, along)] = number(row, "million_matches_per_s")
    return found


def draw(axes: Axes, found: dict[tuple[str, str], Points], label: str) -> None:
    """One panel, with Klenk's figures behind."""
    axes.axhspan(*KLENK_RELAXED, color="#d0d0d0", alpha=0.5, lw=0, label="Klenk 2017, relaxed rules")
    axes.axhline(KLENK_ORDERED, color="#808080", lw=1, ls=":", label="Klenk 2017, MPI's order")
    for key, (name, color, line) in SERIES.items():
        points = sorted(found.get(key, {}).items())
        if len(points) > 1:
            axes.plot(*zip(*points, strict=True), line, color=color, marker="o", ms=3, lw=1.5, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.grid(True, which="major", alpha=0.3)


def main() -> None:
    """Reads the records, of one kind of machine, and writes the picture."""
    records = [json.loads(Path(name).read_text()) for name in sys.argv[1:-1]]
    rows = [row for record in records for row in rows_of(record)]
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw(left, series_over(rows, "entries", "engines", 1), "receives posted, one engine")
    draw(right, series_over(rows, "engines", "entries", 1024), "engines, 1,024 receives posted in each")
    left.set_ylabel("million matches a second")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(str(records[0]["machine"]), fontsize=9)
    figure.savefig(sys.argv[-1], dpi=150)


if __name__ == "__main__":
    main()

"""Draws from a record what pools of tasks do: the share of the time that workers work, and tasks a second.

.venv/bin/python bench/plot_tasks.py bench/results/2026-11-27-h200-x4.json docs/images/tasks.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# How tasks are given, as bench_tasks names it: what it is called in the picture, and its color.
SERIES = {
    "same": ("a batch, the same arguments", "#1b6ca8"),
    "batch": ("a batch, each its own", "#588157"),
    "single": ("one by one", "#c8553d"),
    "spawned": ("spawned by tasks", "#7b5ea7"),
}
LINES = [("-", "o"), ("--", "s"), (":", "^")]
# GeMTC, one K20X with 168 workers: 90 % of the time at 5 ms, and so many tasks a second with and without bundles.
GEMTC_LENGTH_US, GEMTC_SHARE = 5000.0, 0.9
GEMTC_RATES = (22_000.0, 6_000.0)

Row = dict[str, object]


def rows_of(record: dict[str, object], unit: str) -> list[Row]:
    """The rows of bench_tasks in this unit."""
    rows = record["rows"]
    assert isinstance(rows, list)
    return [row for row in rows if row.get("benchmark") == "tasks" and row.get("unit") == unit]


def number(row: Row, name: str) -> float:
    """A number of a row."""
    return float(str(row[name]))


def draw_shares(axes: Axes, rows: list[Row], devices: list[str]) -> None:
    """The share of the time that workers work, over the length of a task."""
    for (line, marker), where in zip(LINES, devices, strict=False):
        for what, (name, color) in SERIES.items():
            found = [row for row in rows if row["devices"] == where and row["what"] == what]
            points = sorted((number(row, "task_us"), number(row, "median")) for row in found)
            if points:
                axes.plot(*zip(*points, strict=True), line, color=color, marker=marker, ms=4, label=f"{name}, {where}")
    axes.plot([GEMTC_LENGTH_US], [GEMTC_SHARE], "k*", ms=8, label="GeMTC 2014, one K20X")
    axes.set_xscale("log")
    axes.set_xlabel("length of a task, µs")
    axes.set_ylabel("share of the time that workers work")
    axes.grid(True, which="major", alpha=0.3)


def draw_rates(axes: Axes, rows: list[Row], devices: list[str]) -> None:
    """Empty tasks a second, by how they are given."""
    bars = [
        (f"{SERIES[str(row['what'])][0]}, {row['devices']}", number(row, "median") * 1e6, SERIES[str(row["what"])][1])
        for where in devices
        for row in rows
        if row["devices"] == where
    ]
    bars += [("GeMTC 2014, bundles of 100", GEMTC_RATES[0], "#808080"), ("GeMTC 2014", GEMTC_RATES[1], "#808080")]
    names, values, colors = zip(*reversed(bars), strict=True)
    axes.barh(names, values, color=colors, height=0.6)
    axes.set_xscale("log")
    axes.set_xlabel("empty tasks a second")
    axes.tick_params(axis="y", labelsize=7)


def main() -> None:
    """Reads the record and writes the picture."""
    record = json.loads(Path(sys.argv[1]).read_text())
    shares, rates = rows_of(record, "efficiency"), rows_of(record, "million_tasks_per_second")
    devices = list(dict.fromkeys(str(row["devices"]) for row in rates))
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_shares(left, shares, devices)
    draw_rates(right, rates, devices)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7, frameon=False, handlelength=4)
    figure.suptitle(str(record["machine"]), fontsize=9)
    figure.savefig(sys.argv[2], dpi=150)


if __name__ == "__main__":
    main()

"""Draws the figures of docs/groute.md from the records of measurements: transfers, and programs over GPUs of one host.

.venv/bin/python bench/plot_groute.py bench/results docs/images
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from math import floor, log10
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

WAYS = {"engine": ("copy engine", "#1b6ca8"), "kernel": ("kernel", "#c8553d"), "rule": ("the rule", "#9aa5b1")}
LAYOUTS = {"whole": "contiguous", "rows": "rows of 16 bytes"}
ROW_BYTES = 16
UPDATES = {"mailbox": ("messages of 4 bytes", "#1b6ca8"), "raw atomics": ("remote atomics", "#c8553d")}

PROGRAMS_X4 = "2026-11-21-h200-x4.json"
TO_HOST = "2026-11-24-h200-channels-tasks.json"
GRAPHS_X4 = "2026-11-27-h200-x4.json"
GRAPHS_X2 = "2026-11-29-h200-x2.json"
PUSH_X2 = "2026-11-30-h200-x2-whole.json"
EIGHT_THREADS = "2026-11-29-h200-recursion.json"

KRONECKER, ROADS, GRID = "kronecker:21:180000000", "data/USA-road-d.NY.gr.gz", "grid:6000:4000:59500000"
WIDER = "kronecker:22:128000000"


class Series(NamedTuple):
    """A line of a figure: what a program took on a graph, of one record."""

    label: str
    record: str
    program: str
    graph: str
    color: str
    style: str = "o-"


SEARCH = [
    Series("grid, 24 M vertices", PROGRAMS_X4, "bfs", GRID, "#588157"),
    Series("roads of New York", PROGRAMS_X4, "bfs", ROADS, "#b8860b"),
    Series("Kronecker, 180 M arcs", PROGRAMS_X4, "bfs", KRONECKER, "#1b6ca8"),
    Series("the same by levels", GRAPHS_X2, "bfs-levels", KRONECKER, "#1b6ca8", "s--"),
    Series("Kronecker, 128 M arcs, by levels", GRAPHS_X4, "bfs-levels", WIDER, "#8d5a97", "s--"),
]
PATHS = [
    Series("grid, 24 M vertices", PROGRAMS_X4, "sssp", GRID, "#588157"),
    Series("roads of New York", PROGRAMS_X4, "sssp", ROADS, "#b8860b"),
    Series("Kronecker, 180 M arcs", PROGRAMS_X4, "sssp", KRONECKER, "#1b6ca8"),
]
RANKS = [
    Series("residual push, 180 M arcs", PUSH_X2, "pagerank-push", KRONECKER, "#1b6ca8", "s--"),
    Series("rounds, 128 M arcs", GRAPHS_X4, "pagerank", WIDER, "#8d5a97"),
]
COMPONENTS = [
    Series("router, 180 M arcs", GRAPHS_X2, "cc-router", KRONECKER, "#1b6ca8", "s--"),
    Series("router, 128 M arcs", GRAPHS_X4, "cc-router", WIDER, "#8d5a97", "s--"),
    Series("router, 180 M arcs, 8 host threads", EIGHT_THREADS, "cc-router", KRONECKER, "#c8553d", "s"),
    Series("Afforest, 128 M arcs", GRAPHS_X4, "cc", WIDER, "#8d5a97"),
    Series("Afforest, 180 M arcs", GRAPHS_X2, "cc", KRONECKER, "#1b6ca8"),
]


def gpus(devices: str) -> int:
    """Number of GPUs that a device list names: cuda:0, cuda:0-3."""
    first, _, last = devices.removeprefix("cuda:").partition("-")
    return int(last or first) - int(first) + 1


def program_runs(record: dict[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Program, graph, devices and milliseconds of each run of a record, be it a row or a line as printed."""
    for row in record.get("rows", []):
        if row.get("bench", row.get("benchmark")) == "graphs" and "median_s" in row:
            scale = row["vertices"].bit_length() - 1
            yield row["program"], f"kronecker:{scale}:{row['arcs']}", row["devices"], row["median_s"] * 1e3
        elif row.get("benchmark") == "graphs" and row.get("host_threads") == 8:
            yield row["program"], KRONECKER, row["devices"], row["seconds"] * 1e3
        elif row.get("kind") in ("bfs", "sssp") and str(row["devices"]).startswith("cuda"):
            yield row["kind"], row["graph"], row["devices"], row["median_s"] * 1e3
    for command, lines in record.get("others", {}).items():
        options = re.search(r"^bench_graphs .*--scale (\d+) --arcs (\d+)", command)
        if options is None:
            continue
        for line in lines:
            if found := re.match(r"(\S+)\s+(cuda:\S+)\s+([\d.]+) ms", line):
                yield found[1], f"kronecker:{options[1]}:{options[2]}", found[2], float(found[3])


def times(records: Path, one: Series) -> dict[int, float]:
    """Milliseconds by number of GPUs; of several runs the median."""
    runs: dict[int, list[float]] = {}
    for program, graph, devices, ms in program_runs(json.loads((records / one.record).read_text())):
        if (program, graph) == (one.program, one.graph):
            runs.setdefault(gpus(devices), []).append(ms)
    return {n: median(all_of_n) for n, all_of_n in sorted(runs.items())}


def transfers(records: Path) -> dict[str, dict[tuple[str, str, int], float]]:
    """GB a second by layout, way and bytes of a packet: to the host, and to another GPU."""
    to_host: dict[tuple[str, str, int], float] = {}
    for command, lines in json.loads((records / TO_HOST).read_text())["outputs"].items():
        for line in lines if command.startswith("bench_link_copies") else []:
            found = re.match(r"cuda:0 +(\w+) +rows +(\d+) +packets +(\d+) +(\w+) +median .* ([\d.]+) GB/s", line)
            if found and int(found[2]) == ROW_BYTES:
                to_host[found[1], found[4], int(found[3])] = float(found[5])
    to_gpu = {
        (row["shape"], row["way"], row["packet_bytes"]): row["bytes"] / row["median_s"] / 1e9
        for row in json.loads((records / GRAPHS_X2).read_text())["rows"]
        if row.get("benchmark") == "link_copies" and row["row_bytes"] == ROW_BYTES
    }
    return {"From an H200 to its host": to_host, "From an H200 to another": to_gpu}


def update_rates(records: Path) -> dict[str, dict[int, float]]:
    """G random updates a second by number of GPUs, as messages and as remote atomics."""
    rates: dict[str, dict[int, float]] = {style: {} for style in UPDATES}
    for row in json.loads((records / PROGRAMS_X4).read_text())["rows"]:
        if row.get("bench") == "random updates":
            rates[row["style"]][gpus(row["devices"])] = row["g_updates_per_s"]
    return rates


def finish(axes: Axes, title: str) -> None:
    """What all parts of the figures have."""
    axes.set_title(title, loc="left", weight="bold", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7)


def draw_transfers(axes: Axes, title: str, rates: dict[tuple[str, str, int], float]) -> None:
    """Bars by layout and size of packets, for each way to copy."""
    groups = sorted({(size, shape) for shape, _, size in rates}, key=lambda group: (group[0], group[1] != "whole"))
    for place, (way, (name, color)) in enumerate(WAYS.items()):
        values = [rates.get((shape, way, size), 0.0) for size, shape in groups]
        axes.bar([i + 0.27 * (place - 1) for i in range(len(groups))], values, 0.25, color=color, label=name)
    sizes = {65536: "64 KiB", 1048576: "1 MiB"}
    axes.set_xticks(range(len(groups)), [f"{sizes[size]},\n{LAYOUTS[shape]}" for size, shape in groups], fontsize=7)
    axes.set_ylabel("GB/s")
    finish(axes, title)


def draw_programs(axes: Axes, title: str, records: Path, series: list[Series]) -> None:
    """Milliseconds over GPUs, both by logarithm, from the decade of the least to that of the most."""
    decades = [floor(log10(ms)) for one in series for ms in times(records, one).values()]
    ticks = [10**i for i in range(min(decades), max(decades) + 2)]
    for one in series:
        points = times(records, one)
        axes.plot(list(points), list(points.values()), one.style, color=one.color, ms=4, label=one.label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(ticks[0], ticks[-1])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks([1, 2, 4], ["1", "2", "4"])
    axes.set_xlabel("GPUs")
    axes.set_ylabel("ms")
    finish(axes, title)


def draw_updates(axes: Axes, records: Path) -> None:
    """Random updates a second of all GPUs together."""
    rates = update_rates(records)
    for style, (name, color) in UPDATES.items():
        axes.plot(list(rates[style]), list(rates[style].values()), "o-", color=color, ms=4, label=name)
    axes.set_xticks([1, 2, 4])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("GPUs")
    axes.set_ylabel("G/s")
    finish(axes, "Random updates, all together")


def main() -> None:
    """Reads the records and writes the pictures, the same bytes each time."""
    records, pictures = Path(sys.argv[1]), Path(sys.argv[2])
    matplotlib.rcParams["svg.hashsalt"] = "groute"
    matplotlib.rcParams["svg.fonttype"] = "none"
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    parts = figure.subplots(1, 3)
    draw_updates(parts[0], records)
    for axes, (title, rates) in zip(parts[1:], transfers(records).items(), strict=True):
        draw_transfers(axes, title, rates)
    figures = {"transfers": figure}
    for name, drawn in (
        ("paths", {"Breadth-first search": SEARCH, "Shortest paths": PATHS}),
        ("pagerank", {"PageRank, Kronecker graphs": RANKS}),
        ("components", {"Connected components, Kronecker graphs": COMPONENTS}),
    ):
        figures[name] = Figure(figsize=(4.4 * len(drawn), 3.6), layout="constrained")
        for axes, (title, series) in zip(
            figures[name].subplots(1, len(drawn), squeeze=False)[0], drawn.items(), strict=True
        ):
            draw_programs(axes, title, records, series)
    for name, figure in figures.items():
        figure.savefig(pictures / f"groute-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()

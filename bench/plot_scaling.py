"""Draws how the programs scale from a record of measurements: speed-up over one GPU, and updates a GPU beside peers.

.venv/bin/python bench/plot_scaling.py bench/results/2026-11-21-h200-messages.json docs/images/scaling.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

COLORS = {
    "gups": "#1b6ca8",
    "kmer": "#c8553d",
    "indegree": "#588157",
    "pagerank": "#8d5a97",
    "color": "#b8860b",
    "color-kronecker": "#d9c58f",
    "kmeans": "#4a4a4a",
}
UPDATES = {
    "free": ("Laneway", "#1b6ca8"),
    "raw": ("remote atomics", "#9aa5b1"),
    "nvshmem atomic_xor": ("NVSHMEM", "#c8553d"),
    "nccl rounds": ("NCCL, rounds", "#588157"),
}

Row = dict[str, object]
Rates = dict[int, float]


def gpus(devices: object) -> int:
    """Number of GPUs that a device list names: cuda:0, cuda:0-3."""
    first, _, last = str(devices).removeprefix("cuda:").partition("-")
    return int(last or first) - int(first) + 1


def program_rates(rows: list[Row]) -> dict[tuple[str, str], Rates]:
    """Work a second by number of GPUs, of each program on each input."""
    rates: dict[tuple[str, str], Rates] = {}
    for row in rows:
        n = gpus(row["devices"]) if str(row.get("devices", "")).startswith("cuda") else 0
        if row.get("bench") == "programs":
            series = rates.setdefault((str(row["program"]), str(row.get("input", ""))), {})
            series[n] = float(str(row["work_per_s"]))
        elif row.get("bench") == "random updates" and row["style"] == "free":
            rates.setdefault(("gups", "its own"), {}).setdefault(n, float(str(row["g_updates_per_s"])))
        elif row.get("bench") == "kmer":
            rates.setdefault(("kmer", "its own"), {}).setdefault(n, float(str(row["g_kmers_per_s_per_pe"])) * n)
    return rates


def best_series(parts: list[dict[str, list[Row]]]) -> dict[str, Rates]:
    """For each program the series over most GPUs on the input that was measured last."""
    found: dict[str, tuple[str, Rates]] = {}
    for part in parts:  # newest first
        for (program, input_name), rates in program_rates(part["rows"]).items():
            known, best = found.get(program, (input_name, {}))
            if 1 in rates and known == input_name and len(rates) > len(best):
                found[program] = (input_name, rates)
    return {program: rates for program, (_, rates) in found.items()}


def update_rates(parts: list[dict[str, list[Row]]]) -> dict[str, Rates]:
    """G updates a second and GPU of each way to send them, newest first."""
    found: dict[str, Rates] = {style: {} for style in UPDATES}
    for part in parts:
        for row in part["rows"]:
            if row.get("bench") == "random updates" and row["style"] in found:
                n = gpus(row["devices"])
                found[str(row["style"])].setdefault(n, float(str(row["g_updates_per_s"])) / n)
    return found


def main() -> None:
    """Read the record, write the picture."""
    record, picture = Path(sys.argv[1]), Path(sys.argv[2])
    parts = json.loads(record.read_text())["parts"]
    figure = Figure(figsize=(10, 4.2), dpi=150, layout="constrained")
    speed_up, updates = figure.subplots(1, 2)
    series = best_series(parts)
    most = max(n for rates in series.values() for n in rates)
    speed_up.plot([1, most], [1, most], color="#cccccc", linestyle="--", label="ideal")
    for program, color in COLORS.items():
        rates = series.get(program, {})
        places = sorted(rates)
        speed_up.plot(places, [rates[n] / rates[1] for n in places], marker="o", color=color, label=program)
    speed_up.set_title("Speed-up over one GPU", loc="left", weight="bold", fontsize=10)
    for style, (name, color) in UPDATES.items():
        rates = update_rates(parts)[style]
        places = sorted(rates)
        updates.plot(places, [rates[n] for n in places], marker="o", color=color, label=name)
    updates.set_title("Random 8-byte updates, G/s a GPU", loc="left", weight="bold", fontsize=10)
    updates.set_ylim(bottom=0)
    for axes in (speed_up, updates):
        axes.set_xlabel("GPUs")
        axes.set_xticks([n for n in (1, 2, 4, 8) if n <= most])
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(picture)


if __name__ == "__main__":
    main()

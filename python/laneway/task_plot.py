"""A picture of how well workers are used, by the length of tasks."""

from __future__ import annotations

from pathlib import Path

from laneway.plot import INK, OPEN, SERVED, open_frame, short_number
from laneway.programs.task_rates import TaskRates


def draw_efficiency(found: TaskRates, devices: str, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf")."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        figure = Figure(figsize=(7, 4.4), dpi=150, layout="constrained")
        figure.suptitle(f"Tasks on {devices}", x=0.012, ha="left", weight="bold", size=14)
        axes = figure.subplots()
        for (way, by_length), color in zip(found.efficiency.items(), (OPEN, SERVED)):
            label = f"{way}: {short_number(found.rates[way])} empty tasks/s"
            axes.plot(list(by_length), [100 * e for e in by_length.values()], "o-", color=color, label=label)
        axes.set_xscale("log")
        axes.set_ylim(0, 105)
        axes.set_xlabel("length of a task in µs")
        axes.set_ylabel("time that workers work, %")
        open_frame(axes)
        axes.legend(frameon=False)
        figure.savefig(file, format=kind)

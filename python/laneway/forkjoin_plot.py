"""A picture of recursive programs on channels: by workers, by the width of channels, and by depth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from laneway.plot import INK, OPEN, SERVED, open_frame
from laneway.programs.forkjoin_study import ForkJoinRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def occupancy_runs(runs: list[ForkJoinRun]) -> list[ForkJoinRun]:
    """Of each program the run that tells how full its channels are: the widest where warps keep nothing, or, where
    there is none of these, the first of the widest."""
    return [
        max((run for run in runs if run.program == program), key=lambda run: (run.sweep == "width", run.width))
        for program in dict.fromkeys(run.program for run in runs)
    ]


def draw_forkjoin(runs: list[ForkJoinRun], devices: str, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf"): of the first scheduler, if there are
    several."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    runs = [run for run in runs if run.scheduler == runs[0].scheduler]
    programs = list(dict.fromkeys(run.program for run in runs))
    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        figure = Figure(figsize=(1.5 + 3.4 * len(programs), 11.0), dpi=150, layout="constrained")
        figure.suptitle(f"Recursion on channels · {devices}", x=0.012, ha="left", weight="bold", size=14)
        panels = figure.subplots(4, len(programs), squeeze=False)
        for column, program in enumerate(programs):
            of_program = [run for run in runs if run.program == program]
            by_workers = [run for run in of_program if run.sweep == "workers"]
            by_width = [run for run in of_program if run.sweep == "width"]
            panels[0][column].set_title(f"{program} {of_program[0].size:,}", loc="left", weight="bold", size=11)
            _by_workers(panels[0][column], by_workers)
            if by_width:
                _by_width(panels[1][column], by_width)
                _by_fill(panels[2][column], by_width)
            _by_depth(panels[3][column], occupancy_runs(of_program)[0])
        panels[0][0].set_ylabel("speedup over the first")
        panels[1][0].set_ylabel("time relative to the best")
        panels[2][0].set_ylabel("share, %")
        panels[3][0].set_ylabel("elements of the fullest queue")
        for row in panels[1:3]:
            row[0].legend(frameon=False, fontsize=9, loc="upper right")
        for panel in panels[3]:
            panel.legend(frameon=False, fontsize=9, loc="upper right")
        figure.savefig(file, format=kind)


def _by_workers(axes: Axes, runs: list[ForkJoinRun]) -> None:
    places = range(len(runs))
    speedups = [runs[0].median_seconds / run.median_seconds for run in runs]
    bars = axes.bar(places, speedups, color=SERVED)
    axes.bar_label(bars, [f"{speedup:.2g}" for speedup in speedups], padding=2, fontsize=9)
    axes.set_xticks(places, [str(run.workers or "all") for run in runs])
    axes.set_xlabel("workers: blocks of each device")
    axes.margins(y=0.15)
    open_frame(axes)


def _by_width(axes: Axes, runs: list[ForkJoinRun]) -> None:
    best = min(run.median_seconds for run in runs)
    widths = [run.width for run in runs]
    times = [run.median_seconds / best for run in runs]
    axes.plot(widths, times, "o-", color=SERVED, label="time")
    turns = [run.channels.consumed / (run.channels.consumed - run.channels.yields) for run in runs]
    axes.plot(widths, turns, "s--", color=OPEN, label="dispatches of an element")
    axes.set_ylim(0, 1.15 * max(times + turns))
    _width_axis(axes)


def _by_fill(axes: Axes, runs: list[ForkJoinRun]) -> None:
    widths = [run.width for run in runs]
    axes.plot(widths, [100 * run.channels.full_share for run in runs], "o-", color=SERVED, label="full dispatches")
    peaks = [100 * min(1.0, run.channels.peak / run.width) for run in runs]
    axes.plot(widths, peaks, "s--", color=OPEN, label="fullest queue, of the width")
    axes.set_ylim(0, 105)
    _width_axis(axes)


def _by_depth(axes: Axes, run: ForkJoinRun) -> None:
    from matplotlib.ticker import MaxNLocator

    colors = {0: SERVED, 1: OPEN}
    for number, one in enumerate(run.channels.channels):
        peaks = [level.peak for level in one.levels]
        if peaks:
            name = one.name or f"channel {number}"
            axes.plot(range(len(peaks)), peaks, ".-", color=colors.get(number), label=name)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"depth, at a width of {run.width:,}")
    open_frame(axes)


def _width_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("width of channels")
    open_frame(axes)

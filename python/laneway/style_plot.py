"""A picture of the styles side by side: speed above, lines of code below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from laneway.plot import FAINT, INK, OPEN, SERVED, open_frame, short_number
from laneway.programs.styles import StyleRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_styles(runs: list[StyleRun], devices: str, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf")."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    programs = list(dict.fromkeys(run.program for run in runs))
    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        figure = Figure(figsize=(1.5 + 3.8 * len(programs), 6.4), dpi=150, layout="constrained")
        figure.suptitle(
            f"Five styles of sending small messages · {devices}", x=0.012, ha="left", weight="bold", size=14
        )
        panels = figure.subplots(2, len(programs), sharex="col", squeeze=False)
        for column, program in enumerate(programs):
            of_program = [run for run in runs if run.program == program]
            _speed(panels[0][column], program, of_program)
            _lines(panels[1][column], of_program)
        panels[1][0].legend(frameon=False, fontsize=9, loc="upper left")
        panels[0][0].set_ylabel("messages a second")
        panels[1][0].set_ylabel("lines of code")
        figure.savefig(file, format=kind)


def _speed(axes: Axes, program: str, runs: list[StyleRun]) -> None:
    axes.set_title(program, loc="left", weight="bold", size=11)
    colors = [SERVED if run.style == "laneway" else FAINT for run in runs]
    bars = axes.bar(range(len(runs)), [run.messages_per_second for run in runs], color=colors)
    axes.bar_label(bars, [short_number(run.messages_per_second) for run in runs], padding=2, fontsize=9)
    axes.yaxis.set_major_formatter(lambda value, _: short_number(value))
    _frame(axes)


def _lines(axes: Axes, runs: list[StyleRun]) -> None:
    places, own, support = range(len(runs)), [run.lines for run in runs], [run.support for run in runs]
    axes.bar(places, own, color=SERVED, label="the program")
    top = axes.bar(places, support, bottom=own, color=OPEN, alpha=0.5, label="what its style needs besides")
    axes.bar_label(top, [str(a + b) for a, b in zip(own, support)], padding=2, fontsize=9)
    axes.set_xticks(places, [run.style.replace("_", ",\n") for run in runs], rotation=35, ha="right")
    _frame(axes)


def _frame(axes: Axes) -> None:
    open_frame(axes)
    axes.margins(y=0.12)

"""A picture of one run: its progress over time and who sent to whom."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from laneway.errors import UsageError
from laneway.summary import Summary, device_ranges, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERVED, OPEN, INK, FAINT = "#1f6f8b", "#d9822b", "#22303c", "#8a98a5"
KINDS = (".png", ".svg", ".pdf")
NUMBERED_PES = 8  # more cells than 8 by 8 leave no room for numbers


def check_format(path: Path) -> None:
    """UsageError unless the file's ending names a kind of picture, and such can be drawn."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{path}: a plot's name must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    require_matplotlib()


def require_matplotlib() -> None:
    """UsageError where matplotlib cannot be loaded for its variable MPLBACKEND, which pictures do not need."""
    backend = os.environ.get("MPLBACKEND")
    if backend:  # without it there is nothing to find out before a run, and loading takes a while
        try:
            import matplotlib as mpl  # noqa: F401
        except ValueError:
            raise UsageError(f"the variable MPLBACKEND is {backend!r}, which is no backend of matplotlib") from None


def draw(summary: Summary, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf")."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    style: dict[Any, Any] = {
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(12, 5.6), dpi=150, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08, wspace=0.04))
        panels = figure.subplot_mosaic([["served", "traffic"], ["open", "traffic"]], width_ratios=[1.5, 1])
        _head(figure, summary)
        _progress(panels["served"], panels["open"], summary)
        _traffic(figure, panels["traffic"], summary)
        figure.savefig(file, format=kind)


def open_frame(axes: Axes) -> None:
    """Axes without lines above and on the right, and faint lines behind what is drawn."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, alpha=0.25)
    axes.set_axisbelow(True)


def _head(figure: Figure, summary: Summary) -> None:
    report = summary.report
    title = f"{summary.program} · {Path(summary.account.subject).name}"
    figure.suptitle(title + "\n ", parse_math=False, x=0.012, ha="left", weight="bold", size=14)
    text = f"{device_ranges(list(report.devices))}, {seconds(report.run_seconds)}: {summary.account.headline}"
    figure.text(0.012, 0.915, text, color=FAINT, va="center", parse_math=False)


def _progress(served: Axes, open_work: Axes, summary: Summary) -> None:
    samples = summary.report.progress.astype(np.float64)
    _title(served, "Messages served so far")
    _title(open_work, "Work open: created and not yet done")
    if len(samples) < 2:
        _empty(served, "the run ended before a second look at its progress")
        open_work.set_axis_off()
        open_work.set_title("")
        return
    scale, unit = _time_unit(float(samples[-1, 0]))
    time = samples[:, 0] / scale
    served.sharex(open_work)
    served.tick_params(labelbottom=False)
    for axes, values, color in ((served, samples[:, 1], SERVED), (open_work, samples[:, 2], OPEN)):
        # What was seen holds until the next look: nobody knows of a way between the two.
        axes.fill_between(time, values, step="post", color=color, alpha=0.15, linewidth=0)
        axes.step(time, values, where="post", color=color, linewidth=1.6)
        axes.set_ylim(0, max(1.0, 1.06 * float(values.max())))
        axes.set_xlim(0, time[-1])
        axes.yaxis.set_major_formatter(lambda value, _: short_number(value))
        open_frame(axes)
    open_work.set_xlabel(f"time since the start ({unit})")


def _traffic(figure: Figure, axes: Axes, summary: Summary) -> None:
    _title(axes, "Messages carried between devices")
    messages = summary.report.messages
    if not messages.any():
        _empty(axes, "one device: every message was served where it was posted")
        return
    names = list(summary.report.devices)
    shown = np.ma.masked_equal(messages, 0).astype(np.float64)
    image = axes.imshow(shown, cmap="YlGnBu", vmin=0)
    axes.set_facecolor("#f2f4f6")
    places = np.arange(len(names)) if len(names) <= NUMBERED_PES else np.arange(0, len(names), len(names) // 8)
    axes.set_xticks(places, [names[i] for i in places], rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(places, [names[i] for i in places])
    axes.set_xlabel("receiver")
    axes.set_ylabel("sender")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if len(names) <= NUMBERED_PES:
        _numbers(axes, messages)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, format=lambda value, _: short_number(value))
    bar.outline.set_visible(False)


def _numbers(axes: Axes, messages: NDArray[np.uint64]) -> None:
    half = int(messages.max()) / 2
    for (row, column), count in np.ndenumerate(messages):
        color = "white" if count > half else INK if count else FAINT
        text = "own" if row == column and not count else short_number(int(count))
        axes.text(column, row, text, ha="center", va="center", color=color, fontsize=9)


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", weight="bold", size=11)


def _empty(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=FAINT, transform=axes.transAxes, wrap=True)


def _time_unit(greatest_ns: float) -> tuple[float, str]:
    for scale, unit in ((1e9, "s"), (1e6, "ms")):
        if greatest_ns >= scale:
            return scale, unit
    return 1e3, "µs"


def short_number(value: Any) -> str:
    """A number with three digits and a letter for thousands, millions or thousand millions."""
    for scale, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= scale:
            return f"{value / scale:.3g}{unit}"
    return f"{value:.3g}"

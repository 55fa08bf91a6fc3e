"""A picture of messages: latency and bandwidth over sizes, rates over lanes, by the model of communication."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from laneway.plot import INK, open_frame
from laneway.programs.messaging_study import MODELS, MessagingRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

COLORS = dict(zip(MODELS, ("#d9822b", "#b05a12", "#1f6f8b", "#5aa7c2", "#6b4c9a", "#a98fd0")))
PEERS = ("#8a98a5", "#22303c", "#a33b4a", "#5c7f3a")


def draw_messaging(runs: Sequence[MessagingRun], devices: str, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf"): a panel for each question whose pattern
    was measured."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    measured = {run.pattern for run in runs}
    panels = [panel for panel in PANELS if panel[0] in measured]
    models = list(dict.fromkeys(run.model for run in runs))
    others = [model for model in models if model not in COLORS]
    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        columns = min(len(panels), 3)
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(0.8 + 4.2 * columns, 0.6 + 3.6 * rows), dpi=150, layout="constrained")
        figure.suptitle(f"Messages · {devices}", x=0.012, ha="left", weight="bold", size=14)
        all_axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        lines: dict[str, Line2D] = {}
        for axes, (pattern, title, unit, label, along, value) in zip(all_axes, panels):
            points = [run for run in runs if run.pattern == pattern]
            for model in models:
                own = sorted((along(run), value(run)) for run in points if run.model == model)
                if own:
                    color = COLORS.get(model) or PEERS[others.index(model) % len(PEERS)]
                    style = "-" if model in COLORS else "--"
                    (lines[model],) = axes.plot(*zip(*own), style, color=color, marker="o", label=model)
            _frame(axes, title, unit, label)
            _name_ticks(axes, sorted({along(run) for run in points}))
        for axes in all_axes[len(panels) :]:
            axes.set_axis_off()
        legend = all_axes[0].legend(list(lines.values()), list(lines), frameon=False, fontsize=9)
        for name in legend.get_texts():
            name.set_parse_math(False)  # names of a file are words, whatever they hold
        figure.savefig(file, format=kind)


def _frame(axes: Axes, title: str, unit: str, label: str) -> None:
    axes.set_title(title, loc="left", weight="bold", size=11)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylabel(unit)
    axes.set_xlabel(label)
    open_frame(axes)


def _name_ticks(axes: Axes, numbers: list[int]) -> None:
    axes.set_xticks(numbers, [_short(number) for number in numbers], fontsize=8)
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


def _short(number: int) -> str:
    """4096 is 4 Ki; others as they are."""
    for power, letter in ((20, "Mi"), (10, "Ki")):
        if number >> power and number % (1 << power) == 0:
            return f"{number >> power} {letter}"
    return f"{number:,}"


def _half_trip_us(run: MessagingRun) -> float:
    return (run.half_trip_ns or 0.0) / 1e3


def _gigabytes(run: MessagingRun) -> float:
    return run.bytes_per_second / 1e9


def _millions(run: MessagingRun) -> float:
    return run.messages_per_second / 1e6


def _bytes(run: MessagingRun) -> int:
    return run.bytes


def _groups(run: MessagingRun) -> int:
    return run.groups


PANELS: tuple[
    tuple[str, str, str, str, Callable[[MessagingRun], int], Callable[[MessagingRun], float]],
    ...,
] = (
    ("ping-pong", "half of there and back", "µs", "bytes", _bytes, _half_trip_us),
    ("ping-pong", "bandwidth of there and back", "GB/s", "bytes", _bytes, _gigabytes),
    ("rate", "messages of 8 bytes, one to one", "million a second", "lanes", _groups, _millions),
    ("stream", "bandwidth, one to one", "GB/s", "bytes", _bytes, _gigabytes),
    ("n-to-1", "bandwidth, all others to one", "GB/s into it", "bytes", _bytes, _gigabytes),
    ("all-to-all", "bandwidth, all to all", "GB/s into each", "bytes", _bytes, _gigabytes),
)
"""Pattern, title, unit, label, and what is drawn over what."""

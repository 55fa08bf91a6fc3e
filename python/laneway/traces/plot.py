"""Pictures of traces: one trace in four panels, or many side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from laneway.plot import FAINT, INK, OPEN, SERVED, short_number
from laneway.traces.result import TraceAnalysis
from laneway.traces.tables import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("send", "receive", "completion", "probe", "collective", "administration")
_MOST_TRACES = 24
"""More names than these leave no room for bars."""


def draw_traces(found: list[TraceAnalysis], file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf")."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        figure = Figure(figsize=(12, 7.2), dpi=150, layout="constrained")
        title = short_name(found[0].name) if len(found) == 1 else f"{len(found)} traces"
        figure.suptitle(title, x=0.012, ha="left", weight="bold", size=14, parse_math=False)
        panels = figure.subplots(2, 2)
        if len(found) == 1:
            _sizes(panels[0][0], found[0])
            _rates(panels[0][1], found)
            _over_time(panels[1][0], found[0])
            _queues_over_time(panels[1][1], found[0])
        else:
            shown = found[:_MOST_TRACES]
            _times(panels[0][0], shown)
            _rates(panels[0][1], shown)
            _bars(panels[1][0], shown, "posted")
            _bars(panels[1][1], [each for each in shown if each.queues.recorded], "unexpected")
        figure.savefig(file, format=kind)


def _sizes(axes: Axes, found: TraceAnalysis) -> None:
    _frame(axes, "Messages by size in bytes")
    classes = found.messages.by_bytes
    axes.bar(range(len(classes)), [each.count for each in classes], color=SERVED)
    axes.set_xticks(range(len(classes)), [f"{each.least:,}" for each in classes], rotation=35, ha="right")
    axes.yaxis.set_major_formatter(lambda value, _: short_number(value))


def _rates(axes: Axes, found: list[TraceAnalysis]) -> None:
    """Messages in intervals, as figure 4.5 of Klenk 2017 has them: from the median to the 99th percentile."""
    _frame(axes, "Messages of a rank in an interval: median to 99 %")
    for number, each in enumerate(each for each in found if each.messages.count):
        micros = [rate.interval_ns / 1000 for rate in each.rates]
        low = [max(rate.messages.median, 1) for rate in each.rates]
        high = [max(rate.messages.p99, 1) for rate in each.rates]
        color = SERVED if len(found) == 1 else f"C{number}"
        axes.plot(micros, low, "o-", color=color, markersize=3, label=short_name(each.name))
        axes.fill_between(micros, low, high, color=color, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("interval in µs")
    if 1 < len(found) <= 8:
        axes.legend(frameon=False, fontsize=8)


def _over_time(axes: Axes, found: TraceAnalysis) -> None:
    timeline = found.timeline
    _frame(axes, "Messages sent over time")
    axes.fill_between(_millis(found), timeline.messages, step="post", color=SERVED, alpha=0.3, linewidth=0)
    axes.step(_millis(found), timeline.messages, where="post", color=SERVED)
    axes.set_xlabel("time since the first call in ms")
    axes.set_ylabel(f"messages in {timeline.bin_ns / 1000:,.0f} µs")


def _queues_over_time(axes: Axes, found: TraceAnalysis) -> None:
    timeline = found.timeline
    _frame(axes, "Longest queues over time")
    axes.step(_millis(found), timeline.posted, where="post", color=SERVED, label="posted receives")
    if found.queues.recorded:
        axes.step(_millis(found), timeline.unexpected, where="post", color=OPEN, label="unexpected messages")
    axes.set_xlabel("time since the first call in ms")
    axes.margins(y=0.2)
    axes.legend(frameon=False, loc="upper right", ncols=2)


def _times(axes: Axes, found: list[TraceAnalysis]) -> None:
    _frame(axes, "Time in MPI by kind of call, %")
    left = [0.0] * len(found)
    for number, kind in enumerate(_KINDS):
        parts = []
        for each in found:
            total = sum(call.seconds for call in each.by_call.values())
            own = sum(call.seconds for call in each.by_call.values() if call.kind == kind)
            parts.append(100 * own / total if total else 0.0)
        color = FAINT if kind == "administration" else f"C{number}"
        axes.barh(range(len(found)), parts, left=left, color=color, label=kind)
        left = [a + b for a, b in zip(left, parts)]
    axes.set_yticks(range(len(found)), [short_name(each.name) for each in found], fontsize=8)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _bars(axes: Axes, found: list[TraceAnalysis], queue: str) -> None:
    """Length and search depth of a queue, as figure 4.7 of Klenk 2017 has them."""
    words = {"posted": "Posted receives", "unexpected": "Unexpected messages"}[queue]
    _frame(axes, f"{words}: length and search depth, 99 %")
    places = range(len(found))
    figures = [getattr(each.queues, queue) for each in found]
    axes.bar(
        [place - 0.2 for place in places], [each.length.p99 for each in figures], 0.4, color=SERVED, label="length"
    )
    axes.bar([place + 0.2 for place in places], [each.depth.p99 for each in figures], 0.4, color=OPEN, label="depth")
    axes.set_xticks(places, [short_name(each.name) for each in found], rotation=35, ha="right", fontsize=8)
    axes.legend(frameon=False)


def _millis(found: TraceAnalysis) -> list[float]:
    return [place * found.timeline.bin_ns / 1e6 for place in range(len(found.timeline.messages))]


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", weight="bold", size=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, alpha=0.25)
    axes.set_axisbelow(True)

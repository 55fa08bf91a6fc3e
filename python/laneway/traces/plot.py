"""Pictures of traces: one trace in eight panels, or many side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from laneway.plot import FAINT, INK, OPEN, SERVED, short_number
from laneway.traces import volume_plot
from laneway.traces.result import TraceAnalysis
from laneway.traces.tables import short_name
from laneway.traces.volume_plot import frame

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
        figure = Figure(figsize=(13, 14), dpi=150, layout="constrained")
        title = short_name(found[0].name) if len(found) == 1 else f"{len(found)} traces"
        figure.suptitle(title, x=0.012, ha="left", weight="bold", size=14, parse_math=False)
        panels = list(figure.subplots(4, 2).flat)
        if len(found) == 1:
            _of_one(panels, found[0])
        else:
            _of_many(panels, found[:_MOST_TRACES])
        figure.savefig(file, format=kind)


def _of_one(panels: list[Axes], found: TraceAnalysis) -> None:
    _sizes(panels[0], found)
    volume_plot.operation_sizes(panels[1], [found])
    volume_plot.shares_by_operation(panels[2], found)
    volume_plot.datatypes(panels[3], [found])
    _over_time(panels[4], found)
    volume_plot.volume_over_time(panels[5], found)
    _rates(panels[6], [found])
    _queues_over_time(panels[7], found)


def _of_many(panels: list[Axes], found: list[TraceAnalysis]) -> None:
    _times(panels[0], found)
    volume_plot.volume_by_operation(panels[1], found)
    volume_plot.operation_sizes(panels[2], found)
    volume_plot.datatypes(panels[3], found)
    _rates(panels[4], found)
    volume_plot.volume_per_rank(panels[5], found)
    _bars(panels[6], found, "posted")
    _bars(panels[7], [each for each in found if each.queues.recorded], "unexpected")


def _sizes(axes: Axes, found: TraceAnalysis) -> None:
    frame(axes, "Messages by size in bytes")
    classes = found.messages.by_bytes
    axes.bar(range(len(classes)), [each.count for each in classes], color=SERVED)
    axes.set_xticks(range(len(classes)), [f"{each.least:,}" for each in classes], rotation=35, ha="right")
    axes.yaxis.set_major_formatter(lambda value, _: short_number(value))


def _rates(axes: Axes, found: list[TraceAnalysis]) -> None:
    """Messages in intervals, as figure 4.5 of Klenk 2017 has them: from the median to the 99th percentile; of a single
    trace collective calls as well."""
    what = "Calls" if len(found) == 1 else "Messages"
    frame(axes, f"{what} of a rank in an interval: median to 99 %")
    lines = [(each.rates, f"C{number}", short_name(each.name)) for number, each in enumerate(found)]
    if len(found) == 1:
        lines = [(found[0].rates, SERVED, "messages"), (found[0].collective_rates, OPEN, "collective calls")]
    for rates, color, label in lines:
        if not rates[0].counts.count:
            continue
        micros = [rate.interval_ns / 1000 for rate in rates]
        low, high = [rate.counts.median for rate in rates], [rate.counts.p99 for rate in rates]
        axes.plot(micros, low, "o-", color=color, markersize=3, label=label)
        axes.fill_between(micros, low, high, color=color, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("interval in µs")
    if axes.get_lines() and len(found) <= 8:
        axes.legend(frameon=False, fontsize=8)


def _over_time(axes: Axes, found: TraceAnalysis) -> None:
    timeline = found.timeline
    frame(axes, "Messages sent over time")
    axes.fill_between(_millis(found), timeline.messages, step="post", color=SERVED, alpha=0.3, linewidth=0)
    axes.step(_millis(found), timeline.messages, where="post", color=SERVED)
    axes.set_xlabel("time since the first call in ms")
    axes.set_ylabel(f"messages in {timeline.bin_ns / 1000:,.0f} µs")


def _queues_over_time(axes: Axes, found: TraceAnalysis) -> None:
    timeline = found.timeline
    frame(axes, "Longest queues over time")
    axes.step(_millis(found), timeline.posted, where="post", color=SERVED, label="posted receives")
    if found.queues.recorded:
        axes.step(_millis(found), timeline.unexpected, where="post", color=OPEN, label="unexpected messages")
    axes.set_xlabel("time since the first call in ms")
    axes.margins(y=0.2)
    axes.legend(frameon=False, loc="upper right", ncols=2)


def _times(axes: Axes, found: list[TraceAnalysis]) -> None:
    frame(axes, "Time in MPI by kind of call, %")
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
    frame(axes, f"{words}: length and search depth, 99 %")
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

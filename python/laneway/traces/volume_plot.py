"""Panels of what operations of traces send: sizes, volume, datatypes, and volume over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from laneway.plot import FAINT, OPEN, SERVED, short_number
from laneway.traces.calls import SYNCHRONIZATIONS
from laneway.traces.result import TraceAnalysis
from laneway.traces.tables import short_name
from laneway.traces.volume import POINT_TO_POINT, Transfers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 7
"""Of datatypes and operations that have a color; all others are one."""
_OTHERS = "others"


def operation_sizes(axes: Axes, found: list[TraceAnalysis]) -> None:
    """Elements of messages and collective calls, as figure 4.2 of Klenk 2017 has them, or bytes where no trace tells
    elements: median to 99 %."""
    by_elements = any(each.elements for trace in found for each in trace.operations.values())
    frame(axes, f"{'Elements' if by_elements else 'Bytes'} by operation: median to 99 %")
    names = [name for name in _names(trace.operations for trace in found) if name not in SYNCHRONIZATIONS]
    for place, name in enumerate(names):
        own = [trace.operations[name] for trace in found if name in trace.operations]
        sizes = [each.element_sizes if by_elements else each.byte_sizes for each in own]
        for number, each in enumerate(each for each in sizes if each.count):
            at = place + 0.06 * (number - (len(sizes) - 1) / 2)
            axes.plot([at, at], [max(each.median, 1), max(each.p99, 1)], color=SERVED, alpha=0.5)
            axes.plot(at, max(each.median, 1), "o", color=SERVED, markersize=4)
    axes.set_yscale("log")
    axes.set_xlim(-0.5, max(len(names), 1) - 0.5)
    axes.set_xticks(range(len(names)), [_short(name) for name in names], rotation=35, ha="right", fontsize=8)


def shares_by_operation(axes: Axes, found: TraceAnalysis) -> None:
    """Shares of volume and of time, as figure 4.4 of Klenk 2017 has them."""
    frame(axes, "Volume and time by operation, %")
    names = _names([found.operations])
    for shift, color, label, values in (
        (-0.2, SERVED, "bytes", [found.operations[name].bytes for name in names]),
        (0.2, OPEN, "time", [found.operations[name].seconds for name in names]),
    ):
        total = sum(values)
        shares = [100 * value / total if total else 0.0 for value in values]
        axes.bar([place + shift for place in range(len(names))], shares, 0.4, color=color, label=label)
    axes.set_xticks(range(len(names)), [_short(name) for name in names], rotation=35, ha="right", fontsize=8)
    axes.legend(frameon=False)


def volume_by_operation(axes: Axes, found: list[TraceAnalysis]) -> None:
    """A bar for each trace."""
    parts = [{name: each.bytes for name, each in trace.operations.items()} for trace in found]
    _stacked(axes, "Volume by operation, %", found, parts)


def datatypes(axes: Axes, found: list[TraceAnalysis]) -> None:
    """Of messages and collective calls, as figure 4.3 of Klenk 2017 has them: a bar for each trace, or for each
    operation of a single one."""
    if len(found) == 1:
        operations = {name: each for name, each in found[0].operations.items() if each.by_datatype}
        parts = [each.by_datatype for each in operations.values()]
        _stacked_named(axes, "Datatypes by operation, %", [_short(name) for name in operations], parts)
        return
    _stacked(axes, "Datatypes, %", found, [_all_datatypes(trace.operations.values()) for trace in found])


def volume_over_time(axes: Axes, found: TraceAnalysis) -> None:
    """Bytes a second of messages, and of collectives on top."""
    timeline = found.timeline
    frame(axes, "Volume over time, bytes/s")
    times = [place * timeline.bin_ns / 1e6 for place in range(len(timeline.bytes) + 1)]
    messages = [size * 1e9 / timeline.bin_ns for size in timeline.bytes]
    series = [(messages, [0.0] * len(messages), SERVED, "messages")]
    if any(timeline.collective_bytes):
        series.insert(0, (list(timeline.bytes_per_second), messages, OPEN, "collectives"))
    for high, low, color, label in series if any(timeline.bytes_per_second) else ():
        axes.stairs(high, times, baseline=low, fill=True, color=color, alpha=0.6, label=label)
        axes.stairs(high, times, color=color, linewidth=0.8)
    axes.set_xlabel("time since the first call in ms")
    axes.yaxis.set_major_formatter(lambda value, _: short_number(value))
    axes.set_ylim(0, 1.25 * max(timeline.bytes_per_second, default=0) or 1)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, loc="upper right", ncols=2)


def volume_per_rank(axes: Axes, found: list[TraceAnalysis]) -> None:
    """Bytes a second of a rank, in all its time and while it communicates."""
    frame(axes, "Bytes/s of a rank")
    places = range(len(found))
    for shift, color, label, rates in (
        (-0.2, SERVED, "of all its time", [each.volume.of_rank.bytes for each in found]),
        (0.2, OPEN, "while it communicates", [each.volume.of_communication.bytes for each in found]),
    ):
        axes.bar([place + shift for place in places], rates, 0.4, color=color, label=label)
    axes.set_yscale("log" if any(each.volume.bytes for each in found) else "linear")
    axes.set_xticks(places, [short_name(each.name) for each in found], rotation=35, ha="right", fontsize=8)
    axes.legend(frameon=False, fontsize=8)


def frame(axes: Axes, title: str) -> None:
    """The title of a panel, and its lines."""
    axes.set_title(title, loc="left", weight="bold", size=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, alpha=0.25)
    axes.set_axisbelow(True)


def _names(operations: Iterable[dict[str, Transfers]]) -> list[str]:
    """Of operations that send something, messages first."""
    found = [name for each in operations for name, sent in each.items() if sent.count]
    return sorted(dict.fromkeys(found), key=lambda name: name != POINT_TO_POINT)


def _short(name: str) -> str:
    return name.removeprefix("MPI_")


def _all_datatypes(operations: Iterable[Transfers]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in operations:
        for name, count in each.by_datatype.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def _stacked(axes: Axes, title: str, found: list[TraceAnalysis], parts: list[dict[str, int]]) -> None:
    _stacked_named(axes, title, [short_name(each.name) for each in found], parts)


def _stacked_named(axes: Axes, title: str, bars: list[str], parts: list[dict[str, int]]) -> None:
    """A bar for each of `bars` with the shares of its parts; parts that are small everywhere are one."""
    frame(axes, title)
    shares: dict[str, float] = {}
    for each in parts:
        for name, value in each.items():
            shares[name] = max(shares.get(name, 0.0), value / sum(each.values()) if value else 0.0)
    own = sorted((name for name in shares if shares[name]), key=lambda name: -shares[name])
    left = [0.0] * len(bars)
    for number, name in enumerate([*own[:_MOST_NAMES], _OTHERS] if len(own) > _MOST_NAMES else own):
        names = own[_MOST_NAMES:] if name == _OTHERS else [name]
        width = [100 * sum(each.get(n, 0) for n in names) / (sum(each.values()) or 1) for each in parts]
        color = FAINT if name == _OTHERS else f"C{number}"
        axes.barh(range(len(bars)), width, left=left, color=color, label=_short(name))
        left = [a + b for a, b in zip(left, width)]
    axes.set_yticks(range(len(bars)), bars, fontsize=8)
    axes.set_xlim(0, 100)
    axes.invert_yaxis()
    if not own:
        axes.text(0.5, 0.5, "not told", transform=axes.transAxes, ha="center", color=FAINT)
    else:
        axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.08))

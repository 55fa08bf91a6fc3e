"""What operations of a trace send, as tables."""

from __future__ import annotations

from collections.abc import Mapping

from rich.markup import escape
from rich.table import Table

from laneway.plot import short_number
from laneway.traces.timeline import Timeline
from laneway.traces.volume import POINT_TO_POINT, Transfers

_BAR = 40
_MOST_ROWS = 16
"""Of the table over time; --json has all."""


def operations(found: Mapping[str, Transfers]) -> Table:
    """Sizes, volume and time of messages and of each collective function, those that occur."""
    table = Table(box=None, pad_edge=False)
    table.add_column("operation")
    columns = ("count", "seconds", "elements", "each: median", "99 %", "most", "bytes", "each: median", "99 %", "most")
    for column in (*columns, "of all"):
        table.add_column(column, justify="right")
    total = sum(each.bytes for each in found.values())
    for name, each in ((name, each) for name, each in found.items() if each.count):
        table.add_row(escape(name), f"{each.count:,}", f"{each.seconds:.3g}", *_sizes(each, total))
    return table


def _sizes(each: Transfers, total: int) -> list[str]:
    cells: list[str] = []
    for sum_of_all, sizes in ((each.elements, each.element_sizes), (each.bytes, each.byte_sizes)):
        known = (sum_of_all, sizes.median, sizes.p99, sizes.maximum)
        cells += [f"{number:,}" for number in known] if sizes.count else [""] * 4
    return [*cells, f"{100 * each.bytes / total:.0f} %" if total and each.byte_sizes.count else ""]


def datatypes(found: Mapping[str, Transfers]) -> Table:
    """How many messages and how many calls of collective functions have which datatype."""
    counts: dict[str, list[int]] = {}
    for operation, each in found.items():
        for name, count in each.by_datatype.items():
            counts.setdefault(name, [0, 0])[operation != POINT_TO_POINT] += count
    totals = [sum(column) for column in zip(*counts.values())]
    table = Table(box=None, pad_edge=False)
    table.add_column("datatype")
    for column in ("messages", "", "collective calls", ""):
        table.add_column(column, justify="right")
    for name, pair in sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0])):
        cells = [(f"{n:,}", f"{100 * n / total:.0f} %") if n else ("", "") for n, total in zip(pair, totals)]
        table.add_row(escape(name), *cells[0], *cells[1])
    return table


def over_time(timeline: Timeline) -> Table:
    """Bytes of messages and of collectives in pieces of the time, and bytes a second."""
    table = Table(box=None, pad_edge=False)
    for column in ("from", "messages", "their bytes", "of collectives", "bytes/s"):
        table.add_column(column, justify="right")
    table.add_column("")
    pieces = len(timeline.messages)
    step = -(-pieces // _MOST_ROWS)
    rows = []
    for start in range(0, pieces, step):
        own = slice(start, start + step)
        sums = [sum(column[own]) for column in (timeline.messages, timeline.bytes, timeline.collective_bytes)]
        width = len(timeline.messages[own]) * timeline.bin_ns
        rows.append((start * timeline.bin_ns / 1e6, *sums, sum(sums[1:]) * 1e9 / width))
    most = max(row[-1] for row in rows)
    for begin, messages, size, collective, rate in rows:
        bar = "#" * round(_BAR * rate / most) if most else ""
        numbers = (f"{number:,}" for number in (messages, size, collective))
        table.add_row(f"{begin:,.3f} ms", *numbers, short_number(rate), bar)
    return table

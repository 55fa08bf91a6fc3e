"""The pictures of a timeline, as SVG to stand in a page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
from numpy.typing import NDArray

from laneway.plot import FAINT, INK, OPEN, SERVED, short_number
from laneway.timelines.recorded import Series, Span, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 1200
"""Of a picture: what lies closer is drawn as one."""
PARTS = ("phases", "parts", "runs", "epochs")
COLORS = {"phases": "#8a98a5", "parts": "#b9a44c", "runs": "#4c6a8a", "epochs": "#7b5ea7"}
WAITS = ("#c0392b", "#8e44ad", "#d35400", "#7f6000", "#34495e")
BODY, KERNEL = "#9fc5d4", "#dfe5ea"
STREAMS = {"kernel": "#4c6a8a", "copy": "#5aa469", "call": "#7b5ea7", "wait": "#d9a441", "packet": "#b8c4ce"}
"""What streams of dataflows do, and packets that links hold, by their colours."""
MOST_PES = 16


def figures(found: Timeline) -> list[tuple[str, str, str]]:
    """Title, explanation and picture of each."""
    made = [_figure("timeline", found, _timeline, _height(found))]
    if any(name in ("messages in flight", "work open", "messages") for _, name, _ in found.counters):
        made.append(_figure("flight", found, _in_flight, 3.2))
        made.append(_figure("rates", found, _rates, 3.0))
    if any(category == "wait" for _, category in found.spans):
        made.append(_figure("waits", found, _waits, 1.2 + 0.4 * len(wait_kinds(found))))
    titles = {
        "timeline": (
            "What was done when",
            "The host's phases and runs above; of each PE the kernel (grey), warps in the body (light), stretches in "
            "which it served messages (blue), and below them lasting waits by their cause. Of a dataflow what streams "
            "of each device do, a row for each kind: kernels, copies, calls, waits, and packets in buffers of links.",
        ),
        "flight": (
            "Messages in flight, and work open",
            "Sent and not yet served, over all PEs; work that was created and not yet completed, as PE 0 knew of it.",
        ),
        "rates": ("Messages served a second", "By each PE, on average over a hundredth of the time."),
        "waits": (
            "Lasting waits by cause",
            "Sum over all lanes that waited, of the waits that were kept.",
        ),
    }
    return [(*titles[name], svg) for name, svg in made]


def wait_kinds(found: Timeline) -> list[tuple[str, float, int]]:
    """Cause, seconds of all lanes together, and number; the longest first."""
    seconds: dict[str, float] = {}
    numbers: dict[str, int] = {}
    for (_, category), spans in found.spans.items():
        for span in spans if category == "wait" else ():
            seconds[span.name] = seconds.get(span.name, 0.0) + span.end - span.begin
            numbers[span.name] = numbers.get(span.name, 0) + 1
    return [(name, seconds[name], numbers[name]) for name in sorted(seconds, key=lambda name: -seconds[name])]


def stream_kinds(found: Timeline, process: int) -> list[str]:
    """What streams of a process, which may be the host, have done."""
    return [kind for kind in STREAMS if found.spans.get((process, f"stream {kind}"))]


def _figure(name: str, found: Timeline, draw: Callable[[Axes, Timeline], None], height: float) -> tuple[str, str]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "font.size": 10,
        "text.color": INK,
        "text.parse_math": False,  # names of processes and waits are no formulas
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    # Text stays text, and names of clips and marks differ between the pictures of a page.
    with mpl.rc_context({**style, "svg.fonttype": "none", "svg.hashsalt": name}):
        figure = Figure(figsize=(11, height), layout="constrained")
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes, found)
        file = io.StringIO()
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=metadata)
    svg = file.getvalue()
    return name, re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)


def _height(found: Timeline) -> float:
    shown = [0, *found.pes[:MOST_PES]]
    streams = sum(len(stream_kinds(found, process)) for process in shown)
    return 1.4 + 0.3 * len(PARTS) + 0.75 * (len(shown) - 1) + 0.18 * streams


def _merged(spans: Iterable[Span], length: float) -> list[tuple[float, float]]:
    """Begins and lengths of the stretches that spans cover, where they are told apart by a column or more."""
    column = length / COLUMNS
    merged: list[list[float]] = []
    for span in sorted(spans, key=lambda span: span.begin):
        if merged and span.begin <= merged[-1][1] + column:
            merged[-1][1] = max(merged[-1][1], span.end)
        else:
            merged.append([span.begin, max(span.end, span.begin + column / 2)])
    return [(begin, end - begin) for begin, end in merged]


def _timeline(axes: Axes, found: Timeline) -> None:
    kinds = [name for name, _, _ in wait_kinds(found)]
    colors = {name: WAITS[min(number, len(WAITS) - 1)] for number, name in enumerate(kinds)}
    ticks: list[tuple[float, str]] = []
    row = 0.0
    first = found.begin
    scale, unit = _unit(found.end - first)

    def bars(spans: Iterable[Span], bottom: float, height: float, color: str) -> None:
        stretches = _merged(spans, found.end - first)
        pieces = [((begin - first) / scale, length / scale) for begin, length in stretches]
        if pieces:
            axes.broken_barh(pieces, (bottom, height), facecolors=color, linewidth=0)

    for part in PARTS:
        if found.spans.get((0, part)):
            bars(found.spans[0, part], row, 0.8, COLORS[part])
            ticks.append((row + 0.4, part))
            row += 1
    for process in (0, *found.pes[:MOST_PES]):
        kinds_there = stream_kinds(found, process)
        for number, kind in enumerate(kinds_there):
            bars(found.spans[process, f"stream {kind}"], row + 0.3 * number, 0.26, STREAMS[kind])
        if kinds_there:
            ticks.append((row + 0.15 * len(kinds_there), f"{found.processes[process]}, streams"))
            row += 0.3 * len(kinds_there) + 0.2
    for pe in found.pes[:MOST_PES]:
        if stream_kinds(found, pe) and not found.spans.get((pe, "kernel")):
            continue
        for category, bottom, height, color in (
            ("kernel", 0.0, 1.0, KERNEL),
            ("body", 0.0, 0.5, BODY),
            ("serving", 0.5, 0.5, SERVED),
        ):
            bars(found.spans.get((pe, category), ()), row + bottom, height, color)
        waits = found.spans.get((pe, "wait"), [])
        for number, name in enumerate(kinds[: len(WAITS)]):
            bars([span for span in waits if span.name == name], row + 1.05 + 0.16 * number, 0.14, colors[name])
        ticks.append((row + 0.5, found.processes[pe]))
        row += 1.3 + 0.16 * min(len(kinds), len(WAITS))
    axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.set_ylim(row, 0)
    axes.set_xlim(0, (found.end - first) / scale)
    axes.set_xlabel(f"time ({unit})")
    if len(found.pes) > MOST_PES:
        axes.set_title(f"the first {MOST_PES} of {len(found.pes)} PEs", loc="left", color=FAINT, size=9)
    if kinds:
        handles = [axes.barh(0, 0, color=colors[name], label=name) for name in kinds[: len(WAITS)]]
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False)
    shown = [kind for kind in STREAMS if any(category == f"stream {kind}" for _, category in found.spans)]
    if shown:
        if (first_legend := axes.get_legend()) is not None:
            axes.add_artist(first_legend)
        handles = [axes.barh(0, 0, color=STREAMS[kind], label=kind) for kind in shown]
        axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=5, fontsize=8, frameon=False)


def _in_flight(axes: Axes, found: Timeline) -> None:
    scale, unit = _unit(found.end - found.begin)
    shown = (("messages in flight", "messages", SERVED), ("work open", "pieces", OPEN))
    for name, series, color in shown:
        counter = found.counters.get((0, name, series))
        if counter is not None:
            seconds, values = _thinned(counter, found)
            axes.step((seconds - found.begin) / scale, values, where="post", color=color, linewidth=1.2, label=name)
    _count_axes(axes, (found.end - found.begin) / scale, unit)


def _thinned(counter: Series, found: Timeline) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The greatest value of each column, where there are more values than columns."""
    if len(counter.seconds) <= 2 * COLUMNS:
        return counter.seconds, counter.values
    length = found.end - found.begin
    column = np.clip(((counter.seconds - found.begin) / length * COLUMNS).astype(np.int64), 0, COLUMNS - 1)
    greatest = np.zeros(COLUMNS)
    np.maximum.at(greatest, column, counter.values)
    there = np.unique(column)
    return found.begin + there * length / COLUMNS, greatest[there]


def _rates(axes: Axes, found: Timeline) -> None:
    scale, unit = _unit(found.end - found.begin)
    edges = np.linspace(found.begin, found.end, 101)
    for number, pe in enumerate(found.pes[:MOST_PES]):
        counter = found.counters.get((pe, "messages", "served"))
        if counter is None:
            continue
        # Between two looks it is taken to have gone on evenly.
        served = np.interp(edges, counter.seconds, counter.values, left=0)
        rate = np.diff(served) / ((found.end - found.begin) / 100)
        axes.stairs(
            rate, (edges - found.begin) / scale, color=f"C{number % 10}", linewidth=1.3, label=found.processes[pe]
        )
    _count_axes(axes, (found.end - found.begin) / scale, unit)


def _count_axes(axes: Axes, end: float, unit: str) -> None:
    axes.set_xlim(0, end)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"time ({unit})")
    axes.yaxis.set_major_formatter(lambda value, _: short_number(value))
    axes.grid(axis="y", color=FAINT, alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize=8, framealpha=0.9)


def _waits(axes: Axes, found: Timeline) -> None:
    kinds = wait_kinds(found)
    scale, unit = _unit(max(seconds for _, seconds, _ in kinds) or 1e-9)
    left = np.zeros(len(kinds))
    for number, pe in enumerate(found.pes):
        spans = found.spans.get((pe, "wait"), ())
        own = [sum(s.end - s.begin for s in spans if s.name == name) / scale for name, _, _ in kinds]
        axes.barh(range(len(kinds)), own, left=left, color=f"C{number % 10}", label=found.processes[pe])
        left = left + np.array(own)
    axes.set_yticks(range(len(kinds)), [name for name, _, _ in kinds])
    axes.invert_yaxis()
    axes.set_xlabel(f"waited by all lanes together ({unit})")
    if len(found.pes) <= MOST_PES:
        axes.legend(fontsize=8, framealpha=0.9)


def _unit(greatest: float) -> tuple[float, str]:
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if greatest >= scale:
            return scale, unit
    return 1e-6, "µs"

"""A page that shows a timeline: one file, which loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from laneway import _core
from laneway.summary import seconds
from laneway.timelines.figures import figures, wait_kinds
from laneway.timelines.recorded import RecordedRun, Timeline

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22303c; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem }
p { color: #5b6975; margin: .2rem 0 .6rem } svg { width: 100%; height: auto }
table { border-collapse: collapse } th { text-align: left }
td, th { padding: .15rem 1.2rem .15rem 0; border-bottom: 1px solid #e3e8ec } td.n { text-align: right }
"""
MOST_ROWS = 200

Cell = tuple[str, bool]
"""Text, and whether it is a number."""


def page(found: Timeline) -> str:
    """The whole of it."""
    title = " ".join(found.notes[name] for name in ("program", "subject") if name in found.notes) or "laneway"
    parts = [f"<h1>{escape(title)}</h1>"]
    if "result" in found.notes:
        parts.append(f"<p>{escape(found.notes['result'])}</p>")
    for head, words, svg in figures(found):
        parts.append(f"<h2>{escape(head)}</h2>\n<p>{escape(words)}</p>\n{svg}")
    parts.append(_phases(found))
    parts.append(_runs(found))
    parts.append(_streams(found))
    kinds = wait_kinds(found)
    if kinds:
        rows = [[(name, False), (f"{count:,}", True), (seconds(time), True)] for name, time, count in kinds]
        parts.append(_table("Lasting waits", ["cause", "number", "time of all lanes"], rows))
    parts.append(_table("Program and parameters", ["", ""], _pairs(found.notes.items())))
    devices = ", ".join(found.processes[pe] for pe in found.pes)
    parts.append(_table("Machine", ["", ""], _pairs([("devices", devices), *found.machine.items()])))
    parts.append(f"<p>{escape(_remarks(found))}</p>")
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = "\n".join(parts)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _phases(found: Timeline) -> str:
    times: dict[tuple[str, str], list[float]] = {}
    for part in ("phases", "parts", "epochs"):
        for span in found.spans.get((0, part), ()):
            name = "epochs" if part == "epochs" else span.name
            times.setdefault((part, name), []).append(span.end - span.begin)
    rows = [
        [(name if part == "phases" else f"· {name}", False), (f"{len(each):,}", True), (seconds(sum(each)), True)]
        for (part, name), each in times.items()
    ]
    return _table("Phases of the host", ["phase (· part of one)", "times", "time"], rows)


def _runs(found: Timeline) -> str:
    columns = ("posted", "carried", "served", "chunks", "bytes")
    rows = [_run_row(number, run, columns) for number, run in enumerate(found.runs[:MOST_ROWS], 1)]
    head = ["run", "time", *columns, "lasting waits"]
    more = len(found.runs) - MOST_ROWS
    return _table("Runs" + (f", the first {MOST_ROWS}, {more:,} more" if more > 0 else ""), head, rows)


def _streams(found: Timeline) -> str:
    """What streams of dataflows have done, by device and stream."""
    sums: dict[tuple[str, str, str], list[float]] = {}
    for (process, category), spans in sorted(found.spans.items()):
        for span in spans if category.startswith("stream ") else ():
            sum_ = sums.setdefault((found.processes[process], span.stream, category.split()[1]), [0, 0.0, 0])
            sum_[0] += 1
            sum_[1] += span.end - span.begin
            sum_[2] += span.bytes
    rows = [
        [
            (device, False),
            (stream, False),
            (kind, False),
            (f"{number:,.0f}", True),
            (seconds(time), True),
            (f"{moved:,.0f}", True),
        ]
        for (device, stream, kind), (number, time, moved) in list(sums.items())[:MOST_ROWS]
    ]
    return _table("Streams of dataflows", ["device", "stream", "what", "number", "time", "bytes"], rows)


def _run_row(number: int, run: RecordedRun, columns: Sequence[str]) -> list[Cell]:
    totals = [(f"{run.totals[name]:,}" if name in run.totals else "", True) for name in columns]
    name = f"{run.name} {number}" + (", failed" if run.failed else "")
    return [(name, False), (seconds(run.seconds), True), *totals, (f"{run.lasting_waits:,}", True)]


def _remarks(found: Timeline) -> str:
    """What must be known to read it right."""
    said = [f"Made by laneway {_core.version}."]
    clocks = {run.clock for run in found.runs}
    if "aligned" in clocks:
        error = max(run.clock_error_ns for run in found.runs)
        said.append(f"The clocks of GPUs are aligned with the host's to {seconds(error * 1e-9)} or better.")
    if "virtual" in clocks:
        said.append("Time within runs of checked devices is virtual, and stretched over the time that the run took.")
    kept, lasting = (sum(getattr(run, name) for run in found.runs) for name in ("kept_waits", "lasting_waits"))
    if kept < lasting:
        said.append(f"Of {lasting:,} lasting waits {kept:,} were kept, the newest of each run; sums are theirs.")
    if found.left_out:
        said.append(f"There was no room for {found.left_out:,} more runs' samples, and spans.")
    return " ".join(said)


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[list[Cell]]:
    return [[(name, False), (value, False)] for name, value in pairs]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    if not rows:
        return ""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = [
        "<tr>" + "".join(f"<td{' class=n' * number}>{escape(text)}</td>" for text, number in row) + "</tr>"
        for row in rows
    ]
    top = f"<tr>{names}</tr>\n" if any(head) else ""
    return f"<h2>{escape(title)}</h2>\n<table>\n{top}" + "\n".join(lines) + "\n</table>"

"""A timeline that a run has written, read again."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway.account import printable
from laneway.errors import UsageError, reason_of

FORMAT, VERSION = "laneway timeline", 1
LONGEST_NAME = 200


@dataclass(frozen=True)
class Span:
    """Something that took time, in seconds since the timeline began."""

    name: str
    begin: float
    end: float
    stream: str = ""
    """Of a dataflow, where it belongs to one."""
    bytes: int = 0
    """That it moved, or holds."""


@dataclass(frozen=True)
class Series:
    """Values that hold from a moment on."""

    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class RecordedRun:
    """One run, or one stay of a session on the devices."""

    name: str
    seconds: float
    failed: bool
    totals: Mapping[str, int]
    """Of the run's report; empty where it has none."""
    lasting_waits: int
    kept_waits: int
    clock: str
    """"host", "aligned", "virtual", or "" where nothing was recorded."""
    clock_error_ns: int


@dataclass
class Timeline:
    """All of it. Process 0 is the host, the others are PEs. Whole before it is asked for anything."""

    machine: dict[str, str]
    notes: dict[str, str]
    runs: list[RecordedRun]
    left_out: int
    processes: dict[int, str] = field(default_factory=dict)
    spans: dict[tuple[int, str], list[Span]] = field(default_factory=lambda: defaultdict(list))
    """By process and category."""
    counters: dict[tuple[int, str, str], Series] = field(default_factory=dict)
    """By process, counter and series."""

    @property
    def pes(self) -> list[int]:
        return sorted(number for number in self.processes if number != 0)

    @cached_property
    def begin(self) -> float:
        """When the first thing began, in seconds."""
        return min((span.begin for spans in self.spans.values() for span in spans), default=0.0)

    @cached_property
    def end(self) -> float:
        """When the last thing ended, behind the begin."""
        ends = [span.end for spans in self.spans.values() for span in spans]
        ends += [float(series.seconds[-1]) for series in self.counters.values()]
        return max([*ends, self.begin + 1e-6])


def read_timeline(path: Path) -> Timeline:
    """UsageError, in one line, for what is not a timeline that this version can read."""
    name = printable(str(path))
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {reason_of(error)}") from None
    if not text.strip():
        raise UsageError(f"{name}: not a timeline: the file is empty")
    try:
        content = json.loads(text)
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not a timeline: it is no text") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}: not a timeline: line {error.lineno}: no JSON, or cut off: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{name}: not a timeline: no JSON that can be read") from None
    said = content.get("otherData") if isinstance(content, dict) else None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise UsageError(f"{name}: not a timeline of laneway: --timeline writes one")
    if said.get("version") != VERSION:
        raise UsageError(f"{name}: a timeline of another version of laneway, which this one cannot read")
    try:
        found = _account(said)
        _add_events(found, content["traceEvents"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError):
        raise UsageError(f"{name}: a damaged timeline: some of it is not what laneway writes") from None
    return found


def _account(said: dict[str, Any]) -> Timeline:
    runs = [_run(run) for run in said["runs"]]
    return Timeline(_texts(said["machine"]), _texts(said["notes"]), runs, _count(said["left_out"]))


def _texts(said: dict[str, Any]) -> dict[str, str]:
    return {_text(name): _text(str(value)) for name, value in said.items()}


def _run(said: dict[str, Any]) -> RecordedRun:
    recorded = [pe for pe in said["pes"] if _count(pe["samples"])]
    return RecordedRun(
        name=_text(said["name"]),
        seconds=max(0, _count(said["end_ns"]) - _count(said["begin_ns"])) * 1e-9,
        failed=bool(said["failed"]),
        totals={_text(name): _count(value) for name, value in said["totals"].items()},
        lasting_waits=sum(_count(pe["lasting_waits"]) for pe in recorded),
        kept_waits=sum(_count(pe["kept_waits"]) for pe in recorded),
        clock=_text(recorded[0]["clock"]) if recorded else "",
        clock_error_ns=max((_count(pe["clock_error_ns"]) for pe in recorded), default=0),
    )


def _add_events(found: Timeline, events: list[dict[str, Any]]) -> None:
    values: dict[tuple[int, str, str], list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        kind, process, name = event["ph"], _count(event["pid"]), _text(event["name"])
        begin = _seconds(event["ts"])
        if kind == "M" and name == "process_name":
            found.processes[process] = _text(event["args"]["name"])
        elif kind == "X":
            said = event["args"]
            stream, moved = _text(said.get("stream", "")), _count(said.get("bytes", 0))
            span = Span(name, begin, begin + _seconds(event["dur"]), stream, moved)
            category = _text(event["cat"])
            if category.startswith("stream ") and len(category.split()) != 2:
                raise ValueError
            found.spans[process, category].append(span)
        elif kind == "C":
            for series, value in event["args"].items():
                values[process, name, _text(series)].append((begin, float(_count(value))))
    for key, pairs in values.items():
        table = np.array(sorted(pairs, key=lambda pair: pair[0]), dtype=np.float64)
        found.counters[key] = Series(table[:, 0], table[:, 1])
    if not {key[0] for key in found.spans} | {key[0] for key in found.counters} <= found.processes.keys():
        raise KeyError


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return printable(value)[:LONGEST_NAME]


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise TypeError
    return value


def _seconds(microseconds: Any) -> float:
    if not isinstance(microseconds, (int, float)) or isinstance(microseconds, bool):
        raise TypeError
    if not (math.isfinite(microseconds) and 0 <= microseconds < 1e15):
        raise ValueError
    return microseconds * 1e-6

"""Figures of other libraries to be read beside the study of messages, from what bench/peers writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from laneway.errors import UsageError, reason_of
from laneway.programs.messaging_study import MODELS, PATTERNS, WIDTHS, MessagingRun

BENCHMARK = "messaging"
BY_HOST = "host"
"""In the place of a width: the host sends."""


def read_peers(file: Path, devices: str) -> list[MessagingRun]:
    """Runs from a file of JSON objects, one a line; those of other benchmarks are passed over. UsageError for what is
    none, for a file that has none of this benchmark, and for one that was measured on other `devices`, in words. The
    programs append to their file: of runs that measure the same, the last one counts."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file}: {reason_of(error)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not text") from None
    found = [run for number, line in enumerate(lines, 1) for run in _read(f"{file}:{number}", line, devices)]
    if not found:
        raise UsageError(f"{file}: no measurement of messages")
    return list({(run.model, run.pattern, run.width, run.groups, run.bytes): run for run in found}.values())


def name_apart(runs: list[MessagingRun], width: str, groups: int) -> list[MessagingRun]:
    """Runs whose messages were shared otherwise than by so many `groups` of that `width` say so in their model's name,
    so that none stands in the column of another. In "rate" lanes send in all, and are told apart by their number."""

    def named(run: MessagingRun) -> MessagingRun:
        if run.pattern == "rate" or (run.width, run.groups) == (width, groups):
            return run
        return replace(run, model=f"{run.model}, {run.groups} {run.width}{'s' * (run.groups != 1)}")

    return [named(run) for run in runs]


def _read(place: str, line: str, devices: str) -> list[MessagingRun]:
    """The run of a line, if it is one."""
    if not line.strip():
        return []
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise UsageError(f"{place}: no measurement")
        if row.get("benchmark") != BENCHMARK:
            return []
        if row["devices"] != devices:
            raise UsageError(f"{place}: measured on {row['devices']}, not on {devices}")
        run = _run_of(row)
    except UsageError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise UsageError(f"{place}: no measurement: {error}") from None
    if run.model in MODELS or not run.model.strip() or not run.model.isprintable():
        raise UsageError(f"{place}: {run.model!r} is no name of another library")
    positive = [run.bytes, run.groups, run.messages, run.seconds, *(run.round_trip_ns or ())]
    known = run.pattern in PATTERNS and run.width in (*WIDTHS, BY_HOST)
    if not known or not all(0 < number < float("inf") for number in positive):
        raise UsageError(f"{place}: no measurement of messages")
    return [run]


def _run_of(row: dict[str, Any]) -> MessagingRun:
    times = None
    if row["pattern"] == "ping-pong":
        times = (float(row["median_ns"]), float(row["p90_ns"]), float(row["p99_ns"]))
    return MessagingRun(
        str(row["model"]),
        str(row["pattern"]),
        str(row["width"]),
        int(row["groups"]),
        int(row["bytes"]),
        times,
        int(row["messages"]),
        float(row["seconds"]),
    )

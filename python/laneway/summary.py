"""What a run is reported as: the table on the terminal and the JSON file."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.markup import escape
from rich.table import Table

from laneway import _core
from laneway._core import Report
from laneway.account import Account, Row
from laneway.verification import Verification


@dataclass(frozen=True)
class Summary:
    """One run of a program, with all that its report shows."""

    program: str
    account: Account
    load_seconds: float | None
    """Reading the input; None for a program that reads none."""
    verification: Verification | None
    timeline: _core.TimelineCounts | None = None
    """What the run's timeline has, if it was asked for."""

    @property
    def report(self) -> Report:
        return self.account.report

    @property
    def title(self) -> str:
        return f"{self.program} {self.account.subject}"

    @property
    def mean_messages_a_chunk(self) -> float:
        chunks = int(self.report.chunks.sum())
        return self.report.carried / chunks if chunks else 0.0

    @property
    def remote_share(self) -> float:
        return self.report.carried / self.report.posted if self.report.posted else 0.0

    @property
    def max_buffer_bytes(self) -> int:
        """Of the library's buffers and rings on one device."""
        return max(self.report.buffer_bytes, default=0)

    @property
    def max_device_bytes(self) -> int:
        """Of all that was allocated on one device, at the run's fullest moment."""
        return max(self.report.device_bytes, default=0)

    @property
    def seconds(self) -> dict[str, float]:
        """Time of each part, in order."""
        load = {} if self.load_seconds is None else {"load": self.load_seconds}
        return {**load, **self.account.seconds, "run": self.report.run_seconds}

    def as_json(self) -> dict[str, Any]:
        """Everything in plain numbers; times in seconds, sizes in bytes."""
        report, check = self.report, self.verification
        return {
            "program": self.program,
            "version": _core.version,
            **self.account.fields,
            "devices": list(report.devices),
            "seconds": self.seconds,
            "messages": {
                "posted": report.posted,
                "direct": report.direct,
                "carried": report.carried,
                "served": report.served,
                "chunks": int(report.chunks.sum()),
                "bytes": int(report.bytes.sum()),
                "mean_a_chunk": self.mean_messages_a_chunk,
                "remote_share": self.remote_share,
            },
            "verified": None
            if check is None
            else {
                "reference": check.reference,
                "seconds": check.seconds,
                "mismatches": check.mismatches,
                "first_mismatch": check.first_mismatch,
            },
            "buffer_bytes": list(report.buffer_bytes),
            "device_peak_bytes": list(report.device_bytes),
            "host_peak_bytes": host_peak_bytes(),
            "traffic": {"messages": report.messages.tolist(), "bytes": report.bytes.tolist()},
            "progress": [
                {"seconds": t * 1e-9, "served": served, "open": open_work}
                for t, served, open_work in report.progress.tolist()
            ],
        }

    def as_table(self) -> Table:
        """The short table that the command prints."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in self._rows():
            table.add_row(name, escape(value))
        if self.timeline is not None:
            table.add_row("timeline", in_words(self.timeline))
        if self.verification is not None:
            table.add_row("verified", self._verified(self.verification))
        return table

    def _rows(self) -> list[Row]:
        report = self.report
        return [
            ("devices", f"{len(report.devices)}: {device_ranges(list(report.devices))}"),
            *self.account.rows,
            ("time", ", ".join(f"{part} {seconds(value)}" for part, value in self.seconds.items())),
            ("messages", f"{report.posted:,} posted, {report.carried:,} carried, {report.served:,} served"),
            ("bytes", f"{int(report.bytes.sum()):,} carried"),
            ("messages a chunk", f"{self.mean_messages_a_chunk:,.1f} on average"),
            ("remote messages", f"{100 * self.remote_share:.1f} %"),
            ("buffers", f"{self.max_buffer_bytes / 2**20:,.1f} MiB on a device at most"),
            ("device memory", f"{self.max_device_bytes / 2**20:,.1f} MiB on a device at most"),
            ("host memory", f"{host_peak_bytes() / 2**20:,.0f} MiB at most"),
        ]

    def _verified(self, check: Verification) -> str:
        if check.mismatches:
            what = f"{check.mismatches:,} {check.compared} differ from {check.reference}; {check.first_mismatch}"
            return f"[red]no[/red]: {escape(what)}"
        times = f"{check.seconds / max(self.report.run_seconds, 1e-9):.2g} times as long as the run"
        return f"[green]yes[/green], against {check.reference}, which took {seconds(check.seconds)}, {times}"


def host_peak_bytes() -> int:
    """The most memory that this process has held on the host so far; memory of CPU devices is part of it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_words(found: _core.TimelineCounts) -> str:
    """How much a timeline has, and what it lacks."""
    waits = f"{found.lasting_waits:,} lasting waits"
    if found.waits < found.lasting_waits:
        waits = f"{found.waits:,} of {waits}, the newest"
    streams = f", {found.operations:,} operations of streams" if found.operations else ""
    lacking = f"; no room for {found.left_out:,} more" if found.left_out else ""
    return f"{found.runs:,} run{'s' * (found.runs != 1)}, {found.samples:,} samples, {waits}{streams}{lacking}"


def seconds(value: float) -> str:
    """A time with three digits and the unit that suits it."""
    if value >= 1:
        return f"{value:.3g} s"
    if value >= 1e-3:
        return f"{value * 1e3:.3g} ms"
    return f"{value * 1e6:.3g} µs"


def device_ranges(names: list[str]) -> str:
    """Device names with runs of neighbours drawn together: "cuda:0-3, cpu:0"."""

    def place(item: tuple[int, str]) -> tuple[str, int]:
        kind, _, index = item[1].partition(":")
        return kind, int(index or 0) - item[0]

    parts = []
    for _, run in groupby(enumerate(names), place):
        members = [name for _, name in run]
        last = members[-1].partition(":")[2]
        parts.append(members[0] if len(members) == 1 else f"{members[0]}-{last}")
    return ", ".join(parts)

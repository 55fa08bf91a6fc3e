"""The command `study service`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer
from rich.table import Table

from laneway.commands.program import BUFFERS, SEED, TIMEOUT
from laneway.commands.study_files import NUMBERS, Progress, run_study
from laneway.plot import short_number
from laneway.programs.service_study import BYTES, SERVERS, WARPS, ServiceRun, study_service
from laneway.service_plot import draw_service, name_of
from laneway.summary import device_ranges, seconds
from laneway.terminal import show


def service(
    servers: list[str] = typer.Option(
        list(SERVERS), help="warps, host or pe, for warps of the last device; may be given several times."
    ),
    threads: list[int] = typer.Option([1], help="Of the host, where it serves; may be given several times."),
    bytes: list[int] = typer.Option(list(BYTES), help="Of a request: 8, 64 or 256; may be given several times."),
    warps: list[int] = typer.Option(
        list(WARPS), help="That ask in bulk, 0 for all; may be given several times.", show_default="1, 32 and all"
    ),
    rounds: int = typer.Option(2000, help="Lone requests that a lane waits for."),
    requests: int = typer.Option(1_000_000, help="About so many in bulk."),
    min_seconds: float = typer.Option(
        0.0, help="More requests where a run in bulk would take less; joules want 1 second."
    ),
    devices: str = typer.Option(
        "", help="cuda:0, cuda:0-1, cpu:2 or others.", show_default="every GPU, else every core"
    ),
    json: Optional[Path] = NUMBERS,
    plot: Optional[Path] = typer.Option(None, help="Draw times and rates: .png, .svg or .pdf."),
    seed: int = SEED,
    timeout: float = TIMEOUT,
    buffer_bytes: int = BUFFERS,
) -> None:
    """Who serves the requests of a kernel's lanes: latency, rate and joules by servers, size and warps that ask."""

    def measure(progress: Progress) -> list[ServiceRun]:
        return study_service(
            servers,
            threads=threads,
            bytes=bytes,
            warps=warps,
            rounds=rounds,
            requests=requests,
            min_seconds=min_seconds,
            devices=devices,
            seed=seed,
            timeout=timeout,
            buffer_bytes=buffer_bytes,
            progress=progress,
        )

    names, found = run_study("service", devices, json, plot, measure, _as_row, draw_service)
    show(_as_table(found), f"services on {device_ranges(names)}")


def _as_table(found: list[ServiceRun]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("served by")
    metered = any(run.joules is not None for run in found)
    columns = ("bytes", "warps", "there and back", "99 %", "requests/s", "a slot", *(["of 1 J"] if metered else []))
    for column in columns:
        table.add_column(column, justify="right")
    for run in found:
        median, _, nearly_all = run.round_trip_ns
        cells = [str(run.bytes), str(run.warps or "all"), seconds(median / 1e9), seconds(nearly_all / 1e9)]
        cells += [short_number(run.requests_per_second), f"{run.requests_each:.3g}"]
        if metered:
            cells.append(short_number(run.requests / run.joules) if run.joules else "")
        table.add_row(name_of(run), *cells)
    return table


def _as_row(run: ServiceRun) -> dict[str, object]:
    return {
        "servers": run.servers,
        "threads": run.threads,
        "bytes": run.bytes,
        "warps": run.warps,
        "round_trip_ns": dict(zip(("median", "90 %", "99 %"), run.round_trip_ns)),
        "requests": run.requests,
        "requests_each": run.requests_each,
        "seconds": run.seconds,
        "joules": run.joules,
    }

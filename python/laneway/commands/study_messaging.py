"""The command `study messaging`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer
from rich.markup import escape
from rich.table import Table

from laneway import _core
from laneway.commands.program import BUFFERS, SEED, TIMEOUT
from laneway.commands.study_files import NUMBERS, Progress, run_study
from laneway.file_names import same_file
from laneway.messaging_peers import name_apart, read_peers
from laneway.messaging_plot import draw_messaging
from laneway.plot import short_number
from laneway.programs.messaging_study import BYTES, LANES, MODELS, PATTERNS, MessagingRun, study_messaging
from laneway.summary import device_ranges, seconds
from laneway.terminal import show


def messaging(
    models: list[str] = typer.Option(
        list(MODELS),
        help="store, load, put, get, two-sided or unordered; may be given several times.",
        show_default="all",
    ),
    patterns: list[str] = typer.Option(
        list(PATTERNS),
        help="ping-pong, rate, stream, n-to-1 or all-to-all; may be given several times.",
        show_default="all",
    ),
    bytes: list[int] = typer.Option(
        list(BYTES), help="Of a message, but for rate; may be given several times.", show_default="8 to 262,144"
    ),
    lanes: list[int] = typer.Option(
        list(LANES),
        help="Of a device that send in rate, 0 for all; may be given several times.",
        show_default="1, 32, 1,024 and all",
    ),
    width: str = typer.Option("warp", help="Which lanes share a message, but for rate: lane, warp or block."),
    groups: int = typer.Option(1, help="Lanes, warps or blocks of each device with messages of their own; 0: all."),
    rounds: int = typer.Option(1000, help="Of messages up to 16 KiB; of longer ones, and of many groups, fewer."),
    window: int = typer.Option(4, help="Buffers for each sender in rate, stream and n-to-1: 1 to 16."),
    engines: int = typer.Option(1, help="That match messages with tags, but for n-to-1: a power of two."),
    devices: str = typer.Option(
        "", help="cuda:0-1, cuda, cpu:2 or others; two at least.", show_default="every GPU, else every core"
    ),
    beside: Optional[Path] = typer.Option(
        None, help="Show what bench/peers has measured on these devices as well: the file of its --json."
    ),
    json: Optional[Path] = NUMBERS,
    plot: Optional[Path] = typer.Option(None, help="Draw latency, rates and bandwidth: .png, .svg or .pdf."),
    seed: int = SEED,
    timeout: float = TIMEOUT,
    buffer_bytes: int = BUFFERS,
) -> None:
    """Messages between lanes of devices by loads and stores, put and get, and send and receive: latency, rate,
    bandwidth."""
    peers = [] if beside is None else read_peers(beside, device_ranges(_core.parse_devices(devices)))

    def measure(progress: Progress) -> list[MessagingRun]:
        own = study_messaging(
            models,
            patterns=patterns,
            bytes=bytes,
            lanes=lanes,
            width=width,
            groups=groups,
            rounds=rounds,
            window=window,
            engines=engines,
            devices=devices,
            seed=seed,
            timeout=timeout,
            buffer_bytes=buffer_bytes,
            progress=progress,
        )
        return own + name_apart([run for run in peers if run.pattern in patterns], width, groups)

    def is_input(path: Path) -> bool:
        return beside is not None and same_file(path, beside)

    names, found = run_study("messaging", devices, json, plot, measure, _as_row, draw_messaging, is_input)
    show(_as_table(found), f"messages on {device_ranges(names)}: ping-pong half a trip, rate messages of 8 bytes")


def _as_table(found: list[MessagingRun]) -> Table:
    """A column for each model, which may come from a file and have another width."""
    models = list(dict.fromkeys(run.model for run in found))
    table = Table(box=None, pad_edge=False)
    for column in ("pattern", "", ""):
        table.add_column(column, justify="right" if column == "" else "left")
    for model in models:
        table.add_column(escape(model), justify="right")
    cells: dict[tuple[str, int], dict[str, MessagingRun]] = {}
    for run in found:
        along = run.groups if run.pattern == "rate" else run.bytes
        cells.setdefault((run.pattern, along), {})[run.model] = run
    order = {pattern: number for number, pattern in enumerate(PATTERNS)}
    for (pattern, along), row in sorted(cells.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        what = ("lane" if along == 1 else "lanes") if pattern == "rate" else "bytes"
        shown = (_as_text(row[model]) if model in row else "" for model in models)
        table.add_row(pattern, f"{along:,}", what, *shown)
    return table


def _as_text(run: MessagingRun) -> str:
    if run.half_trip_ns is not None:
        return seconds(run.half_trip_ns / 1e9)
    if run.pattern == "rate":
        return f"{short_number(run.messages_per_second)}/s"
    return f"{short_number(run.bytes_per_second)}B/s"


def _as_row(run: MessagingRun) -> dict[str, object]:
    times = run.round_trip_ns
    return {
        "model": run.model,
        "pattern": run.pattern,
        "width": run.width,
        "groups": run.groups,
        "bytes": run.bytes,
        "round_trip_ns": None if times is None else dict(zip(("median", "90 %", "99 %"), times)),
        "messages": run.messages,
        "seconds": run.seconds,
        "messages_per_second": run.messages_per_second,
        "bytes_per_second": run.bytes_per_second,
    }

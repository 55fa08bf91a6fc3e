"""The command `study styles`."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Optional

import typer
from rich.table import Table

from laneway.commands.program import BUFFERS, TIMEOUT
from laneway.commands.study_files import NUMBERS, Progress, run_study
from laneway.plot import short_number
from laneway.programs.styles import PROGRAMS, StyleRun, compare_styles
from laneway.style_plot import draw_styles
from laneway.summary import device_ranges, seconds
from laneway.terminal import show


def styles(
    program: list[str] = typer.Option(
        list(PROGRAMS), help="gups, kmer or pagerank; may be given several times.", show_default="all"
    ),
    log2_messages: Optional[int] = typer.Option(
        None, help="About 2^N messages a device in each run.", show_default="26 on GPUs, else 18"
    ),
    runs: int = typer.Option(3, help="Measured runs of each program in each style."),
    devices: str = typer.Option(
        "", help="cuda, cuda:0-3, cpu or cpu:4; they must share memory.", show_default="every GPU, else every core"
    ),
    json: Optional[Path] = NUMBERS,
    plot: Optional[Path] = typer.Option(None, help="Draw speed and lines of code: .png, .svg or .pdf."),
    timeout: float = TIMEOUT,
    buffer_bytes: int = BUFFERS,
) -> None:
    """Each program in five styles of sending small messages: speed and lines of code."""

    def measure(progress: Progress) -> list[StyleRun]:
        return compare_styles(
            program,
            log2_messages=log2_messages,
            runs=runs,
            devices=devices,
            timeout=timeout,
            buffer_bytes=buffer_bytes,
            progress=progress,
        )

    names, found = run_study("styles", devices, json, plot, measure, _as_row, draw_styles)
    show(_as_table(found), f"styles on {device_ranges(names)}")


def _as_table(found: list[StyleRun]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("program")
    table.add_column("style")
    for column in ("messages/s", "median", "lines", "and support"):
        table.add_column(column, justify="right")
    for run in found:
        rate = short_number(run.messages_per_second)
        time = seconds(median(run.seconds))
        table.add_row(run.program, run.style, rate, time, str(run.lines), str(run.support) if run.support else "")
    return table


def _as_row(run: StyleRun) -> dict[str, object]:
    return {
        "program": run.program,
        "style": run.style,
        "messages": run.messages,
        "messages_per_second": run.messages_per_second,
        "seconds": list(run.seconds),
        "lines": run.lines,
        "support_lines": run.support,
    }

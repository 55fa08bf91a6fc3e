"""The command `study styles`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from statistics import median
from typing import Optional

import typer
from rich.table import Table

import laneway
from laneway import _core
from laneway.commands.program import BUFFERS
from laneway.commands.side_files import side_files
from laneway.phases import Phases
from laneway.plot import check_format, short_number
from laneway.programs.styles import PROGRAMS, StyleRun
from laneway.summary import device_ranges, seconds
from laneway.terminal import show

study = typer.Typer(no_args_is_help=True, help="Measure one thing against another.")


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(study, name="study")


@study.command(epilog="[bold]Example[/bold]  laneway study styles --devices cuda:0-3 --plot styles.png")
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
    json: Optional[Path] = typer.Option(None, help="Write all numbers as JSON."),
    plot: Optional[Path] = typer.Option(None, help="Draw speed and lines of code: .png, .svg or .pdf."),
    timeout: float = typer.Option(60.0, help="Deadline of each launch in seconds."),
    buffer_bytes: int = BUFFERS,
) -> None:
    """Each program in five styles of sending small messages: speed and lines of code."""
    names = _core.parse_devices(devices)
    if plot is not None:
        check_format(plot)
    with side_files(json, plot) as (json_file, plot_file):
        with Phases() as phases:
            found = laneway.compare_styles(
                program,
                log2_messages=log2_messages,
                runs=runs,
                devices=devices,
                timeout=timeout,
                buffer_bytes=buffer_bytes,
                progress=phases.enter,
            )
        if json_file is not None:
            text = json_format.dumps(_as_json(names, found), indent=2) + "\n"
            json_file.fill(lambda file: file.write_text(text))
        if plot_file is not None:
            from laneway.style_plot import draw_styles

            kind = plot_file.path.suffix.lower().lstrip(".")
            plot_file.fill(lambda file: draw_styles(found, device_ranges(names), file, kind))
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


def _as_json(names: list[str], found: list[StyleRun]) -> dict[str, object]:
    rows = [
        {
            "program": run.program,
            "style": run.style,
            "messages": run.messages,
            "messages_per_second": run.messages_per_second,
            "seconds": list(run.seconds),
            "lines": run.lines,
            "support_lines": run.support,
        }
        for run in found
    ]
    return {"study": "styles", "version": _core.version, "devices": names, "runs": rows}

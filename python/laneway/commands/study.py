"""The commands `study styles` and `study forkjoin`."""

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
from laneway.programs.forkjoin_study import SIZES, WIDTHS, ForkJoinRun
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


@study.command(epilog="[bold]Example[/bold]  laneway study forkjoin --devices cuda:0 --plot forkjoin.png")
def forkjoin(
    program: list[str] = typer.Option(
        list(SIZES), help="fibonacci, queens, sort or strassen; may be given several times.", show_default="all"
    ),
    sizes: str = typer.Option(
        "", help="Of the programs: thesis, as Orr had them, or small.", show_default="thesis on GPUs, else small"
    ),
    workers: list[int] = typer.Option(
        [],
        help="Blocks of each device, 0 for all that a GPU holds; may be given several times.",
        show_default="1 to all on GPUs, else 1, 2 and 4",
    ),
    width: list[int] = typer.Option(
        list(WIDTHS), help="Elements of a level of a channel; may be given several times.", show_default="64 to 32,768"
    ),
    runs: int = typer.Option(3, help="Measured runs of each."),
    devices: str = typer.Option(
        "", help="cuda:0, cpu:1 or others; each tree stays on a device.", show_default="every GPU, else every core"
    ),
    json: Optional[Path] = typer.Option(None, help="Write all numbers as JSON."),
    plot: Optional[Path] = typer.Option(None, help="Draw speedups, widths and full warps: .png, .svg or .pdf."),
    seed: int = typer.Option(1, help="Of checked devices: which interleaving of their lanes runs."),
    timeout: float = typer.Option(60.0, help="Deadline of each run in seconds."),
    buffer_bytes: int = BUFFERS,
) -> None:
    """Recursive programs on channels: time, dispatches and full warps by workers and by the width of channels."""
    names = _core.parse_devices(devices)
    if plot is not None:
        check_format(plot)
    with side_files(json, plot) as (json_file, plot_file):
        with Phases() as phases:
            found = laneway.study_forkjoin(
                program,
                sizes=sizes,
                workers=workers,
                widths=width,
                runs=runs,
                devices=devices,
                seed=seed,
                timeout=timeout,
                buffer_bytes=buffer_bytes,
                progress=phases.enter,
            )
        if json_file is not None:
            text = json_format.dumps(_forkjoin_as_json(names, found), indent=2) + "\n"
            json_file.fill(lambda file: file.write_text(text))
        if plot_file is not None:
            from laneway.forkjoin_plot import draw_forkjoin

            kind = plot_file.path.suffix.lower().lstrip(".")
            plot_file.fill(lambda file: draw_forkjoin(found, device_ranges(names), file, kind))
    show(_forkjoin_table(found), f"recursion on {device_ranges(names)}")


def _forkjoin_table(found: list[ForkJoinRun]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("program")
    for column in ("workers", "width", "median", "dispatches", "full", "elements", "put back", "peak"):
        table.add_column(column, justify="right")
    for run in found:
        did = run.channels
        table.add_row(
            f"{run.program} {run.size:,}",
            str(run.workers or "all"),
            f"{run.width:,}",
            seconds(run.median_seconds),
            short_number(did.dispatches),
            f"{100 * did.full_share:.0f} %",
            f"{did.elements_each:.3g}",
            short_number(did.yields),
            short_number(did.peak),
        )
    return table


def _forkjoin_as_json(names: list[str], found: list[ForkJoinRun]) -> dict[str, object]:
    rows = [
        {
            "program": run.program,
            "size": run.size,
            "sweep": run.sweep,
            "workers": run.workers,
            "width": run.width,
            "seconds": list(run.seconds),
            "elements": run.channels.consumed,
            "dispatches": run.channels.dispatches,
            "full_share": run.channels.full_share,
            "elements_each": run.channels.elements_each,
            "yields": run.channels.yields,
            "moved": run.channels.moved,
            "peak": run.channels.peak,
        }
        for run in found
    ]
    return {"study": "forkjoin", "version": _core.version, "devices": names, "runs": rows}

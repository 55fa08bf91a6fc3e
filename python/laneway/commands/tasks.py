"""The command `tasks bench`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Optional

import typer
from rich.table import Table

from laneway import _core
from laneway.commands.side_files import side_files
from laneway.plot import check_format, short_number
from laneway.programs.task_rates import LENGTHS, TaskRates, measure_tasks
from laneway.summary import device_ranges, seconds
from laneway.terminal import show

tasks = typer.Typer(no_args_is_help=True, help="Pools of many small tasks.")


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(tasks, name="tasks")


@tasks.callback()
def group() -> None:
    """Pools of many small tasks."""


@tasks.command(epilog="[bold]Example[/bold]  laneway tasks bench --devices cpu:2 --plot tasks.png")
def bench(
    length: list[float] = typer.Option(
        list(LENGTHS), help="Of tasks, in microseconds; may be given several times.", show_default="1 to 1,000"
    ),
    runs: int = typer.Option(3, help="Measured runs of each."),
    bundle: int = typer.Option(64, help="Tasks that are shown to a busy device at once."),
    devices: str = typer.Option("", help="cuda, cuda:0-3, cpu or cpu:4.", show_default="every GPU, else every core"),
    json: Optional[Path] = typer.Option(None, help="Write all numbers as JSON."),
    plot: Optional[Path] = typer.Option(None, help="Draw the efficiency by length: .png, .svg or .pdf."),
    timeout: float = typer.Option(60.0, help="Deadline in seconds for what makes no progress."),
) -> None:
    """Tasks a second, how long a lone one takes, and how well workers are used by the length of tasks."""
    names = _core.parse_devices(devices)
    if plot is not None:
        check_format(plot)
    with side_files(json, plot) as (json_file, plot_file):
        found = measure_tasks(tuple(length), runs=runs, bundle=bundle, devices=devices, timeout=timeout)
        if json_file is not None:
            text = json_format.dumps(_as_json(names, bundle, found), indent=2) + "\n"
            json_file.fill(lambda file: file.write_text(text))
        if plot_file is not None:
            from laneway.task_plot import draw_efficiency

            kind = plot_file.path.suffix.lower().lstrip(".")
            plot_file.fill(lambda file: draw_efficiency(found, device_ranges(names), file, kind))
    show(_as_table(found), f"tasks on {device_ranges(names)}, {found.workers} workers")


def _as_table(found: TaskRates) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for way in found.rates:
        table.add_column(way, justify="right")
    table.add_row("empty tasks/s", *(short_number(rate) for rate in found.rates.values()))
    middle, most = found.lone_seconds
    table.add_row("a lone task", f"{seconds(middle)}, 99 %: {seconds(most)}", "")
    for length in next(iter(found.efficiency.values())):
        shares = (f"{100 * by_length[length]:.0f} %" for by_length in found.efficiency.values())
        table.add_row(f"efficiency at {length:g} µs", *shares)
    return table


def _as_json(names: list[str], bundle: int, found: TaskRates) -> dict[str, object]:
    return {
        "benchmark": "tasks",
        "version": _core.version,
        "devices": names,
        "workers": found.workers,
        "bundle": bundle,
        "tasks_per_second": found.rates,
        "lone_seconds": {"median": found.lone_seconds[0], "p99": found.lone_seconds[1]},
        "efficiency": {way: {f"{k:g}": v for k, v in rows.items()} for way, rows in found.efficiency.items()},
    }

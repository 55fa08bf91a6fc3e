"""What commands that measure one thing against another share: JSON and a picture of what was found."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Callable, Optional, TypeVar

import typer

from laneway import _core
from laneway.commands.side_files import side_files
from laneway.phases import Phases
from laneway.plot import check_format
from laneway.summary import device_ranges

Run = TypeVar("Run")
Progress = Callable[[str], None]

NUMBERS = typer.Option(None, help="Write all numbers as JSON.")


def run_study(
    name: str,
    devices: str,
    json: Optional[Path],
    plot: Optional[Path],
    measure: Callable[[Progress], list[Run]],
    as_row: Callable[[Run], dict[str, object]],
    draw: Callable[[list[Run], str, Path, str], None],
    is_input: Callable[[Path], bool] = lambda _: False,
) -> tuple[list[str], list[Run]]:
    """Measure, with the progress on the terminal, and write the files that are asked for; the names of the devices, and
    what was found. `draw` is given the devices in words, the file, and the kind of picture; `is_input` tells of a file
    whether the command reads it."""
    names = _core.parse_devices(devices)
    if plot is not None:
        check_format(plot)
    with side_files(json, plot, is_input=is_input) as (json_file, plot_file):
        with Phases() as phases:
            found = measure(phases.enter)
        if json_file is not None:
            rows = [as_row(run) for run in found]
            report = {"study": name, "version": _core.version, "devices": names, "runs": rows}
            json_file.fill(lambda file: file.write_text(json_format.dumps(report, indent=2) + "\n"))
        if plot_file is not None:
            kind = plot_file.path.suffix.lower().lstrip(".")
            plot_file.fill(lambda file: draw(found, device_ranges(names), file, kind))
    return names, found

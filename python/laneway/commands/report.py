"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from laneway.commands.side_files import side_files
from laneway.errors import UsageError
from laneway.file_names import same_file
from laneway.phases import Phases
from laneway.plot import require_matplotlib
from laneway.timelines.recorded import read_timeline


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="[bold]Example[/bold]  laneway report run.json")(report)


def report(
    timeline: Path = typer.Argument(..., metavar="TIMELINE", help="What --timeline of a program has written: .json."),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="The page: .html.", show_default="beside TIMELINE, run.html of run.json"
    ),
) -> None:
    """A timeline as a page: what devices did when, messages in flight, rates, waits, phases."""
    name = output or timeline.parent / f"{timeline.stem}.html"
    if name.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{name}: the page's name must end in .html")
    require_matplotlib()
    with side_files(name, is_input=lambda path: same_file(path, timeline)) as (file,), Phases() as phases:
        phases.read("reading the timeline", timeline)
        found = read_timeline(timeline)
        phases.enter("drawing")
        from laneway.timelines.page import page  # loads matplotlib

        text = page(found)
        if file is not None:
            file.fill(lambda path: path.write_text(text, encoding="utf-8"))
    runs = len(found.runs)
    typer.echo(f"{name}: {runs:,} run{'s' * (runs != 1)} on {len(found.pes):,} PE{'s' * (len(found.pes) != 1)}")

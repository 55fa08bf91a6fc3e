"""The commands `trace` and `trace replay`."""

from __future__ import annotations

import json as json_format
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Optional, TypeVar

import typer
from typer.core import TyperGroup

from laneway import _core
from laneway.commands.program import TIMEOUT
from laneway.commands.side_files import side_files
from laneway.errors import DeviceFault
from laneway.phases import Phases
from laneway.plot import check_format
from laneway.terminal import show
from laneway.traces import tables
from laneway.traces.analysis import analyse_trace
from laneway.traces.device_replay import replay_trace
from laneway.traces.files import find_traces, is_input
from laneway.traces.result import TraceAnalysis
from laneway.traces.trace import Trace
from laneway.traces.unpack import remove_unpacked

Found = TypeVar("Found")
FILES = typer.Argument(
    ..., metavar="FILE...", help="DUMPI or OTF2 traces: files, directories, archives; plain, gzip, bzip2 or xz."
)


class FilesOrCommand(TyperGroup):
    """A command with files, where the name of another command may stand in the place of the first one."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        command = self.commands.get(args[0]) if args else None
        if command is None:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


traces = typer.Typer(cls=FilesOrCommand, subcommand_metavar="| replay FILE...")


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(traces, name="trace")


@traces.callback(
    invoke_without_command=True,
    context_settings={"allow_interspersed_args": True},
    epilog="[bold]Example[/bold]  laneway trace traces/AMG.bin --plot amg.png",
)
def trace(
    files: list[Path] = FILES,
    json: Optional[Path] = typer.Option(None, help="Write all figures as JSON."),
    plot: Optional[Path] = typer.Option(None, help="Draw sizes, volume, rates, queues and time: .png, .svg or .pdf."),
) -> None:
    """MPI programs by their traces: calls, messages, queues of matching, and which rules of matching they need."""
    if plot is not None:
        check_format(plot)
    with side_files(json, plot, is_input=lambda path: is_input(path, files)) as (json_file, plot_file):
        found = _of_each(files, "reading", analyse_trace)
        if json_file is not None:
            text = json_format.dumps(_as_json(found), indent=2) + "\n"
            json_file.fill(lambda file: file.write_text(text))
        if plot_file is not None:
            from laneway.traces.plot import draw_traces

            kind = plot_file.path.suffix.lower().lstrip(".")
            plot_file.fill(lambda file: draw_traces(found, file, kind))
    if len(found) > 1:
        show(tables.many(found))
        return
    for number, (title, table) in enumerate(tables.one(found[0])):
        if number:
            typer.echo("")
        show(table, title)


@traces.command(epilog="[bold]Example[/bold]  laneway trace replay traces/AMG.bin --devices cpu:2")
def replay(
    files: list[Path] = FILES,
    devices: str = typer.Option("", help="cuda:0, cpu:4 or others.", show_default="every GPU, else every core"),
    json: Optional[Path] = typer.Option(None, help="Write all figures as JSON."),
    timeout: float = TIMEOUT,
) -> None:
    """Sends and receives of traces through the matching engines of devices, which must match them as MPI does."""
    with side_files(json, is_input=lambda path: is_input(path, files)) as (json_file,):
        found = _of_each(
            files, "matching", lambda each: (each.name, replay_trace(each, devices=devices, timeout=timeout))
        )
        if json_file is not None:
            rows = [
                {"trace": name, **asdict(result), "matches_per_second": result.matches_per_second}
                for name, result in found
            ]
            text = (
                json_format.dumps({"command": "trace replay", "version": _core.version, "replays": rows}, indent=2)
                + "\n"
            )
            json_file.fill(lambda file: file.write_text(text))
    show(tables.replays(found))
    if any(result.differing for _, result in found):
        raise DeviceFault("matching on devices differs from matching one after the other")


def _of_each(files: list[Path], doing: str, use: Callable[[Trace], Found]) -> list[Found]:
    """What `use` makes of each trace."""
    try:
        with Phases() as phases:
            phases.enter("looking for traces")
            found = []
            for each in find_traces(files):
                phases.enter(f"{doing} {Path(each.name).name}")
                found.append(use(each))
            return found
    finally:
        remove_unpacked()


def _as_json(found: list[TraceAnalysis]) -> dict[str, object]:
    return {"command": "trace", "version": _core.version, "traces": [each.as_dict() for each in found]}

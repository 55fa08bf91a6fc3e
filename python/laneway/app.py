"""The commands, put together."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import typer

from laneway import _core

# The file of each command, in the order of the help page.
FILES = {
    "sssp": "paths",
    "bfs": "paths",
    "pagerank": "pagerank",
    "cc": "cc",
    "triangles": "triangles",
    "lcc": "lcc",
    "cdlp": "cdlp",
    "color": "color",
    "kmeans": "kmeans",
    "kmer": "kmer",
    "md": "md",
    "indegree": "indegree",
    "gups": "gups",
    "recursion": "recursion",
    "filter": "filter",
    "sweep": "sweep",
    "study": "study",
    "report": "report",
    "trace": "trace",
    "tasks": "tasks",
    "devices": "devices",
    "generate": "generate",
}


def app_of(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command `laneway` for these arguments: all commands, or, where the arguments begin with the name of one, only
    those of its file, as loading the others takes a third of the time of a short run."""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode="rich",
        help="Programs whose GPU and CPU lanes send each other messages from inside their kernels.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="[bold]Example[/bold]  laneway sssp data/USA-road-d.NY.gr.gz --source 1 --verify")(_common)
    named = FILES.get(arguments[0]) if arguments else None
    for file in dict.fromkeys(FILES.values()) if named is None else [named]:
        import_module(f"laneway.commands.{file}").add_to(app)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"laneway {_core.version}")
        raise typer.Exit


def _common(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    """Programs whose GPU and CPU lanes send each other messages from inside their kernels."""

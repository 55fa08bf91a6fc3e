"""The commands, put together."""

from __future__ import annotations

import typer

from laneway import _core
from laneway.commands import (
    cc,
    cdlp,
    color,
    devices,
    filter,
    generate,
    gups,
    indegree,
    kmeans,
    kmer,
    lcc,
    md,
    pagerank,
    paths,
    recursion,
    report,
    study,
    sweep,
    tasks,
    trace,
    triangles,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Programs whose GPU and CPU lanes send each other messages from inside their kernels.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# A file each, in the order of the help page.
for command in (
    paths,
    pagerank,
    cc,
    triangles,
    lcc,
    cdlp,
    color,
    kmeans,
    kmer,
    md,
    indegree,
    gups,
    recursion,
    filter,
    sweep,
    study,
    report,
    trace,
    tasks,
    devices,
    generate,
):
    command.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"laneway {_core.version}")
        raise typer.Exit


@app.callback(epilog="[bold]Example[/bold]  laneway sssp data/USA-road-d.NY.gr.gz --source 1 --verify")
def common(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    """Programs whose GPU and CPU lanes send each other messages from inside their kernels."""

"""The `laneway` command."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Callable, NoReturn, Optional

import typer
from rich.markup import escape
from rich.table import Table

import laneway
from laneway.errors import Error, UsageError
from laneway.job import Job, Outputs, Reading
from laneway.pending_file import PendingFile
from laneway.terminal import show

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Programs whose GPU and CPU lanes send each other messages from inside their kernels.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
generate_app = typer.Typer(no_args_is_help=True, help="Write a generated graph to a file.")
app.add_typer(generate_app, name="generate")

PATHS_EXAMPLES = """
[bold]Examples[/bold]

  laneway {name} data/USA-road-d.NY.gr.gz --source 1\n
  laneway {name} data/USA-road-d.NY.gr.gz --source 1 --devices cpu:4 --verify --plot run.png\n
  laneway {name} GRAPH --source 1 --devices cuda:0-3 --partition metis --json run.json --output distances.npz
"""

GRAPH = typer.Argument(..., help="Graph file: DIMACS, SNAP, Matrix Market, METIS or LDBC; plain, gzip or xz.")
SOURCE = typer.Option(..., help="Vertex to start from, as the file numbers its vertices.")
DEVICES = typer.Option(
    "", help="cuda, cuda:0-3, cpu, cpu:4, cuda:0,cpu:2 or checked:2.", show_default="every GPU, else every core"
)
DELTA = typer.Option(None, help="Width of a priority step.", show_default="chosen from the graph")
VERIFY = typer.Option(False, "--verify", help="Compare every distance with a reference answer.")
OUTPUT = typer.Option(None, help="Write distances as .npz: array `distance`, int64, -1 where unreachable.")
JSON = typer.Option(None, help="Write the run's report as JSON.")
PLOT = typer.Option(None, help="Draw the run's progress and traffic: .png, .svg or .pdf.")
SEED = typer.Option(1, help="Seed of the scheduler of checked devices.")
TIMEOUT = typer.Option(60.0, help="Deadline of the run in seconds.")
PARTITION = typer.Option(None, help="metis: few arcs between devices.", show_default="ranges with equal arcs")
CACHE = typer.Option(None, help="Folder that keeps graphs in binary form for the next run.")
FORMAT = typer.Option(
    None, help="dimacs, edge_list, snap, matrix_market, metis or ldbc.", show_default="guessed from the content"
)


IDS = typer.Option(None, help="Width of vertex numbers in memory: 32 or 64 bits.", show_default="32 where they suffice")
DIRECTED = typer.Option(
    None,
    "--directed/--undirected",
    help="Whether a line of the file is one arc, or one each way.",
    show_default="what the format says",
)


def add_paths_command(program: Callable[..., laneway.Result], summary: str) -> None:
    """Give the command a program of the shortest-paths kind; all of them take the same options."""
    name = program.__name__

    @app.command(name, help=summary, epilog=PATHS_EXAMPLES.format(name=name))
    def command(
        graph: str = GRAPH,
        source: int = SOURCE,
        devices: str = DEVICES,
        delta: Optional[int] = DELTA,
        verify: bool = VERIFY,
        output: Optional[Path] = OUTPUT,
        json: Optional[Path] = JSON,
        plot: Optional[Path] = PLOT,
        seed: int = SEED,
        timeout: float = TIMEOUT,
        partition: Optional[str] = PARTITION,
        cache: Optional[Path] = CACHE,
        format: Optional[str] = FORMAT,
        ids: Optional[int] = IDS,
        directed: Optional[bool] = DIRECTED,
    ) -> None:
        reading = Reading(graph, format, ids, cache, directed)
        Job(program, reading, source, devices, delta, verify, seed, timeout, partition).run(Outputs(output, json, plot))


add_paths_command(laneway.sssp, "Shortest paths by weight from one vertex to all others, over all devices.")
add_paths_command(laneway.bfs, "Fewest arcs from one vertex to all others, over all devices.")


@app.command()
def devices() -> None:
    """List the devices of this machine, and why others cannot be used."""
    table = Table("device", "what", box=None, pad_edge=False)
    for device in laneway.devices():
        about = device.description if device.usable else f"[yellow]not usable:[/yellow] {escape(device.reason)}"
        table.add_row(device.name, about)
    show(table)


OUT_GRAPH = typer.Option(..., "--output", "-o", help="File to write: DIMACS .gr, compressed if named .gr.gz or .gr.xz.")


@generate_app.command(epilog="[bold]Example[/bold]  laneway generate grid 600 400 --output grid.gr.gz")
def grid(
    width: int = typer.Argument(..., help="Vertices in a row."),
    height: int = typer.Argument(..., help="Rows."),
    keep: float = typer.Option(0.62, help="Share of the grid's edges that stay."),
    arcs: int = typer.Option(0, help="Exact number of arcs, instead of --keep.", show_default=False),
    max_weight: int = typer.Option(10_000, help="Weights are uniform over 1 to this."),
    seed: int = typer.Option(1, help="The same seed gives the same graph."),
    output: Path = OUT_GRAPH,
) -> None:
    """A road-like graph: a grid of 4 neighbours from which edges are removed at random."""
    with PendingFile(output) as file:
        graph = laneway.generate_grid(width, height, keep=keep, arcs=arcs, max_weight=max_weight, seed=seed)
        _write(graph, file)


@generate_app.command(epilog="[bold]Example[/bold]  laneway generate kronecker 16 2000000 --output k16.gr.gz")
def kronecker(
    scale: int = typer.Argument(..., help="The graph has 2^scale vertices."),
    arcs: int = typer.Argument(..., help="Number of arcs; even unless --directed."),
    directed: bool = typer.Option(False, "--directed", help="Do not add every arc backwards."),
    max_weight: int = typer.Option(255, help="Weights are uniform over 1 to this."),
    seed: int = typer.Option(1, help="The same seed gives the same graph."),
    output: Path = OUT_GRAPH,
) -> None:
    """A power-law graph with the probabilities of Graph500."""
    with PendingFile(output) as file:
        graph = laneway.generate_kronecker(scale, arcs, symmetric=not directed, max_weight=max_weight, seed=seed)
        _write(graph, file)


def _write(graph: laneway.Graph, file: PendingFile) -> None:
    laneway.write_graph(graph, file.temporary, file.path.name)
    file.commit()
    typer.echo(f"{file.path}: {graph.vertices:,} vertices, {graph.arcs:,} arcs")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"laneway {laneway.__version__}")
        raise typer.Exit


@app.callback(epilog="[bold]Example[/bold]  laneway sssp data/USA-road-d.NY.gr.gz --source 1 --verify")
def common(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    """Programs whose GPU and CPU lanes send each other messages from inside their kernels."""


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line on standard error."""
    with suppress(OSError):  # the exit code is right even where nobody can be told
        print("laneway: " + " ".join(message.split()), file=sys.stderr, flush=True)
    sys.exit(code)


class Stopped(BaseException):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def raise_stopped(number: int, _: object) -> NoReturn:
    """Signal handler: leave through the open files, so that none of them stays half written."""
    raise Stopped(number)


def end_now(what: str, code: int) -> NoReturn:
    """End the process now: a run in the background must not hold it until its deadline."""
    with suppress(OSError):
        print(f"laneway: {what}", file=sys.stderr, flush=True)
    os._exit(code)


def main() -> None:
    """Entry point: exit code 0, 2 for wrong use or input, 1 for a failed run; never a traceback."""
    prepare_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one of them
            signal.signal(number, raise_stopped)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        if code == 130:
            end_now("interrupted", 130)
        sys.exit(code if isinstance(code, int) else 0)
    except Stopped as stop:
        end_now(f"ended by {signal.Signals(stop.number).name}", 128 + stop.number)
    except UsageError as error:
        fail(str(error), 2)
    except (Error, MemoryError) as error:
        fail(str(error) or "not enough memory", 1)
    except OSError as error:
        # Nothing but the streams is left to fail here. Python must not stumble over the same text again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        fail(f"standard output cannot be written: {(error.strerror or str(error)).lower()}", 1)
    except Exception as error:
        fail_by_parser(error)


def prepare_streams() -> None:
    """Stand-ins for streams that the caller has closed, and `?` for letters that the terminal's encoding lacks."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def fail_by_parser(error: Exception) -> NoReturn:
    """The command-line parser's own errors, whose classes depend on the version of typer."""
    if type(error).__name__ == "Abort":
        end_now("interrupted", 130)
    text = getattr(error, "format_message", None)
    if text is None:
        fail(f"internal error: {type(error).__name__}: {error}", 1)
    fail(text() or "a command is missing; see laneway --help", getattr(error, "exit_code", 2))


if __name__ == "__main__":
    main()

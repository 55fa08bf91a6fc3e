"""The commands `generate grid`, `generate kronecker`, `generate uniform` and `generate blobs`."""

from __future__ import annotations

from pathlib import Path

import typer

import laneway
from laneway import signals
from laneway.graphs import write_pending_graph
from laneway.pending_file import PendingFile
from laneway.points import require_points_name, write_pending_points

generate = typer.Typer(no_args_is_help=True, help="Write generated data to a file.")

OUTPUT = typer.Option(..., "--output", "-o", help="File to write: DIMACS .gr, compressed if named .gr.gz or .gr.xz.")
ARCS = typer.Argument(..., help="Number of arcs; even unless --directed.")
DIRECTED = typer.Option(False, "--directed", help="Do not add every arc backwards.")
MAX_WEIGHT = typer.Option(255, help="Weights are uniform over 1 to this.")
SEED = typer.Option(1, help="The same seed gives the same graph.")
POINTS = typer.Option(..., "--output", "-o", help="File to write: .npy, .npz or .csv.")


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(generate, name="generate")


@generate.command(epilog="[bold]Example[/bold]  laneway generate grid 600 400 --output grid.gr.gz")
def grid(
    width: int = typer.Argument(..., help="Vertices in a row."),
    height: int = typer.Argument(..., help="Rows."),
    keep: float = typer.Option(0.62, help="Share of the grid's edges that stay."),
    arcs: int = typer.Option(0, help="Exact number of arcs, instead of --keep.", show_default=False),
    max_weight: int = typer.Option(10_000, help="Weights are uniform over 1 to this."),
    seed: int = SEED,
    output: Path = OUTPUT,
) -> None:
    """A road-like graph: a grid of 4 neighbours from which edges are removed at random."""
    with PendingFile(output) as file:
        graph = laneway.generate_grid(width, height, keep=keep, arcs=arcs, max_weight=max_weight, seed=seed)
        _write(graph, file)


@generate.command(epilog="[bold]Example[/bold]  laneway generate kronecker 16 2000000 --output k16.gr.gz")
def kronecker(
    scale: int = typer.Argument(..., help="The graph has 2^scale vertices."),
    arcs: int = ARCS,
    directed: bool = DIRECTED,
    max_weight: int = MAX_WEIGHT,
    seed: int = SEED,
    output: Path = OUTPUT,
) -> None:
    """A power-law graph with the probabilities of Graph500."""
    with PendingFile(output) as file:
        graph = laneway.generate_kronecker(scale, arcs, symmetric=not directed, max_weight=max_weight, seed=seed)
        _write(graph, file)


@generate.command(epilog="[bold]Example[/bold]  laneway generate uniform 65536 1048576 --output u16.gr.gz")
def uniform(
    vertices: int = typer.Argument(..., help="Number of vertices."),
    arcs: int = ARCS,
    directed: bool = DIRECTED,
    max_weight: int = MAX_WEIGHT,
    seed: int = SEED,
    output: Path = OUTPUT,
) -> None:
    """A random graph whose arcs go from any vertex to any."""
    with PendingFile(output) as file:
        graph = laneway.generate_uniform(vertices, arcs, symmetric=not directed, max_weight=max_weight, seed=seed)
        _write(graph, file)


@generate.command(epilog="[bold]Example[/bold]  laneway generate blobs 100000 2 8 --output points.npy")
def blobs(
    count: int = typer.Argument(..., help="Number of points."),
    dimensions: int = typer.Argument(..., help="Coordinates of a point."),
    clusters: int = typer.Argument(..., help="Number of blobs."),
    spread: float = typer.Option(1.0, help="Standard deviation of a blob; centres lie in a cube of side 20."),
    double: bool = typer.Option(False, "--double", help="Write float64, not float32."),
    seed: int = typer.Option(1, help="The same seed gives the same points."),
    output: Path = POINTS,
) -> None:
    """Points of Gaussian blobs around random centres, for kmeans."""
    require_points_name(output)
    with PendingFile(output) as file:
        points = laneway.generate_blobs(count, dimensions, clusters, spread=spread, double=double, seed=seed)
        write_pending_points(points, file)
        signals.point_of_no_return()
        file.commit()
    typer.echo(f"{output}: {count:,} points of {dimensions} dimensions")


def _write(graph: laneway.Graph, file: PendingFile) -> None:
    write_pending_graph(graph, file)
    signals.point_of_no_return()
    file.commit()
    typer.echo(f"{file.path}: {graph.vertices:,} vertices, {graph.arcs:,} arcs")

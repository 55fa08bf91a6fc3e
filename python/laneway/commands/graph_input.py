"""What commands share that read a graph."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Callable, Optional

import typer

from laneway._core import Graph
from laneway.account import Account, Row, printable
from laneway.commands.signature import parameter, parameters_of, set_parameters
from laneway.errors import UsageError
from laneway.graphs import graph_files, read_graph
from laneway.job import Job

GRAPH = typer.Argument(..., help="Graph file: DIMACS, SNAP, Matrix Market, METIS or LDBC; plain, gzip or xz.")
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
PARTITION = typer.Option(None, help="metis: few arcs between devices.", show_default="ranges with equal arcs")


def require_partition(partition: str | None) -> None:
    """UsageError for a value of PARTITION that names nothing."""
    if partition not in (None, "metis"):
        raise UsageError(f"--partition must be metis, not {partition}")


@dataclass(frozen=True)
class GraphInput:
    """A graph and the file it was read from."""

    path: str
    graph: Graph

    @property
    def name(self) -> str:
        """The path as titles show it."""
        return printable(self.path)

    @property
    def rows(self) -> list[Row]:
        """Sizes for the table."""
        return [("vertices", f"{self.graph.vertices:,}"), ("arcs", f"{self.graph.arcs:,}")]

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON report's `graph`."""
        graph = self.graph
        return {
            "path": self.path,
            "vertices": graph.vertices,
            "arcs": graph.arcs,
            "weighted": graph.weighted,
            "weight_scale": graph.weight_scale,
        }


def with_graph(body: Callable[..., Account]) -> Callable[..., Account]:
    """A body for add_program that takes GRAPH and the options of reading it, from one that takes the graph itself.

    `body(job, source, ...)` gets a Job and a GraphInput before its own arguments and options.
    """

    def reading(
        job: Job, graph: str, cache: str | None, format: str | None, ids: int | None, directed: bool | None, **own: Any
    ) -> Account:
        files = graph_files(graph, format, ids, cache, directed)
        loaded = job.load("graph", files, lambda: read_graph(graph, format, ids, cache, directed))
        return body(job, GraphInput(graph, loaded), **own)

    first = Parameter("job", Parameter.POSITIONAL_OR_KEYWORD, annotation=Job)
    options = [
        parameter("cache", Optional[str], CACHE),
        parameter("format", Optional[str], FORMAT),
        parameter("ids", Optional[int], IDS),
        parameter("directed", Optional[bool], DIRECTED),
    ]
    set_parameters(reading, [first, parameter("graph", str, GRAPH), *parameters_of(body, skip=2), *options])
    return reading

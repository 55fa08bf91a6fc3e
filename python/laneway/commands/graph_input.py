"""What commands share that read a graph."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Callable, Optional

import typer

from laneway.account import Account, Row, printable
from laneway.commands.signature import parameter, parameters_of, set_parameters
from laneway.errors import UsageError
from laneway.graph import Graph
from laneway.graphs import GraphFile
from laneway.job import Job
from laneway.partition import DIVISIONS

GRAPH = typer.Argument(..., help="Graph file: DIMACS, SNAP, Matrix Market, METIS or LDBC; plain, gzip or xz.")
CACHE = typer.Option(None, help="Folder that keeps graphs in binary form for the next run.")
FORMAT = typer.Option(
    None, help="dimacs, edge_list, snap, matrix_market, metis or ldbc.", show_default="guessed from the content"
)
IDS = typer.Option(None, help="Width of vertex numbers in memory: 32 or 64 bits.", show_default="32 where they suffice")
DIRECTED = typer.Option(
    False, "--directed", help="A line of the file is one arc; without --directed and --undirected as the format says."
)
UNDIRECTED = typer.Option(False, "--undirected", help="A line of the file is two arcs, one each way.")
UNWEIGHTED = typer.Option(
    False, "--unweighted", help="Take the arcs alone, also where weights are negative or more than a graph can hold."
)
PARTITION = typer.Option(
    None,
    help="metis: few arcs between devices; dealt: several ranges for each, in turn; dealt-metis: several of METIS.",
    show_default="ranges with equal arcs",
)


def require_partition(partition: str | None) -> None:
    """UsageError for a value of PARTITION that names nothing."""
    if partition is not None and partition not in DIVISIONS:
        raise UsageError(f"--partition must be {', '.join(DIVISIONS[:-1])} or {DIVISIONS[-1]}, not {partition}")


@dataclass(frozen=True)
class GraphInput:
    """A graph and the file it was read from."""

    path: str
    graph: Graph
    weights_used: bool
    """Whether the program looks at weights."""

    @property
    def name(self) -> str:
        """The path as titles show it."""
        return printable(self.path)

    @property
    def rows(self) -> list[Row]:
        """Sizes for the table."""
        graph = self.graph
        rows = [("vertices", f"{graph.vertices:,}"), ("arcs", f"{graph.arcs:,}")]
        if graph.weighted and not self.weights_used:
            rows.append(("weights", "not used: every arc counts the same"))
        elif graph.weights_rounded:
            rows.append(("weights", f"rounded to 1/{graph.weight_scale} of the file's unit"))
        return rows

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
            "weights_rounded": graph.weights_rounded,
            "weights_ignored": graph.weighted and not self.weights_used,
        }


def with_graph(body: Callable[..., Account], weights_used: bool) -> Callable[..., Account]:
    """A body for add_program that takes GRAPH and the options of reading it, from one that takes the graph itself.

    `body(job, source, ...)` gets a Job and a GraphInput before its own arguments and options. The table says so where
    the graph has weights and the program does not use them.
    """

    def reading(
        job: Job,
        graph: str,
        cache: str | None,
        format: str | None,
        ids: int | None,
        directed: bool,
        undirected: bool,
        unweighted: bool,
        **own: Any,
    ) -> Account:
        if directed and undirected:
            raise UsageError("--directed and --undirected exclude each other")
        file = GraphFile(graph, format, ids, cache, directed if directed or undirected else None, unweighted)
        loaded = job.load("graph", file.files(), file.read)
        return body(job, GraphInput(graph, loaded, weights_used), **own)

    first = Parameter("job", Parameter.POSITIONAL_OR_KEYWORD, annotation=Job)
    options = [
        parameter("cache", Optional[str], CACHE),
        parameter("format", Optional[str], FORMAT),
        parameter("ids", Optional[int], IDS),
        parameter("directed", bool, DIRECTED),
        parameter("undirected", bool, UNDIRECTED),
        parameter("unweighted", bool, UNWEIGHTED),
    ]
    set_parameters(reading, [first, parameter("graph", str, GRAPH), *parameters_of(body, skip=2), *options])
    return reading

"""The command `pagerank`."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import typer

import laneway
from laneway.account import Account, Row
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.graph import Graph
from laneway.job import Job
from laneway.programs.pagerank import MAX_ITER, TOL, PageRankResult
from laneway.references.pagerank import verify
from laneway.vertex_numbers import read_vertex_numbers

ALPHA = typer.Option(0.85, help="Share of a vertex's rank that follows its arcs.")
PERSONALIZATION = typer.Option(
    None, help="Where the rest goes: a file with lines VERTEX NUMBER, in proportion.", show_default="evenly"
)
DANGLING = typer.Option(
    None, help="Where the rank of vertices without arcs goes: such a file.", show_default="as --personalization"
)
NSTART = typer.Option(None, help="Ranks at the start: such a file.", show_default="equal")
MOST = typer.Option(MAX_ITER, help="Most rounds.")
LIMIT = typer.Option(TOL, help="End when a round changes the ranks by less than this a vertex, on average.")
ROUNDS = typer.Option(None, help="Do exactly so many rounds instead.", show_default="as --max-iter and --tol say")
METHOD = typer.Option(
    "pull",
    help="pull: rounds, in which every vertex adds up what comes to it; the same to the last bit on any devices. push: "
    "no rounds; a vertex hands on what has gathered there once that is worth it.",
)
NO_PRIORITIES = typer.Option(False, "--no-priorities", help="By push: hand on whatever there is, however little.")
NO_FUSED = typer.Option(False, "--no-fused", help="By push: a run for each sweep over all vertices, not one for all.")
SHOWN = 5


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "pagerank",
        with_graph(body, weights_used=True),
        summary="PageRank of every vertex, over all devices.",
        examples=[
            "pagerank data/USA-road-d.NY.gr.gz --tol 1e-10 --devices cpu:4 --verify",
            "pagerank GRAPH --method push --tol 1e-9 --devices cpu:4 --verify",
            "pagerank GRAPH --rounds 10 --unweighted --devices cuda:0-3 --json run.json --output ranks.npz",
        ],
        verify="Compare every rank, and when they converge, with SciPy's power iteration; of push, their differences.",
        output="Write ranks as .npz: arrays `ids` and `rank`, float64.",
    )


def body(
    job: Job,
    given: GraphInput,
    alpha: float = ALPHA,
    personalization: Optional[str] = PERSONALIZATION,
    dangling: Optional[str] = DANGLING,
    nstart: Optional[str] = NSTART,
    max_iter: int = MOST,
    tol: float = LIMIT,
    rounds: Optional[int] = ROUNDS,
    method: str = METHOD,
    no_priorities: bool = NO_PRIORITIES,
    no_fused: bool = NO_FUSED,
    partition: Optional[str] = PARTITION,
) -> Account:
    """What the command does."""
    require_partition(partition)
    graph = given.graph
    if graph.vertices == 0:
        raise UsageError("the graph has no vertices to rank")
    result = laneway.pagerank(
        graph,
        alpha=alpha,
        personalization=_numbers(job, graph, "personalization", personalization),
        dangling=_numbers(job, graph, "dangling", dangling),
        nstart=_numbers(job, graph, "nstart", nstart),
        max_iter=max_iter,
        tol=tol,
        method=method,
        rounds=rounds,
        priorities=not no_priorities,
        fused=not no_fused,
        partition=partition,
        **job.options,
    )
    rank = result.rank.values
    highest = np.argpartition(-rank, min(SHOWN, graph.vertices) - 1)[:SHOWN].tolist()
    highest.sort(key=lambda place: (-rank[place], place))
    top = [(graph.id_of(place), float(rank[place])) for place in highest]
    headline, rows, work = _pushes(graph, result) if method == "push" else _rounds(graph, result)
    return Account(
        subject=given.name,
        headline=headline,
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("arcs count", "by their weights" if graph.weighted else "1 each"),
            *_ending(graph, result),
            ("highest ranks", ", ".join(f"{rank:.3g} of vertex {vertex}" for vertex, rank in top)),
            *rows,
        ],
        fields={
            "graph": given.fields,
            "alpha": alpha,
            "personalization": personalization,
            "dangling": dangling,
            "nstart": nstart,
            "max_iter": max_iter,
            "tol": tol,
            "fixed_rounds": rounds,
            "method": method,
            "priorities": not no_priorities,
            "fused": not no_fused,
            "work": work,
            "result": {
                "converged": result.converged,
                "residual": result.residual,
                "sum": float(rank.sum()),
                "highest": [{"vertex": vertex, "rank": rank} for vertex, rank in top],
            },
        },
        arrays={"ids": graph.ids, "rank": rank},
        verify=lambda: verify(graph, result),
    )


def _numbers(job: Job, graph: Graph, what: str, path: str | None) -> dict[int, float] | None:
    """The numbers in a file; UsageError for a vertex that the graph does not have: in a file that is a slip."""
    if path is None:
        return None
    numbers = job.load(what, [path], lambda: read_vertex_numbers(path))
    graph.numbering.places(numbers, what)
    return numbers


def _rounds(graph: Graph, result: PageRankResult) -> tuple[str, list[Row], dict[str, Any]]:
    """How much was done by rounds: a headline, rows, and fields."""
    rate = graph.arcs * result.rounds / result.report.run_seconds
    headline = f"{result.rounds:,} rounds, {rate / 1e6:,.1f} million arcs a second"
    rows = [("rate", f"{rate / 1e6:,.1f} million arcs/s")]
    return headline, rows, {"rounds": result.rounds, "arcs_per_second": rate}


def _pushes(graph: Graph, result: PageRankResult) -> tuple[str, list[Row], dict[str, Any]]:
    """The same of residual push."""
    each = (result.pushes or 0) / graph.vertices
    headline = f"{each:,.1f} pushes for each vertex"
    rows = [
        ("pushes", f"{result.pushes:,}, {each:,.1f} for each vertex, in {result.looks:,} looks; {result.adds:,} adds"),
        ("between devices", f"{result.sent:,} sums sent; {result.suppressed:,} times one was left to gather more"),
    ]
    work = {name: getattr(result, name) for name in ("looks", "pushes", "adds", "sent", "suppressed")}
    return headline, rows, work


def _ending(graph: Graph, result: PageRankResult) -> list[Row]:
    limit = result.rules.tol * graph.vertices
    ending = "converged" if result.converged else "not converged"
    than = "less" if result.converged else "not less"
    done = ("method", f"push, {ending}") if result.pushes is not None else ("rounds", f"{result.rounds:,}, {ending}")
    return [
        done,
        ("residual", f"{result.residual:.3g}, {than} than {limit:.3g}: {result.rules.tol:g} for each vertex"),
    ]

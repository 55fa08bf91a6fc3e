"""The command `pagerank`."""

from __future__ import annotations

from typing import Optional

import numpy as np
import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.pagerank import verify

DAMPING = typer.Option(0.85, help="Share of a vertex's rank that follows its arcs.")
ROUNDS = typer.Option(10, help="Most rounds.")
TOLERANCE = typer.Option(0.0, help="End when the ranks together change by less.", show_default="all rounds")
SHOWN = 5


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "pagerank",
        with_graph(body, weights_used=False),
        summary="PageRank of every vertex, over all devices.",
        examples=[
            "pagerank data/USA-road-d.NY.gr.gz --rounds 10 --devices cpu:4 --verify",
            "pagerank GRAPH --rounds 100 --tolerance 1e-6 --devices cuda:0-3 --json run.json --output ranks.npz",
        ],
        verify="Compare every rank with SciPy's power iteration.",
        output="Write ranks as .npz: arrays `ids` and `rank`, float64.",
    )


def body(
    job: Job,
    given: GraphInput,
    damping: float = DAMPING,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
    partition: Optional[str] = PARTITION,
) -> Account:
    """What the command does."""
    require_partition(partition)
    graph = given.graph
    result = laneway.pagerank(
        graph, damping=damping, rounds=rounds, tolerance=tolerance, partition=partition, **job.options
    )
    rate = graph.arcs * result.rounds / result.report.run_seconds
    rank = result.rank.values
    highest = np.argpartition(-rank, min(SHOWN, graph.vertices) - 1)[:SHOWN].tolist()
    highest.sort(key=lambda place: (-rank[place], place))
    top = [(graph.id_of(place), float(rank[place])) for place in highest]
    return Account(
        subject=given.name,
        headline=f"{result.rounds:,} rounds, {rate / 1e6:,.1f} million arcs a second",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("rounds", f"{result.rounds:,}, the last changed the ranks by {result.change:.3g}"),
            ("highest ranks", ", ".join(f"{rank:.3g} of vertex {vertex}" for vertex, rank in top)),
            ("rate", f"{rate / 1e6:,.1f} million arcs/s"),
        ],
        fields={
            "graph": given.fields,
            "damping": damping,
            "tolerance": tolerance,
            "work": {"rounds": result.rounds, "arcs_per_second": rate},
            "result": {
                "change": result.change,
                "sum": float(result.rank.sum()),
                "highest": [{"vertex": vertex, "rank": rank} for vertex, rank in top],
            },
        },
        arrays={"ids": given.graph.ids, "rank": result.rank.values},
        verify=lambda: verify(graph, result),
    )

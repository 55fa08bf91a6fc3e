"""The command `indegree`."""

from __future__ import annotations

import numpy as np
import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import GraphInput, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.indegree import verify

WALK = typer.Option("lists", help="lists: a lane walks a vertex's list, lanes diverge. arcs: lanes walk in step.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "indegree",
        with_graph(body, weights_used=False),
        summary="Number of arcs that lead to each vertex, over all devices.",
        examples=[
            "indegree data/USA-road-d.NY.gr.gz --devices cpu:4 --verify",
            "indegree GRAPH --walk arcs --devices cuda:0-3 --json run.json --output degrees.npz",
        ],
        verify="Compare every in-degree with NumPy's bincount.",
        output="Write in-degrees as .npz: arrays `ids` and `in_degree`, uint64.",
    )


def body(job: Job, given: GraphInput, walk: str = WALK) -> Account:
    """What the command does."""
    result = laneway.indegree(given.graph, walk=walk, **job.options)
    degrees = result.in_degree.values
    most = int(degrees.max()) if degrees.size else 0
    reached = int(np.count_nonzero(degrees))
    rate = given.graph.arcs / result.report.run_seconds
    return Account(
        subject=given.name,
        headline=f"{given.graph.arcs:,} arcs counted, {rate / 1e6:,.1f} million a second",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("walk", walk),
            ("in-degree", f"{most:,} at most, above 0 for {reached:,} vertices"),
            ("rate", f"{rate / 1e6:,.1f} million arcs/s"),
        ],
        fields={
            "graph": given.fields,
            "walk": walk,
            "result": {"max": most, "reached": reached, "sum": int(degrees.sum()), "arcs_per_second": rate},
        },
        arrays={"ids": given.graph.ids, "in_degree": degrees},
        verify=lambda: verify(given.graph, degrees),
    )

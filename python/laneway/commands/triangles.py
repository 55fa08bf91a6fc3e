"""The command `triangles`."""

from __future__ import annotations

import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import GraphInput, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.triangles import verify_triangles


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "triangles",
        with_graph(body, weights_used=False),
        summary="Triangles of a graph and of each vertex, over all devices.",
        examples=[
            "triangles GRAPH --devices cpu:4 --verify",
            "triangles GRAPH --devices cuda:0-3 --json run.json --output triangles.npz",
        ],
        verify="Compare every count with marking the neighbours of each vertex on one core.",
        output="Write counts as .npz: arrays `ids` and `triangles`, uint64.",
    )


def body(job: Job, given: GraphInput) -> Account:
    """What the command does."""
    result = laneway.triangles(given.graph, **job.options)
    counts = result.triangles.values
    most = int(counts.max()) if counts.size else 0
    corners = int((counts > 0).sum())
    return Account(
        subject=given.name,
        headline=f"{result.total:,} triangles",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("triangles", f"{result.total:,}"),
            ("of a vertex", f"{most:,} at most, above 0 for {corners:,} vertices"),
        ],
        fields={
            "graph": given.fields,
            "result": {"triangles": result.total, "max": most, "corners": corners},
        },
        arrays={"ids": given.graph.ids, "triangles": counts},
        verify=lambda: verify_triangles(given.graph, result),
    )

"""The command `lcc`."""

from __future__ import annotations

import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import GraphInput, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.triangles import verify_clustering


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "lcc",
        with_graph(body, weights_used=False),
        summary="Local clustering coefficient of every vertex, over all devices.",
        examples=[
            "lcc GRAPH --devices cpu:4 --verify",
            "lcc GRAPH --devices cuda:0-3 --json run.json --output clustering.npz",
        ],
        verify="Compare every coefficient with marking the neighbours of each vertex on one core.",
        output="Write coefficients as .npz: arrays `ids` and `coefficient`, float64.",
    )


def body(job: Job, given: GraphInput) -> Account:
    """What the command does."""
    result = laneway.local_clustering(given.graph, **job.options)
    coefficient = result.coefficient.values
    above = int((coefficient > 0).sum())
    return Account(
        subject=given.name,
        headline=f"{result.average:.6f} on average",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("average", f"{result.average:.6f}"),
            ("coefficient", f"above 0 for {above:,} vertices"),
        ],
        fields={"graph": given.fields, "result": {"average": result.average, "above_0": above}},
        arrays={"ids": given.graph.ids, "coefficient": coefficient},
        verify=lambda: verify_clustering(given.graph, result),
    )

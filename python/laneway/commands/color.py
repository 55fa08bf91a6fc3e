"""The command `color`."""

from __future__ import annotations

from typing import Optional

import numpy as np
import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.color import verify

ORDER = typer.Option(1, help="Seed of the order in which vertices of like degree choose.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "color",
        with_graph(body, weights_used=False),
        summary="A colour for every vertex that no neighbour has, over all devices.",
        examples=[
            "color data/USA-road-d.NY.gr.gz --devices cpu:4 --verify",
            "color GRAPH --order 7 --devices cuda:0-3 --json run.json --output colors.npz",
        ],
        verify="Compare every colour with greedy colouring on one core, and look for neighbours of one colour.",
        output="Write colours as .npz: arrays `ids` and `color`, uint32.",
    )


def body(job: Job, given: GraphInput, order: int = ORDER, partition: Optional[str] = PARTITION) -> Account:
    """What the command does."""
    require_partition(partition)
    result = laneway.color(given.graph, order=order, partition=partition, **job.options)
    sizes = np.bincount(result.color.values, minlength=1)
    return Account(
        subject=given.name,
        headline=f"{result.colors:,} colours in {result.rounds:,} rounds",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("colours", f"{result.colors:,}, the most frequent {int(sizes.max()):,} times"),
            ("rounds", f"{result.rounds:,}"),
        ],
        fields={
            "graph": given.fields,
            "order": order,
            "work": {"rounds": result.rounds},
            "result": {"colors": result.colors, "vertices_of_color": sizes[: result.colors].tolist()},
        },
        arrays={"ids": given.graph.ids, "color": result.color.values},
        verify=lambda: verify(given.graph, result),
    )

"""The command `cc`."""

from __future__ import annotations

from typing import Optional

import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.cc import verify

METHOD = typer.Option(
    "afforest",
    help="afforest: each device has a part of the graph; most arcs are never looked at. router: the host deals out "
    "arcs to whichever device has room, so they need not fit the devices; each has a forest, and these are merged.",
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "cc",
        with_graph(body, weights_used=False),
        summary="Connected components of a graph, over all devices.",
        examples=[
            "cc data/USA-road-d.NY.gr.gz --devices cpu:4 --verify",
            "cc GRAPH --method router --devices cuda:0,cpu:2",
            "cc GRAPH --devices cuda:0-3 --json run.json --output components.npz",
        ],
        verify="Compare every component with union and find on one core.",
        output="Write components as .npz: arrays `ids` and `component`, uint64.",
    )


def body(job: Job, given: GraphInput, method: str = METHOD, partition: Optional[str] = PARTITION) -> Account:
    """What the command does."""
    require_partition(partition)
    result = laneway.connected_components(given.graph, method=method, partition=partition, **job.options)
    sizes = result.sizes
    largest = int(sizes.max()) if sizes.size else 0
    alone = int((sizes == 1).sum())
    return Account(
        subject=given.name,
        headline=f"{result.components:,} components, the largest of {largest:,} vertices",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("method", method),
            ("components", f"{result.components:,}, {alone:,} of one vertex"),
            ("largest", f"{largest:,} vertices"),
        ],
        fields={
            "graph": given.fields,
            "method": method,
            "result": {"components": result.components, "largest": largest, "of_one_vertex": alone},
        },
        arrays={"ids": given.graph.ids, "component": result.component.values},
        verify=lambda: verify(given.graph, result),
    )

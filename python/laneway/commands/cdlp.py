"""The command `cdlp`."""

from __future__ import annotations

from typing import Optional

import numpy as np
import typer

import laneway
from laneway.account import Account
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.references.cdlp import verify

ROUNDS = typer.Option(10, help="Most rounds in which vertices take labels.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "cdlp",
        with_graph(body, weights_used=False),
        summary="Communities of a graph by label propagation, over all devices.",
        examples=[
            "cdlp data/USA-road-d.NY.gr.gz --devices cpu:4 --verify",
            "cdlp GRAPH --rounds 20 --devices cuda:0-3 --json run.json --output labels.npz",
        ],
        verify="Compare every label with sorting the labels around each vertex on one core.",
        output="Write labels as .npz: arrays `ids` and `label`, the id of a vertex.",
    )


def body(job: Job, given: GraphInput, rounds: int = ROUNDS, partition: Optional[str] = PARTITION) -> Account:
    """What the command does."""
    require_partition(partition)
    result = laneway.label_propagation(given.graph, rounds=rounds, partition=partition, **job.options)
    sizes = np.unique(result.label.values, return_counts=True)[1]
    largest = int(sizes.max()) if sizes.size else 0
    end = "labels stay as they are" if result.converged else "labels still change"
    return Account(
        subject=given.name,
        headline=f"{result.labels:,} labels after {result.rounds:,} rounds",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[
            *given.rows,
            ("labels", f"{result.labels:,}, the most frequent at {largest:,} vertices"),
            ("rounds", f"{result.rounds:,}, {end}"),
        ],
        fields={
            "graph": given.fields,
            "rounds": rounds,
            "work": {"rounds": result.rounds},
            "result": {"labels": result.labels, "largest": largest, "converged": result.converged},
        },
        arrays={"ids": given.graph.ids, "label": result.label.values},
        verify=lambda: verify(given.graph, result, rounds),
    )

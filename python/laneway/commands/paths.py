"""The commands `sssp` and `bfs`."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np
import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, Row
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.programs.paths import Result, source_index
from laneway.references.paths import verify

SOURCE = typer.Option(..., help="Vertex to start from, as the file numbers its vertices.")
DELTA = typer.Option(None, help="Width of a priority step.", show_default="chosen from the graph")


def add_to(app: typer.Typer) -> None:
    """Add both commands; they take the same options."""
    for program, summary in (
        (laneway.sssp, "Shortest paths by weight from one vertex to all others, over all devices."),
        (laneway.bfs, "Fewest arcs from one vertex to all others, over all devices."),
    ):
        name = program.__name__
        add_program(
            app,
            name,
            with_graph(body_of(program)),
            summary=summary,
            examples=[
                f"{name} data/USA-road-d.NY.gr.gz --source 1",
                f"{name} data/USA-road-d.NY.gr.gz --source 1 --devices cpu:4 --verify --plot run.png",
                f"{name} GRAPH --source 1 --devices cuda:0-3 --partition metis --json run.json --output distances.npz",
            ],
            verify="Compare every distance with a reference answer.",
            output="Write distances as .npz: array `distance`, int64, -1 where unreachable.",
        )


def body_of(program: Callable[..., Result]) -> Callable[..., Account]:
    """What the command of a program of this kind does."""

    def body(
        job: Job,
        given: GraphInput,
        source: int = SOURCE,
        delta: Optional[int] = DELTA,
        partition: Optional[str] = PARTITION,
    ) -> Account:
        require_partition(partition)
        graph, name = given.graph, program.__name__
        source_index(graph, source)
        result = program(graph, source, delta=delta, partition=partition, **job.options)
        unit = _distance_unit(name, graph)
        return Account(
            subject=f"{given.name} from vertex {source}",
            headline=f"{result.reached:,} of {graph.vertices:,} vertices reached with "
            f"{result.items / max(result.least_items, 1):.2f} times the least work",
            report=result.report,
            seconds={"partition": result.partition_seconds},
            rows=[*given.rows, *_rows(result, graph, unit)],
            fields={
                "graph": given.fields,
                "source": source,
                "work": {"items": result.items, "least_items": result.least_items, "delta": result.delta},
                "result": _result(result, unit),
            },
            arrays={"distance": result.distance},
            verify=lambda: verify(graph, source, result.distance, unit_weights=name == "bfs"),
        )

    return body


def _distance_unit(program: str, graph: laneway.Graph) -> str:
    """What a distance of 1 stands for; the graph's whole weights are `weight_scale` times those of its file."""
    if program == "bfs":
        return "arc"
    return "weight" if graph.weight_scale == 1 else f"weight / {graph.weight_scale}"


def _rows(result: Result, graph: laneway.Graph, unit: str) -> list[Row]:
    over = result.items / result.least_items if result.least_items else 0.0
    rows = [("reached", f"{result.reached:,}, farthest {int(result.distance.max()):,}")]
    if unit not in ("arc", "weight"):
        rows.append(("distance unit", f"1/{graph.weight_scale} of the file's unit of weight"))
    return [
        *rows,
        ("checksum", str(result.checksum)),
        ("work items", f"{result.items:,} done, {over:.2f} times the least possible, {result.least_items:,}"),
    ]


def _result(result: Result, unit: str) -> dict[str, Any]:
    reached = result.distance[result.distance >= 0]
    return {
        "reached": result.reached,
        "max": int(reached.max()),
        "sum": exact_sum(reached),
        "checksum": result.checksum,
        "distance_unit": unit,
    }


def exact_sum(values: NDArray[np.int64]) -> int:
    """Sum of values that are not negative, also where 64 bits do not hold it."""
    high, low = values >> 32, values & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())

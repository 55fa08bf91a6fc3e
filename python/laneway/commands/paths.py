"""The commands `sssp` and `bfs`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Callable, Optional

import numpy as np
import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, Row, printable
from laneway.commands.graph_input import PARTITION, GraphInput, require_partition, with_graph
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.job import Job
from laneway.programs.paths import Result, source_places
from laneway.references.paths import verify

SOURCE = typer.Option(
    ..., help="Vertex to start from, as the file numbers its vertices; several as 1,5,9: the nearest counts."
)
PREDECESSORS = typer.Option(
    False, "--predecessors", help="Write and verify also the vertex before each one on its shortest path."
)
DELTA = typer.Option(None, help="Width of a priority step.", show_default="chosen from the graph")
METHOD = typer.Option(
    "asynchronous",
    help="asynchronous: a vertex stands in a worklist once. near-far: a work item for each improvement, near ones "
    "first, and only those sent that another device can gain by.",
)
NO_PRIORITIES = typer.Option(False, "--no-priorities", help="Work as it comes, not near vertices first.")
NO_FUSED = typer.Option(False, "--no-fused", help="A run for each wave of work, not one for all.")
BFS_METHOD = typer.Option(
    "auto",
    help="asynchronous: all devices at their own pace, for graphs of many levels. levels: one after the other, from "
    "either side, for graphs of few. auto: the one that suits the graph.",
)


def add_to(app: typer.Typer) -> None:
    """Add both commands; they take the same options."""
    for name, body, summary in (
        ("sssp", sssp, "Shortest paths by weight from one vertex to all others, over all devices."),
        ("bfs", bfs, "Fewest arcs from one vertex to all others, over all devices."),
    ):
        add_program(
            app,
            name,
            with_graph(body, weights_used=name == "sssp"),
            summary=summary,
            examples=[
                f"{name} data/USA-road-d.NY.gr.gz --source 1",
                f"{name} data/USA-road-d.NY.gr.gz --source 1 --devices cpu:4 --verify --plot run.png",
                f"{name} GRAPH --source 1 --devices cuda:0-3 --partition metis --json run.json --output distances.npz",
            ],
            verify="Compare every distance with a reference answer.",
            output="Write distances as .npz: arrays `ids` and `distance`, int64, -1 where unreachable.",
        )


def sssp(
    job: Job,
    given: GraphInput,
    source: list[str] = SOURCE,
    method: str = METHOD,
    delta: Optional[int] = DELTA,
    no_priorities: bool = NO_PRIORITIES,
    no_fused: bool = NO_FUSED,
    partition: Optional[str] = PARTITION,
    predecessors: bool = PREDECESSORS,
) -> Account:
    """What the command `sssp` does."""
    how: dict[str, Any] = {"method": method, "delta": delta, "priorities": not no_priorities, "fused": not no_fused}
    run = partial(laneway.sssp, partition=partition, **how, **job.options)
    return _account("sssp", run, job, given, source, partition, predecessors)


def bfs(
    job: Job,
    given: GraphInput,
    source: list[str] = SOURCE,
    method: str = BFS_METHOD,
    delta: Optional[int] = DELTA,
    no_priorities: bool = NO_PRIORITIES,
    no_fused: bool = NO_FUSED,
    partition: Optional[str] = PARTITION,
    predecessors: bool = PREDECESSORS,
) -> Account:
    """What the command `bfs` does."""
    how: dict[str, Any] = {"method": method, "delta": delta, "priorities": not no_priorities, "fused": not no_fused}
    run = partial(laneway.bfs, partition=partition, **how, **job.options)
    return _account("bfs", run, job, given, source, partition, predecessors)


def _account(
    name: str,
    run: Callable[..., Result],
    job: Job,
    given: GraphInput,
    source: list[str],
    partition: Optional[str],
    predecessors: bool,
) -> Account:
    require_partition(partition)
    if predecessors and not job.looks_at_result:
        raise UsageError("--predecessors is for --output or --verify: without them nothing shows it")
    graph, sources = given.graph, numbers(source)
    source_places(graph, sources)
    result = run(graph, sources=sources)
    before = result.trees.before if predecessors else None
    unit = _distance_unit(name, graph)
    arrays = {"distance": result.distance.values}
    if predecessors:
        arrays["predecessor"] = result.predecessor.values
    return Account(
        subject=f"{given.name} from {told(sources)}",
        headline=f"{result.reached:,} of {graph.vertices:,} vertices reached {_effort(result)}",
        report=result.report,
        seconds={"partition": result.partition_seconds},
        rows=[*given.rows, *_rows(result, graph, unit)],
        fields={
            "graph": given.fields,
            "sources": sources,
            "work": _work(result),
            "result": _result(result, unit),
        },
        arrays={"ids": graph.ids, **arrays},
        verify=lambda: verify(graph, sources, result.distance.values, name == "bfs", before),
    )


def numbers(texts: Iterable[str]) -> list[int]:
    """The whole numbers of options such as `1` and `5,9`; UsageError for anything else."""
    words = [word.strip() for text in texts for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise UsageError(f"--source must be a vertex such as 1, or several such as 1,5,9, not {printable(word)!r}")
    return [int(word) for word in words]


def told(sources: Sequence[int]) -> str:
    """Sources as a title names them."""
    if len(sources) == 1:
        return f"vertex {sources[0]}"
    shown = ", ".join(str(source) for source in sources[:3])
    return f"vertices {shown}" if len(sources) <= 3 else f"vertices {shown}, ... ({len(sources):,})"


def _distance_unit(program: str, graph: laneway.Graph) -> str:
    """What a distance of 1 stands for; the graph's whole weights are `weight_scale` times those of its file."""
    if program == "bfs":
        return "arc"
    return "weight" if graph.weight_scale == 1 else f"weight / {graph.weight_scale}"


def _rows(result: Result, graph: laneway.Graph, unit: str) -> list[Row]:
    rows = [("reached", f"{result.reached:,}, farthest {int(result.distance.max()):,}")]
    if unit not in ("arc", "weight"):
        rows.append(("distance unit", f"1/{graph.weight_scale} of the file's unit of weight"))
    rows += [("checksum", str(result.checksum)), ("method", result.method), _work_row(result)]
    if result.useful is not None:
        sent = f"{result.sent:,} sent, {result.suppressed:,} not, as nothing would be gained by them"
        rows += [("of use", f"{result.useful:,} of these"), ("between devices", sent)]
    if result.waves is not None and (result.waves > 1 or result.useful is not None):
        rows.append(("runs", f"{result.waves:,}"))
    if result.overflowed:
        rows.append(("kept by the host", f"{result.overflowed:,} items, for a while, as all queues were full"))
    return rows


def _effort(result: Result) -> str:
    if result.levels is not None:
        return f"in {result.levels:,} levels"
    return f"with {result.items / max(result.min_items, 1):.2f} times the least work"


def _work(result: Result) -> dict[str, Any]:
    if result.levels is not None:
        return {"method": result.method, "levels": result.levels, "pulled": result.pulled}
    work: dict[str, Any] = {
        "method": result.method,
        "items": result.items,
        "min_items": result.min_items,
        "delta": result.delta,
        "waves": result.waves,
    }
    if result.useful is not None:
        work |= {"useful": result.useful, "sent": result.sent, "suppressed": result.suppressed}
        work["overflowed"] = result.overflowed
    return work


def _work_row(result: Result) -> Row:
    if result.levels is not None:
        return ("levels", f"{result.levels:,}, {result.pulled:,} of them found from vertices not yet reached")
    over = result.items / result.min_items if result.min_items else 0.0
    return ("work items", f"{result.items:,} done, {over:.2f} times the least possible, {result.min_items:,}")


def _result(result: Result, unit: str) -> dict[str, Any]:
    distance = result.distance.values
    reached = distance[distance >= 0]
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

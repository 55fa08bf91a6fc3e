"""The command `kmeans`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, Row, printable
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.job import Job
from laneway.points import read_points
from laneway.programs.kmeans import KmeansResult
from laneway.references.kmeans import verify

POINTS = typer.Argument(..., help="Points, a row each: .npy, .npz, or text with commas or blanks, also gzip or xz.")
CLUSTERS = typer.Option(..., "--clusters", "-k", help="Number of clusters.")
INIT = typer.Option(
    "k-means++", help="Where centroids start: k-means++, random, first, or a file with a row a cluster."
)
INIT_SEED = typer.Option(1, help="Seed of --init k-means++ and random.")
TOLERANCE = typer.Option(
    0.0, help="Ends when the squared movements of centroids sum up to this times the columns' mean variance."
)
MAX_ROUNDS = typer.Option(300, help="Most rounds.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "kmeans",
        body,
        summary="Clusters of points around centroids, by Lloyd's algorithm, over all devices.",
        examples=[
            "generate blobs 100000 2 8 --output points.npy",
            "kmeans points.npy -k 8 --devices cpu:2 --verify",
            "kmeans points.npy -k 8 --init first --output clusters.npz --json run.json",
        ],
        verify="Compare labels, centroids and inertia with a reference answer.",
        output="Write clusters as .npz: `labels`, uint32, a point each; `centroids`, a row a cluster.",
    )


def body(
    job: Job,
    points: str = POINTS,
    clusters: int = CLUSTERS,
    init: str = INIT,
    init_seed: int = INIT_SEED,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> Account:
    """What the command does."""
    rows = job.load("points", [points], lambda: read_points(points))
    result = laneway.kmeans(
        rows,
        clusters,
        init=_start(job, init),
        init_seed=init_seed,
        tolerance=tolerance,
        max_rounds=max_rounds,
        **job.options,
    )
    ending = "settled" if result.converged else "not settled yet"
    return Account(
        subject=f"{printable(points)} into {clusters} clusters",
        headline=f"{len(rows):,} points of {rows.shape[1]} dimensions in {result.rounds} rounds, {ending}",
        report=result.report,
        rows=_rows(rows, result, ending),
        fields={
            "points": {"path": points, "count": len(rows), "dimensions": rows.shape[1], "type": str(rows.dtype)},
            "clusters": clusters,
            "init": {"method": init, "seed": init_seed},
            "work": {"rounds": result.rounds, "converged": result.converged, "empties": result.empties},
            "result": {"inertia": result.inertia, "sizes": result.sizes.tolist()},
        },
        arrays={"labels": result.labels, "centroids": result.centroids},
        verify=lambda: verify(rows, result),
    )


def _start(job: Job, init: str) -> str | NDArray[Any]:
    if init in ("k-means++", "random", "first"):
        return init
    if not Path(init).exists():
        raise UsageError(f"--init must be k-means++, random, first or a file, not {init}")
    return job.load("centroids", [init], lambda: read_points(init))


def _rows(points: NDArray[Any], result: KmeansResult, ending: str) -> list[Row]:
    count, dimensions = points.shape
    second = count * result.rounds / max(result.report.run_seconds, 1e-9)
    rows = [
        ("points", f"{count:,} of {dimensions} dimensions, {points.dtype}"),
        ("clusters", f"{len(result.sizes):,} of {int(result.sizes.min()):,} to {int(result.sizes.max()):,} points"),
        ("inertia", f"{result.inertia:.9g}"),
        ("rounds", f"{result.rounds}, {ending}; {second / 1e6:,.3g} million points a second"),
    ]
    if result.empties:
        rows.append(("empty clusters", f"{result.empties:,}, summed over rounds; they kept their centroids"))
    return rows

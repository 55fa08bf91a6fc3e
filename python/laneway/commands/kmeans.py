"""The command `kmeans`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import numpy as np
import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, Row, printable
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.job import Job
from laneway.points import read_points
from laneway.programs.kmeans import MAX_ITER, TOL, KmeansResult
from laneway.references.kmeans import verify

POINTS = typer.Argument(..., help="Points, a row each: .npy, .npz, or text with commas or blanks, also gzip or xz.")
CLUSTERS = typer.Option(..., "--n-clusters", "-k", help="Number of clusters.")
WEIGHT = typer.Option(
    None, help="How much each point counts: a file as POINTS, with one number a row.", show_default="all alike"
)
INIT = typer.Option("k-means++", help="Where centers start: k-means++, random, first, or a file with a row a cluster.")
STARTS = typer.Option(None, help="Starts of which the best is taken.", show_default="10 for --init random, else 1")
RANDOM_STATE = typer.Option(0, help="Seed of --init k-means++ and random.")
LIMIT = typer.Option(
    TOL, help="Ends when the squared movements of centers sum up to this times the columns' mean variance."
)
MOST = typer.Option(MAX_ITER, help="Most rounds.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "kmeans",
        body,
        summary="Clusters of points around centers, by Lloyd's algorithm, over all devices.",
        examples=[
            "generate blobs 100000 2 8 --output points.npy",
            "kmeans points.npy -k 8 --devices cpu:2 --verify",
            "kmeans points.npy -k 8 --init first --output clusters.npz --json run.json",
        ],
        verify="Compare labels, centers and inertia with a reference answer.",
        output="Write clusters as .npz: `labels`, int32, a point each; `cluster_centers`, a row a cluster.",
    )


def body(
    job: Job,
    points: str = POINTS,
    n_clusters: int = CLUSTERS,
    sample_weight: Optional[str] = WEIGHT,
    init: str = INIT,
    n_init: Optional[int] = STARTS,
    max_iter: int = MOST,
    tol: float = LIMIT,
    random_state: int = RANDOM_STATE,
) -> Account:
    """What the command does."""
    rows = job.load("points", [points], lambda: read_points(points))
    weights = _weights(job, sample_weight)
    result = laneway.kmeans(
        rows,
        n_clusters,
        sample_weight=weights,
        init=_start(job, init),
        n_init="auto" if n_init is None else n_init,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        **job.options,
    )
    ending = "converged" if result.converged else "not converged"
    return Account(
        subject=f"{printable(points)} into {n_clusters} clusters",
        headline=f"{len(rows):,} points of {rows.shape[1]} dimensions in {result.n_iter} rounds, {ending}",
        report=result.report,
        rows=_rows(rows, result, ending),
        fields={
            "points": {"path": points, "count": len(rows), "dimensions": rows.shape[1], "type": str(rows.dtype)},
            "n_clusters": n_clusters,
            "sample_weight": sample_weight,
            "init": {"method": init, "n_init": n_init or "auto", "random_state": random_state},
            "max_iter": max_iter,
            "tol": tol,
            "work": {"n_iter": result.n_iter, "converged": result.converged, "empties": result.empties},
            "result": {"inertia": result.inertia, "sizes": result.sizes.tolist()},
        },
        arrays={"labels": result.labels, "cluster_centers": result.cluster_centers},
        verify=lambda: verify(rows, result, weights),
    )


def _weights(job: Job, path: str | None) -> NDArray[np.float64] | None:
    if path is None:
        return None
    column = job.load("weights", [path], lambda: read_points(path))
    if column.shape[1] != 1:
        raise UsageError(f"{path}: has {column.shape[1]} numbers a row, not one weight a point")
    return column[:, 0].astype(np.float64)


def _start(job: Job, init: str) -> str | NDArray[Any]:
    if init in ("k-means++", "random", "first"):
        return init
    if not Path(init).exists():
        raise UsageError(f"--init must be k-means++, random, first or a file, not {init}")
    return job.load("centers", [init], lambda: read_points(init))


def _rows(points: NDArray[Any], result: KmeansResult, ending: str) -> list[Row]:
    count, dimensions = points.shape
    second = count * result.n_iter / max(result.report.run_seconds, 1e-9)
    rows = [
        ("points", f"{count:,} of {dimensions} dimensions, {points.dtype}"),
        ("clusters", f"{len(result.sizes):,} of {int(result.sizes.min()):,} to {int(result.sizes.max()):,} points"),
        ("inertia", f"{result.inertia:.9g}"),
        ("rounds", f"{result.n_iter}, {ending}; {second / 1e6:,.3g} million points a second"),
    ]
    if result.empties:
        rows.append(("empty clusters", f"{result.empties:,}, summed over rounds; they kept their centers"))
    return rows

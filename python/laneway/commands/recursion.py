"""The commands `recursion ...`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Callable

import numpy as np
import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, Row
from laneway.arguments import require_whole
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.programs.recursion import MEMORY_BYTES, TREES, RecursionResult
from laneway.references import recursion as references
from laneway.verification import Verification

GRAIN = "What one lane does by itself: "
WIDTH = typer.Option(
    0,
    help="Elements of a level of a channel on a device, rounded up to a power of two, as the report tells; "
    "0: as many as the memory holds.",
)
SCHEDULER = typer.Option(
    "each",
    help="Who decides what warps run: each for itself, one warp of each device for all, or a thread of the host.",
)
MEMORY = typer.Option(MEMORY_BYTES, help="Bytes of all channels on a device, and of what warps keep.")

recursion = typer.Typer(no_args_is_help=True, help="Programs that spawn their own work, in bounded memory.")


@recursion.callback()
def group() -> None:
    """Programs that spawn their own work, in bounded memory."""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for name, body, summary, example, verify, output in (
        (
            "fibonacci",
            fibonacci,
            "Fibonacci numbers by their definition: almost nothing but calls.",
            "fibonacci 25 --devices cpu:2 --verify",
            "Compare with additions.",
            None,
        ),
        (
            "queens",
            queens,
            "In how many ways queens can stand on a board so that none attacks another.",
            "queens 10 --devices cpu:2 --verify",
            "Compare with the published number.",
            None,
        ),
        (
            "quadrature",
            quadrature,
            "The integral of two peaks by adaptive quadrature.",
            "quadrature --tolerance 1e-9 --verify",
            "Compare with the closed form.",
            None,
        ),
        (
            "sort",
            sort,
            "Random keys by merge sort.",
            "sort --keys 100000 --devices cpu:2 --verify",
            "Compare with NumPy's sort.",
            "Write the keys as .npz: array `keys`, uint32.",
        ),
        (
            "strassen",
            strassen,
            "A product of random matrices by Strassen's seven products.",
            "strassen --rows 128 --devices cpu:2 --verify",
            "Compare with NumPy's product.",
            "Write the product as .npz: array `product`, uint32.",
        ),
        (
            "uts",
            uts,
            "The nodes of a tree of the UTS benchmark.",
            "uts T1 --devices cpu:2 --verify",
            "Compare with the benchmark's numbers.",
            None,
        ),
    ):
        add_program(
            recursion,
            name,
            body,
            summary=summary,
            examples=[f"recursion {example}"],
            verify=verify,
            output=output,
        )
    app.add_typer(recursion, name="recursion")


def fibonacci(
    job: Job,
    n: int = typer.Argument(help="0 to 90."),
    grain: int = typer.Option(1, help=GRAIN + "calls for numbers up to this one."),
    width: int = WIDTH,
    memory_bytes: int = MEMORY,
    scheduler: str = SCHEDULER,
) -> Account:
    """What the command does."""
    result = laneway.fibonacci(
        n, grain=grain, width=width, memory_bytes=memory_bytes, scheduler=scheduler, **job.options
    )
    rate = f"{result.calls / result.report.run_seconds / 1e6:.3g} M calls/s"
    rows = [("calls", f"{result.calls:,}"), ("rate", rate)]
    return _account(
        f"fibonacci({n})",
        f"{result.value:,}",
        result,
        rows,
        {"n": n, "grain": grain, "value": result.value, "calls": result.calls},
        partial(references.verify_fibonacci, result),
    )


def queens(
    job: Job,
    n: int = typer.Argument(help="1 to 24."),
    grain: int = typer.Option(0, help=GRAIN + "so many last rows; 9 to 14, its block does; 0: as suits devices."),
    width: int = WIDTH,
    memory_bytes: int = MEMORY,
    scheduler: str = SCHEDULER,
) -> Account:
    """What the command does."""
    result = laneway.queens(n, grain=grain, width=width, memory_bytes=memory_bytes, scheduler=scheduler, **job.options)
    return _account(
        f"{n} queens",
        f"{result.solutions:,} solutions",
        result,
        [],
        {"n": n, "grain": grain, "solutions": result.solutions},
        partial(references.verify_queens, result),
    )


def quadrature(
    job: Job,
    start: float = typer.Option(0.0, help="Where the integral begins,"),
    end: float = typer.Option(1.0, help="and where it ends."),
    tolerance: float = typer.Option(1e-6, help="Its error, about."),
    width: int = WIDTH,
    memory_bytes: int = MEMORY,
    scheduler: str = SCHEDULER,
) -> Account:
    """What the command does."""
    result = laneway.quadrature(
        start, end, tolerance=tolerance, width=width, memory_bytes=memory_bytes, scheduler=scheduler, **job.options
    )
    return _account(
        f"two peaks from {start:g} to {end:g}",
        f"{result.area!r}",
        result,
        [("intervals", f"{result.intervals:,}")],
        {"start": start, "end": end, "tolerance": tolerance, "area": result.area, "intervals": result.intervals},
        partial(references.verify_quadrature, result),
    )


def sort(
    job: Job,
    keys: int = typer.Option(1_000_000, help="How many random keys are sorted."),
    keys_seed: int = typer.Option(1, help="Which ones."),
    grain: int = typer.Option(0, help=GRAIN + "keys that it sorts; above 64, its block does; 0: as suits devices."),
    width: int = WIDTH,
    memory_bytes: int = MEMORY,
    scheduler: str = SCHEDULER,
) -> Account:
    """What the command does."""
    require_whole("keys", keys, bits=31)
    require_whole("keys_seed", keys_seed)
    given = _random_words(keys, keys_seed)
    result = laneway.merge_sort(
        given, grain=grain, width=width, memory_bytes=memory_bytes, scheduler=scheduler, **job.options
    )
    rate = f"{keys / result.report.run_seconds / 1e6:.3g} M keys/s" if keys else "no keys"
    verify = partial(references.verify_array, "NumPy's sort", "keys", result.keys, lambda: np.sort(given))
    fields = {"keys": keys, "keys_seed": keys_seed, "grain": grain}
    return _account(f"{keys:,} keys", rate, result, [("rate", rate)], fields, verify)


def strassen(
    job: Job,
    rows: int = typer.Option(256, help="Of the matrices: a power of two."),
    elements_seed: int = typer.Option(1, help="Which random elements they have."),
    grain: int = typer.Option(
        0, help=GRAIN + "blocks of so many rows; of 32 to 1,024, its block does; 0: as suits devices."
    ),
    width: int = WIDTH,
    memory_bytes: int = MEMORY,
    scheduler: str = SCHEDULER,
) -> Account:
    """What the command does."""
    require_whole("rows", rows, 1, bits=16)
    require_whole("elements_seed", elements_seed)
    words = _random_words(2 * rows * rows, elements_seed)
    a, b = words.reshape(2, rows, rows)
    result = laneway.strassen(
        a, b, grain=grain, width=width, memory_bytes=memory_bytes, scheduler=scheduler, **job.options
    )
    verify = partial(references.verify_array, "NumPy's product", "elements", result.product, lambda: a @ b)
    fields = {"rows": rows, "elements_seed": elements_seed, "grain": grain}
    return _account(f"{rows} by {rows} elements", f"{rows} rows", result, [], fields, verify)


def uts(
    job: Job,
    tree: str = typer.Argument("T1", help=", ".join(TREES)),
    width: int = WIDTH,
    memory_bytes: int = MEMORY,
    scheduler: str = SCHEDULER,
) -> Account:
    """What the command does."""
    result = laneway.uts(tree, width=width, memory_bytes=memory_bytes, scheduler=scheduler, **job.options)
    rate = f"{result.nodes / result.report.run_seconds / 1e6:.3g} M nodes/s"
    return _account(
        f"tree {tree}",
        f"{result.nodes:,} nodes",
        result,
        [("leaves", f"{result.leaves:,}"), ("depth", str(result.depth)), ("rate", rate)],
        {"tree": tree, "nodes": result.nodes, "leaves": result.leaves, "depth": result.depth},
        partial(references.verify_tree, result),
    )


def _random_words(count: int, seed: int) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)


def _account(
    subject: str,
    headline: str,
    result: RecursionResult,
    rows: list[Row],
    fields: Mapping[str, object],
    verify: Callable[[], Verification],
) -> Account:
    did = result.channels
    own = [
        ("result", headline),
        *rows,
        ("dispatches", f"{did.dispatches:,}, {100 * did.full_share:.3g} % full, {did.elements_each:.3g} elements each"),
        ("channels", f"{did.width:,} elements a level; {did.yields:,} put back, {did.moved:,} moved"),
        ("idle turns", f"{100 * did.idle_share:.3g} % of {did.idle_turns + did.dispatches:,}"),
    ]
    arrays = {name: getattr(result, name) for name in ("keys", "product") if hasattr(result, name)}
    channels = {
        "width": did.width,
        "consumed": did.consumed,
        "dispatches": did.dispatches,
        "full_dispatches": did.full_dispatches,
        "yields": did.yields,
        "moved": did.moved,
        "peak": did.peak,
        "produced": did.produced,
        "stalls": did.stalls,
        "kept": did.kept,
        "given": did.given,
        "idle_turns": did.idle_turns,
        "channels": [asdict(one) for one in did.channels],
    }
    return Account(
        subject=subject,
        headline=headline,
        report=result.report,
        rows=own,
        fields={**fields, "channels": channels},
        verify=verify,
        arrays=arrays,
    )

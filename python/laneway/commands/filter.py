"""The command `filter`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, printable
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.job import Job
from laneway.points_file import load_points
from laneway.programs.filter import BUFFERS, FilterResult
from laneway.references.filter import verify

VALUES = typer.Argument(..., help="Numbers: .npy, .npz, or text with one a line, also gzip or xz.")
CONDITION = typer.Argument(..., help="What holds for those that are kept: 'x > 0.5', 'x >= 10 and x < 20'.")
POLICY = typer.Option("available", help="available: a packet goes to whichever device has room. even: equal parts.")
PACKET = typer.Option(None, help="Bytes of the array that a device takes at once.", show_default="64 KiB to 4 MiB")
HOLDS = typer.Option(BUFFERS, "--buffers", help="Packets that a device holds.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "filter",
        body,
        summary="The numbers of an array that a condition holds for, streamed to all devices.",
        examples=[
            "filter values.npy 'x > 0.5' --devices cpu:2 --verify",
            "filter values.npy 'x >= 10 and x < 20' --devices cuda:0,cpu:1 --output kept.npz",
        ],
        verify="Compare what is kept with a mask of NumPy's.",
        output="Write what is kept as .npz: array `values`.",
    )


def body(
    job: Job,
    values: str = VALUES,
    condition: str = CONDITION,
    policy: str = POLICY,
    packet_bytes: Optional[int] = PACKET,
    buffers: int = HOLDS,
) -> Account:
    """What the command does."""
    numbers = job.load("values", [values], lambda: _read(values))
    result = laneway.filter(
        numbers, condition, policy=policy, packet_bytes=packet_bytes, buffers=buffers, **job.options
    )
    count, kept = len(numbers), len(result.values)
    rate = numbers.nbytes / max(result.report.run_seconds, 1e-9)
    return Account(
        subject=f"{printable(values)} by {printable(condition)}",
        headline=f"{kept:,} of {count:,} numbers kept",
        report=result.report,
        rows=[
            ("numbers", f"{count:,}, {numbers.dtype}"),
            ("kept", f"{kept:,}"),
            ("each device", _shares(result)),
            ("rate", f"{rate / 1e9:,.3g} GB of the array a second"),
            *([("likely faster", result.hint)] if result.hint else []),
        ],
        fields={
            "values": {"path": values, "count": count, "type": str(numbers.dtype)},
            "condition": condition,
            "policy": policy,
            "buffers": buffers,
            "work": {"elements": list(result.elements), "packets": list(result.packets)},
            "hint": result.hint,
            "result": {"kept": kept, "bytes_per_second": rate},
        },
        arrays={"values": result.values},
        verify=lambda: verify(numbers, condition, result.values),
    )


def _read(path: str) -> NDArray[Any]:
    array = load_points(Path(path))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UsageError(f"{path}: holds an array of shape {array.shape}, not a list of numbers")
    return array


def _shares(result: FilterResult) -> str:
    total = max(sum(result.elements), 1)
    shares = (f"{100 * elements / total:.0f} %" for elements in result.elements)
    return ", ".join(f"{name} {share}" for name, share in zip(result.report.devices, shares))

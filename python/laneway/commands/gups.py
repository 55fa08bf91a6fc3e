"""The command `gups`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import numpy as np
import typer

import laneway
from laneway.account import Account, Row
from laneway.commands.program import add_program
from laneway.job import Job
from laneway.programs.gups import GupsResult
from laneway.references.gups import verify

MODE = typer.Option("free", help="hpcc, free, binned or raw.")
LOG2_WORDS = typer.Option(None, help="The table has 2^M words of 8 bytes, over all devices.", show_default="22")
SIZE = typer.Option(None, help="Bytes of the table on each device, instead of --log2-words.")
UPDATES = typer.Option(None, help="Updates over all devices.", show_default="four times the words")
LOOK_AHEAD = typer.Option(1024, help="Mode hpcc: most updates that a device holds back.")
REGION_BYTES = typer.Option(2**21, help="Mode binned: part of a device's table that is swept at once; a power of two.")
ROUND_UPDATES = typer.Option(
    None, help="Mode binned: updates that a device logs before it sweeps.", show_default="half as many as its words"
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "gups",
        body,
        summary="Random updates of a table over all devices: HPC Challenge RandomAccess.",
        examples=[
            "gups --devices cpu:2 --verify",
            "gups --log2-words 20 --mode hpcc --devices cpu:2 --verify",
            "gups --size 4294967296 --mode binned --devices cuda:0-3 --json run.json",
        ],
        verify="Compare every word with a run that sends no messages.",
        output="Write the table as .npz: array `table`, uint64.",
    )


def body(
    job: Job,
    mode: str = MODE,
    log2_words: Optional[int] = LOG2_WORDS,
    size: Optional[int] = SIZE,
    updates: Optional[int] = UPDATES,
    look_ahead: int = LOOK_AHEAD,
    region_bytes: int = REGION_BYTES,
    round_updates: Optional[int] = ROUND_UPDATES,
) -> Account:
    """What the command does."""
    result = laneway.gups(
        mode=mode,
        log2_words=log2_words,
        size=size,
        updates=updates,
        look_ahead=look_ahead,
        region_bytes=region_bytes,
        round_updates=round_updates,
        **job.options,
    )
    rate = f"{result.giga_updates_per_second:.3g} G updates/s"
    return Account(
        subject=f"{mode}, {result.words:,} words",
        headline=rate,
        report=result.report,
        rows=_rows(result, rate),
        fields={
            "mode": mode,
            "words": result.words,
            "updates": result.updates,
            "look_ahead": result.look_ahead,
            "work": {"rounds": result.rounds, "refused": result.refused},
            "result": {
                "giga_updates_per_second": result.giga_updates_per_second,
                "mean_chunk_bytes": result.mean_chunk_bytes,
            },
        },
        verify=lambda: verify(result),
        write=lambda file: _save(result, file),
    )


def _rows(result: GupsResult, rate: str) -> list[Row]:
    rows = [("updates", f"{result.updates:,}"), ("rate", rate)]
    if result.look_ahead is not None:
        rows.append(("look-ahead", f"{result.look_ahead:,} updates a device at most"))
    if result.mode == "binned":
        rows.append(("sweeps", f"{result.rounds:,}; {result.refused:,} updates found their log full"))
    return rows


def _save(result: GupsResult, file: Path) -> None:
    with file.open("wb") as stream:
        np.savez(stream, table=result.table())

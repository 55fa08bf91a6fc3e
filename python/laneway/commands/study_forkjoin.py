"""The command `study forkjoin`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Optional

import typer
from rich.table import Table

from laneway.commands.program import BUFFERS, SEED, TIMEOUT
from laneway.commands.study_files import NUMBERS, Progress, run_study
from laneway.forkjoin_plot import draw_forkjoin, occupancy_runs
from laneway.plot import short_number
from laneway.programs.forkjoin_study import SIZES, WIDTHS, ForkJoinRun, study_forkjoin
from laneway.summary import device_ranges, seconds
from laneway.terminal import show


def forkjoin(
    program: list[str] = typer.Option(
        list(SIZES),
        help="fibonacci, queens, sort, strassen, quadrature or uts; may be given several times.",
        show_default="all",
    ),
    sizes: str = typer.Option(
        "", help="Of the programs: thesis, as Orr had them, or small.", show_default="thesis on GPUs, else small"
    ),
    workers: list[int] = typer.Option(
        [],
        help="Blocks of each device, 0 for all that a GPU holds; may be given several times.",
        show_default="1 to all on GPUs, else 1, 2 and 4",
    ),
    width: list[int] = typer.Option(
        list(WIDTHS), help="Elements of a level of a channel; may be given several times.", show_default="64 to 32,768"
    ),
    scheduler: list[str] = typer.Option(
        ["each"],
        help="Who decides what warps run: each, one warp of each device, or a thread of the host; "
        "may be given several times.",
    ),
    runs: int = typer.Option(3, help="Measured runs of each."),
    devices: str = typer.Option(
        "", help="cuda:0, cpu:1 or others; a tree is shared out.", show_default="every GPU, else every core"
    ),
    json: Optional[Path] = NUMBERS,
    plot: Optional[Path] = typer.Option(
        None, help="Draw speedups, widths, full warps and channels by depth: .png, .svg or .pdf."
    ),
    seed: int = SEED,
    timeout: float = TIMEOUT,
    buffer_bytes: int = BUFFERS,
) -> None:
    """Recursive programs on channels: time, dispatches and full warps by workers and by the width of channels, and
    how full channels are by depth."""

    def measure(progress: Progress) -> list[ForkJoinRun]:
        return study_forkjoin(
            program,
            sizes=sizes,
            workers=workers,
            widths=width,
            schedulers=scheduler,
            runs=runs,
            devices=devices,
            seed=seed,
            timeout=timeout,
            buffer_bytes=buffer_bytes,
            progress=progress,
        )

    names, found = run_study("forkjoin", devices, json, plot, measure, _as_row, draw_forkjoin)
    show(_as_table(found), f"recursion on {device_ranges(names)}; by width, warps keep nothing")
    show(_by_channel(occupancy_runs(found)), "channels of the widest; depth: of the fullest queue, of so many in use")


def _as_table(found: list[ForkJoinRun]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("program")
    own = ("dispatches", "full", "elements", "put back", "stalls", "kept", "peak", "idle")
    for column in ("workers", "width", "decides", "median", *own):
        table.add_column(column, justify="right")
    for run in found:
        did = run.channels
        table.add_row(
            f"{run.program} {run.size:,}",
            str(run.workers or "all"),
            f"{run.width:,}",
            run.scheduler,
            seconds(run.median_seconds),
            short_number(did.dispatches),
            f"{100 * did.full_share:.0f} %",
            f"{did.elements_each:.3g}",
            short_number(did.yields),
            short_number(did.stalls),
            short_number(did.kept) if run.memory_bytes and run.scheduler == "each" else "none",
            short_number(did.peak),
            f"{100 * did.idle_share:.0f} %",
        )
    return table


def _by_channel(found: list[ForkJoinRun]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("program")
    table.add_column("channel")
    for column in ("width", "elements", "dispatches", "stalls", "peak", "of width", "depth"):
        table.add_column(column, justify="right")
    for run in found:
        for number, one in enumerate(run.channels.channels):
            peaks = [level.peak for level in one.levels]
            deepest = peaks.index(one.peak) if one.peak in peaks else 0
            table.add_row(
                f"{run.program} {run.size:,}",
                one.name or str(number),
                f"{run.width:,}",
                short_number(one.consumed),
                short_number(one.dispatches),
                short_number(one.stalls),
                short_number(one.peak),
                f"{100 * one.peak / run.width:.3g} %",
                f"{deepest} of {len(one.levels)}",
            )
    return table


def _as_row(run: ForkJoinRun) -> dict[str, object]:
    return {
        "program": run.program,
        "size": run.size,
        "sweep": run.sweep,
        "workers": run.workers,
        "width": run.width,
        "scheduler": run.scheduler,
        "memory_bytes": run.memory_bytes,
        "seconds": list(run.seconds),
        "elements": run.channels.consumed,
        "produced": run.channels.produced,
        "dispatches": run.channels.dispatches,
        "full_dispatches": run.channels.full_dispatches,
        "full_share": run.channels.full_share,
        "elements_each": run.channels.elements_each,
        "yields": run.channels.yields,
        "stalls": run.channels.stalls,
        "kept": run.channels.kept,
        "given": run.channels.given,
        "idle_turns": run.channels.idle_turns,
        "idle_share": run.channels.idle_share,
        "moved": run.channels.moved,
        "peak": run.channels.peak,
        "channels": [asdict(one) for one in run.channels.channels],
    }

"""A picture of services: a lone request there and back, and requests a second, by who serves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from laneway.plot import FAINT, INK, OPEN, SERVED, open_frame
from laneway.programs.service_study import ServiceRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = (SERVED, OPEN, FAINT, INK)


def name_of(run: ServiceRun) -> str:
    """Who serves, as a reader knows it."""
    if run.servers == "host":
        return f"{run.threads} host thread{'s' if run.threads > 1 else ''}"
    return {"warps": "warps of the device", "pe": "warps of another device"}[run.servers]


def draw_service(runs: Sequence[ServiceRun], devices: str, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf")."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    sizes = sorted({run.bytes for run in runs})
    asking = sorted({run.warps for run in runs}, key=lambda warps: warps or float("inf"))
    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        figure = Figure(figsize=(1.5 + 3.6 * (1 + len(sizes)), 4.4), dpi=150, layout="constrained")
        figure.suptitle(f"Services · {devices}", x=0.012, ha="left", weight="bold", size=14)
        panels = figure.subplots(1, 1 + len(sizes), squeeze=False)[0]
        servers = list(dict.fromkeys(name_of(run) for run in runs))
        for number, server in enumerate(servers):
            own = [run for run in runs if name_of(run) == server]
            how = {"color": COLORS[number % len(COLORS)], "label": server, "marker": "o"}
            lone = [next(run for run in own if run.bytes == size).round_trip_ns[0] / 1e3 for size in sizes]
            panels[0].plot([str(size) for size in sizes], lone, **how)
            for axes, size in zip(panels[1:], sizes):
                rates = {run.warps: run.requests_per_second / 1e6 for run in own if run.bytes == size}
                axes.plot([str(warps or "all") for warps in asking], [rates[warps] for warps in asking], **how)
        _frame(panels[0], "a lone request there and back, median", "µs", "bytes of a request")
        for axes, size in zip(panels[1:], sizes):
            _frame(axes, f"requests of {size} bytes in bulk", "million a second", "warps that ask")
        panels[0].legend(frameon=False, fontsize=9)
        figure.savefig(file, format=kind)


def _frame(axes: Axes, title: str, unit: str, label: str) -> None:
    axes.set_title(title, loc="left", weight="bold", size=11)
    axes.set_yscale("log")
    axes.set_ylabel(unit)
    axes.set_xlabel(label)
    open_frame(axes)

"""A picture of a sweep: curves over its last parameter with several values, or colours over two."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laneway.errors import UsageError
from laneway.plot import FAINT, INK, SERVED
from laneway.programs.sweep import SweepResult


def draw_sweep(found: SweepResult, file: Path, kind: str) -> None:
    """Write the picture to `file` in the format `kind` ("png", "svg", "pdf")."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    wide = require_drawable(found.axes)
    values = found.values.reshape([len(found.axes[name]) for name in wide])
    with mpl.rc_context({"font.size": 10, "text.color": INK, "xtick.color": INK, "ytick.color": INK}):
        figure = Figure(figsize=(7, 4.4), dpi=150, layout="constrained")
        figure.suptitle(found.formula if len(found.formula) < 70 else "sweep", x=0.012, ha="left", weight="bold")
        axes = figure.subplots()
        axes.set_xlabel(wide[-1])
        if len(wide) == 1:
            axes.plot(found.axes[wide[0]], values, color=SERVED)
            axes.grid(color=FAINT, alpha=0.25)
        else:
            x, y = found.axes[wide[1]], found.axes[wide[0]]
            mesh = axes.pcolormesh(x, y, np.ma.masked_invalid(values), shading="nearest", cmap="viridis")
            figure.colorbar(mesh, ax=axes)
            axes.set_ylabel(wide[0])
        figure.savefig(file, format=kind)


def require_drawable(axes: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """The parameters with several values; UsageError unless there are one or two."""
    wide = [name for name, axis in axes.items() if len(axis) > 1]
    if len(wide) not in (1, 2):
        raise UsageError(f"--plot draws one or two parameters of several values, not {len(wide)}")
    return wide

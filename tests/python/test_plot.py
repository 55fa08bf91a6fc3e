"""Pictures of runs show what was seen, and no more."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from laneway import plot
from matplotlib.figure import Figure


def test_progress_is_drawn_in_steps() -> None:
    """Between two looks nothing is known, so no line may lead from one value to the next."""
    samples = np.array([[0, 0, 5], [1000, 10, 900], [50_000, 20, 30], [60_000, 20, 0]], dtype=np.uint64)
    served, open_work = Figure().subplots(2, 1)
    plot._progress(served, open_work, SimpleNamespace(report=SimpleNamespace(progress=samples)))
    for axes, column in ((served, 1), (open_work, 2)):
        (line,) = axes.lines
        assert line.get_drawstyle() == "steps-post"
        assert line.get_ydata().tolist() == samples[:, column].tolist()
        (area,) = axes.collections
        corners = area.get_paths()[0].vertices
        moves = np.diff(corners, axis=0)
        assert not ((moves[:, 0] != 0) & (moves[:, 1] != 0)).any()

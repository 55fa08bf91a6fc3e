"""Draws the Mandelbrot set, a row a task. Rows take very unequal times; whoever is done with one takes the next.

Usage: mandelbrot.py [PICTURE [DEVICES [ROWS]]]     DEVICES as "cpu:4" or "cuda:0,cpu:1"; empty: every GPU,
else one CPU device a core.
"""

from __future__ import annotations

import sys

import laneway as lw
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

LEFT, RIGHT, HIGH = -2.1, 0.7, 1.05
LIMIT = 2000  # steps after which a point counts as one of the set


def steps_of_points(devices: str, rows: int) -> NDArray[np.uint32]:
    """How many steps each point takes until it has left the circle of radius 2; of shape (rows, columns)."""
    step = 2 * HIGH / (rows - 1)
    columns = int((RIGHT - LEFT) / step) + 1
    with lw.TaskPool(devices) as pool:
        picture = pool.submit_many("mandelbrot", LEFT, np.linspace(HIGH, -HIGH, rows), step, columns, LIMIT)
        return np.asarray(picture.result())


def draw(steps: NDArray[np.uint32], picture: str) -> None:
    """Darker the sooner a point leaves; points that stay are black."""
    height = 4.0
    figure = Figure(figsize=(height * steps.shape[1] / steps.shape[0], height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    stays = np.ma.masked_equal(steps, LIMIT)
    axes.set_facecolor("black")
    figure.set_facecolor("black")
    axes.imshow(stays, cmap="twilight", norm=LogNorm(1, LIMIT), interpolation="bilinear", aspect="auto")
    figure.savefig(picture, dpi=120)


def main(picture: str = "mandelbrot.png", devices: str = "", rows: str = "480") -> None:
    draw(steps_of_points(devices, int(rows)), picture)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (lw.Error, ValueError, OSError) as error:
        sys.exit(f"mandelbrot.py: {error}")

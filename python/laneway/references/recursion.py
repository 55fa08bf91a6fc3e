"""Reference answers of recursive programs."""

from __future__ import annotations

import time
from math import atan
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.programs.recursion import FibonacciResult, QuadratureResult, QueensResult, TreeResult
from laneway.verification import Verification, compare

SOLUTIONS = (
    *(1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512, 95815104, 666090624),
    *(4968057848, 39029188884, 314666222712, 2691008701644, 24233937684440, 227514171973736),
)
"""Of 1 to 24 queens, as published (OEIS A000170)."""
PEAKS = ((0.01, 0.3), (0.02, 0.9))
"""Widths and centres of what quadrature integrates."""


def verify_fibonacci(result: FibonacciResult) -> Verification:
    """Compare with additions."""
    before, value = 0, 1
    for _ in range(result.n):
        before, value = value, before + value
    return _one("additions", "numbers", result.value, before)


def verify_queens(result: QueensResult) -> Verification:
    """Compare with the published number of solutions."""
    return _one("published numbers", "numbers", result.solutions, SOLUTIONS[result.n - 1])


def verify_quadrature(result: QuadratureResult) -> Verification:
    """Compare with the closed form, ten times the tolerance allowed."""
    closed = sum((atan((result.end - c) / w) - atan((result.start - c) / w)) / w for w, c in PEAKS)
    allowed = 10 * result.tolerance + 1e-9 * abs(closed)
    return _one("the closed form", "integrals", result.area, closed, abs(result.area - closed) <= allowed)


def verify_tree(result: TreeResult) -> Verification:
    """Compare with the benchmark's published numbers of nodes and leaves, and its depth."""
    published = _core.published_tree(result.tree)
    expected = (published.nodes, published.leaves, published.depth)
    return _one("the benchmark's numbers", "trees", (result.nodes, result.leaves, result.depth), expected)


def verify_array(
    reference: str, compared: str, found: NDArray[np.uint32], make: Callable[[], NDArray[np.uint32]]
) -> Verification:
    """Compare all elements with what NumPy makes."""
    start = time.perf_counter()
    expected = make()
    seconds = time.perf_counter() - start
    wrong = (expected != found).ravel()

    def describe(place: int) -> str:
        return f"element {place} is {expected.ravel()[place]}, not {found.ravel()[place]}"

    return compare(reference, seconds, compared, wrong, describe)


def _one(reference: str, compared: str, found: Any, expected: Any, right: bool | None = None) -> Verification:
    if found == expected if right is None else right:
        return Verification(reference, 0.0, compared, 0, "")
    return Verification(reference, 0.0, compared, 1, f"it is {expected}, not {found}")

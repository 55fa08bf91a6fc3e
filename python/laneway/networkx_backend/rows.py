"""Arcs in rows, in the order in which NetworkX walks them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway.graph import Graph


class Rows:
    """A graph as programs take it, and what a walk over its arcs on the host needs."""

    def __init__(self, arcs: Graph, scale: int, decimal: NDArray[np.bool_] | None) -> None:
        self.arcs = arcs
        self.scale = scale
        """What weights are multiplied by."""
        self.decimal = decimal
        """Whether NetworkX has an arc's weight as a float; None: it has none so."""

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        return self.arcs.offsets.astype(np.int64)

    @cached_property
    def heads(self) -> NDArray[np.int64]:
        return self.arcs.heads.astype(np.int64)

    @cached_property
    def tails(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.arcs.vertices), np.diff(self.offsets))

    @cached_property
    def loops(self) -> NDArray[np.int64]:
        """Arcs that lead back to where they come from."""
        return np.flatnonzero(self.heads == self.tails)

    def turned(self, sources: NDArray[np.int64] | None = None) -> Rows:
        """The same arcs in rows of their heads. `sources` are the tails in each such row, in NetworkX's order; None:
        they rise."""
        arcs = self.arcs
        taken = np.argsort(self.heads, kind="stable")  # arcs by head, then by tail
        if sources is not None:
            rows = np.repeat(np.arange(arcs.vertices), np.bincount(self.heads, minlength=arcs.vertices))
            place = np.lexsort((sources, rows))  # the same arcs, as NetworkX has them: parallel ones stay in order
            taken[place] = taken.copy()
        offsets = np.concatenate([[0], np.cumsum(np.bincount(self.heads, minlength=arcs.vertices))])
        weights = arcs.weights[taken] if arcs.weighted else None
        graph = Graph.from_csr(offsets, self.tails[taken], weights)
        return Rows(graph, self.scale, None if self.decimal is None else self.decimal[taken])

    @cached_property
    def weights(self) -> NDArray[Any]:
        """One an arc, in NetworkX's unit: int64, or float64 where there are decimals; ones where there are none."""
        if not self.arcs.weighted:
            return np.ones(self.arcs.arcs, dtype=np.int64)
        whole = self.arcs.weights.astype(np.int64)
        return whole if self.scale == 1 else whole / self.scale


def as_python(numbers: NDArray[Any], decimal: NDArray[np.bool_] | None) -> list[Any]:
    """Weights, or sums of them, as NetworkX has them: floats where `decimal` says so, else whole numbers."""
    if decimal is None:
        return numbers.tolist()  # type: ignore[no-any-return]
    found: list[Any] = numbers.astype(np.float64).tolist()
    for place in np.flatnonzero(~decimal).tolist():
        found[place] = int(numbers[place])
    return found

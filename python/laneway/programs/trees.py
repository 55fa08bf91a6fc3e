"""Trees of shortest paths."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.graph import Graph

Search = tuple[Graph, NDArray[np.int64], list[int], bool]


class Trees:
    """What stands before each vertex on its shortest path, by places; made when it is first asked for, by any thread.

    Pickling makes it, so that what arrives needs no graph.
    """

    def __init__(self, graph: Graph, distance: NDArray[np.int64], sources: list[int], unit_weights: bool) -> None:
        """`distance` does not change."""
        self._made: Search | NDArray[np.int64] = (graph, distance, sources, unit_weights)
        self._lock = RLock()  # a signal handler may ask as well, in the midst of the call that it interrupts

    @property
    def before(self) -> NDArray[np.int64]:
        """One entry a vertex: place of the one before it, -1 where there is none."""
        with self._lock:
            if isinstance(self._made, tuple):
                self._made = _core.predecessors(*self._made)  # in the place of the graph
            return self._made

    def path_to(self, place: int) -> list[int]:
        """Places from the nearest source to `place`, which can be reached."""
        before, path = self.before, [place]
        while (place := int(before[place])) >= 0:
            path.append(place)
        return path[::-1]

    def __getstate__(self) -> dict[str, Any]:
        return {"before": self.before}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._made, self._lock = state["before"], RLock()

"""Trees of shortest paths."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.graph import Graph


class Trees:
    """What stands before each vertex on its shortest path, by places; made when it is first asked for.

    Pickling makes it, so that what arrives needs no graph.
    """

    def __init__(self, graph: Graph, distance: NDArray[np.int64], sources: list[int], unit_weights: bool) -> None:
        # A copy: whoever has the result may change its distances.
        self._search = (graph, distance.copy(), sources, unit_weights)

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """One entry a vertex: place of the one before it, -1 where there is none."""
        before = _core.predecessors(*self._search)
        del self._search  # and with it the graph
        return before

    def path_to(self, place: int) -> list[int]:
        """Places from the nearest source to `place`, which can be reached."""
        path = [place]
        while (place := int(self.before[place])) >= 0:
            path.append(place)
        return path[::-1]

    def __getstate__(self) -> dict[str, Any]:
        return {"before": self.before}

"""Devices for calls of programs, and what these keep there of graphs."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from laneway import _core
from laneway.arguments import job_options, require_whole
from laneway.errors import UsageError
from laneway.graph import Graph, GraphLike
from laneway.partition import DIVISIONS, Partition, as_parts, named_parts

KEPT_BYTES: int = _core.default_kept_bytes

Value = TypeVar("Value")


class PerGraph(Generic[Value]):
    """Something for each graph, until the graph is gone. Graphs that are equal have one each. Any thread."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[ref[Graph], Value]] = {}

    def get(self, graph: Graph) -> Value | None:
        kept = self._kept.get(id(graph))
        return None if kept is None else kept[1]

    def setdefault(self, graph: Graph, value: Value) -> Value:
        """What is kept of the graph, which is `value` where nothing was."""
        key = id(graph)
        return self._kept.setdefault(key, (ref(graph, lambda _: self._kept.pop(key, None)), value))[1]

    def pop(self, graph: Graph) -> None:
        self._kept.pop(id(graph), None)

    def clear(self) -> None:
        self._kept.clear()

    def items(self) -> list[tuple[Graph, Value]]:
        alive = [(graph(), value) for graph, value in list(self._kept.values())]
        return [(graph, value) for graph, value in alive if graph is not None]


class Workspace:
    """What all calls of a session share, or what one call has for itself: as a context it ends with the call.

    The devices are opened by the first run. Any thread; runs wait for each other.
    """

    def __init__(
        self,
        devices: str,
        seed: int,
        timeout: float,
        progress: bool,
        buffer_bytes: int,
        kept_bytes: int = KEPT_BYTES,
        *,
        blocks: int | None = None,
    ) -> None:
        """`blocks`: of each device, where they are not what the library takes."""
        require_whole("kept_bytes", kept_bytes)
        self.options = job_options(devices, seed, timeout, progress, buffer_bytes)
        if blocks is not None:
            self.options = self.options.with_blocks(blocks)
        self.core = _core.Session(self.options, kept_bytes)
        self._devices = devices
        self._resident: PerGraph[_core.ResidentGraph] = PerGraph()
        self._divisions: PerGraph[dict[str, NDArray[np.uint32]]] = PerGraph()

    @property
    def devices(self) -> list[str]:
        """One name a device; UsageError for a wrong list."""
        return _core.parse_devices(self._devices)

    def resident(self, graph: Graph, given: GraphLike) -> _core.ResidentGraph:
        """The graph as programs keep it on the devices for the next call that is given it; a graph that was made of
        `given` for this call alone goes with the call."""
        if graph is not given:
            return _core.ResidentGraph(self.core, graph)
        resident = self._resident.get(graph)
        return resident or self._resident.setdefault(graph, _core.ResidentGraph(self.core, graph))

    def parts(self, graph: Graph, partition: Partition) -> NDArray[np.uint32] | None:
        """Device of each vertex for a program's `partition`; None for contiguous ranges with equal arcs."""
        if not isinstance(partition, str):
            return as_parts(graph, partition)
        if partition not in DIVISIONS:
            names = ", ".join(map(repr, DIVISIONS))
            raise UsageError(f"partition must be None, {names} or an array, not {partition!r}")
        kept = self._divisions.get(graph)
        if kept is None:
            kept = self._divisions.setdefault(graph, {})
        parts = kept.get(partition)
        if parts is None:
            parts = kept.setdefault(partition, named_parts(graph, partition, len(self.devices)))
        return parts

    def graphs(self) -> list[Graph]:
        """Those of which something is on the devices."""
        return [graph for graph, resident in self._resident.items() if resident.kept()]

    def forget(self, graph: Graph) -> None:
        """Drop all that has been kept of a graph."""
        self._resident.pop(graph)
        self._divisions.pop(graph)

    def close(self) -> None:
        """Free everything; what results have on the devices goes, too."""
        self.core.close()
        self._resident.clear()
        self._divisions.clear()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

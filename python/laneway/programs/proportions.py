"""Proportions among vertices: one number each, in whatever form they are given."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.graph import Graph

VertexNumbers = Union[None, Mapping[Any, float], ArrayLike]
"""A mapping or a pandas Series from vertices to numbers, or an array in the order of the graph's `ids`."""


def proportions_of(name: str, graph: Graph, given: VertexNumbers) -> NDArray[np.float64] | None:
    """`given` as one number a vertex, 1 at most; UsageError unless these are finite, 0 or more, and not all 0.

    As with NetworkX, vertices that a mapping leaves out have 0, and those that the graph does not have do not count.
    """
    if given is None:
        return None
    if _is_series(given):
        given = _mapping_of(name, given)
    numbers = _of_mapping(name, graph, given) if isinstance(given, Mapping) else _in_order(name, graph, given)
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if wrong.size:
        place = int(wrong[0])
        raise UsageError(f"{name} of vertex {graph.id_of(place)} must be finite and 0 or more, not {numbers[place]}")
    if graph.vertices and not numbers.any():
        raise UsageError(f"{name} is 0 for all vertices")
    return np.ascontiguousarray(numbers / numbers.max(initial=0), dtype=np.float64)


def _is_series(given: object) -> bool:
    """Whether it is one of pandas; imports nothing, as there is none where pandas is not loaded."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.Series)


def _mapping_of(name: str, series: Any) -> dict[Any, Any]:
    """A pandas Series by its index; UsageError where a vertex comes twice."""
    if not series.index.is_unique:
        twice = series.index[series.index.duplicated()][0]
        raise UsageError(f"{name} has vertex {twice!r} twice in its index")
    return dict(zip(series.index, series.to_numpy()))


def _of_mapping(name: str, graph: Graph, given: Mapping[Any, float]) -> NDArray[np.float64]:
    found = [(place, vertex) for vertex in given if (place := graph.numbering.find(vertex)) is not None]
    if given and graph.vertices and not found:
        raise UsageError(f"{name} names no vertex of the graph")
    listed = [given[vertex] for _, vertex in found]
    values = as_array(name, listed, lambda at: f"{name} of vertex {found[at][1]}")
    if values.ndim != 1 or (listed and values.dtype.kind not in "fiub"):
        raise UsageError(f"{name} must map vertices to numbers")
    numbers = np.zeros(graph.vertices)
    numbers[[place for place, _ in found]] = values
    return numbers


def _in_order(name: str, graph: Graph, given: ArrayLike) -> NDArray[Any]:
    numbers = as_array(name, given, lambda place: f"{name} of vertex {graph.id_of(place)}")
    if numbers.shape != (graph.vertices,) or (numbers.size and numbers.dtype.kind not in "fiub"):
        raise UsageError(f"{name} must be a mapping, or hold one number for each of {graph.vertices} vertices")
    return numbers

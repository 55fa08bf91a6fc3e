"""Lists of edges, from whatever holds them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arguments import in_one_line, require_whole
from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.numbering import Numbering, vertex_number, whole_number
from laneway.weights import weights_of


@dataclass(frozen=True)
class Edges:
    """Edges between vertices that are called by their places."""

    numbering: Numbering
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    weights: _core.Weights | None


def edges_of_pairs(
    edges: ArrayLike | Iterable[tuple[Hashable, Hashable]],
    weights: ArrayLike | None,
    vertices: int | Iterable[Hashable] | None,
) -> Edges:
    """Edges of an array of shape (m, 2) or of an iterable of pairs; UsageError for what is none."""
    if isinstance(edges, np.ndarray):
        edges = as_array("edges", edges)
        if edges.size and (edges.ndim != 2 or edges.shape[1] != 2):
            raise UsageError(f"edges must have shape (m, 2), not {edges.shape}")
        tails, heads = (edges[:, 0], edges[:, 1]) if edges.size else (edges.ravel(), edges.ravel())
    else:
        tails, heads = _columns(edges)
    found = weights_of(weights, len(tails), lambda place: f"weights[{place}]")
    numbering, places = _number(tails, heads, vertices)
    return Edges(numbering, places[0], places[1], found)


def edges_of_frame(
    frame: Any, source: Hashable, target: Hashable, edge_attr: Hashable | list[Hashable] | None
) -> Edges:
    """Edges of a pandas data frame, one a row; UsageError for a missing column or entry."""
    columns = getattr(frame, "columns", None)
    if columns is None or isinstance(frame, type):
        raise UsageError(f"frame must be a pandas data frame, not {type(frame).__name__}")
    if isinstance(edge_attr, list) and len(edge_attr) == 1:
        edge_attr = edge_attr[0]
    for name, column in (("source", source), ("target", target)):
        if not isinstance(column, Hashable):
            raise UsageError(f"{name} must name a column of the data frame, not {in_one_line(column)}")
    if isinstance(edge_attr, (list, bool)) or not isinstance(edge_attr, Hashable):
        shown = in_one_line(edge_attr)
        raise UsageError(f"edge_attr must name one column, of weights, not {shown}: an arc has one weight")
    if edge_attr == "weight" and edge_attr not in columns:  # the default
        edge_attr = None
    for column in (source, target) if edge_attr is None else (source, target, edge_attr):
        if column not in columns:
            raise UsageError(f"the data frame has no column {column!r}")
        if frame[column].ndim != 1:
            raise UsageError(f"the data frame has several columns {column!r}")
        missing = np.flatnonzero(frame[column].isna().to_numpy())
        if missing.size:
            raise UsageError(f"row {missing[0]} of the data frame has no {column!r}")
    found = None
    if edge_attr is not None:
        found = weights_of(frame[edge_attr].to_numpy(), len(frame), lambda place: f"{edge_attr!r} of row {place}")
    numbering, places = _number(frame[source].to_numpy(), frame[target].to_numpy(), None)
    return Edges(numbering, places[0], places[1], found)


def edges_of_networkx(graph: Any, weight: str | None) -> Edges:
    """Edges of a NetworkX graph; UsageError for an attribute `weight` that is no weight."""
    require_attribute(weight)
    numbering = Numbering.of(graph)
    place = {node: place for place, node in enumerate(graph)}
    missing = object()
    listed = list(graph.edges(data=weight, default=missing)) if weight is not None else list(graph.edges())
    ends = np.array([(place[edge[0]], place[edge[1]]) for edge in listed], dtype=np.int64).reshape(len(listed), 2)
    found = None
    if weight is not None and any(edge[2] is not missing for edge in listed):
        values = np.fromiter((1 if edge[2] is missing else edge[2] for edge in listed), object, len(listed))
        name = lambda at: f"{weight!r} of the edge from {listed[at][0]!r} to {listed[at][1]!r}"  # noqa: E731
        found = weights_of(values, len(listed), name)
    return Edges(numbering, np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]), found)


def require_attribute(weight: Any) -> None:
    """UsageError for what can be no name of an attribute, nor None."""
    try:
        hash(weight)
        is_name = not isinstance(weight, (bool, np.bool_))
    except TypeError:
        is_name = False
    if not is_name:
        raise UsageError(f"weight must name an attribute of edges, or be None, not {in_one_line(weight)}")


def _columns(edges: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Tails and heads of an iterable of pairs."""
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise UsageError(f"edges must be pairs of vertices, not {type(edges).__name__}")
    listed = list(edges)
    for place, pair in enumerate(listed):
        if not _is_pair(pair):
            raise UsageError(f"edges[{place}] is {in_one_line(pair)}, not a pair of vertices")
        if pair[0] is np.ma.masked or pair[1] is np.ma.masked:
            raise UsageError(f"edges[{place}] is masked")
    return _as_array([pair[0] for pair in listed]), _as_array([pair[1] for pair in listed])


def _is_pair(pair: Any) -> bool:
    """Whether there is a first and a second: a set has no order."""
    if isinstance(pair, (str, bytes, bytearray, Mapping, type)):
        return False
    try:
        itemgetter(0, 1)(pair)
        return len(pair) == 2
    except (TypeError, LookupError):
        return False


def _as_array(vertices: list[Any]) -> NDArray[Any]:
    """Whole numbers, also where floats hold them, as an array of such, other vertices as objects."""
    whole = [None if isinstance(each, (bool, np.bool_)) else vertex_number(each) for each in vertices]
    if whole and None not in whole:
        numbers = np.array(whole)
        if numbers.dtype.kind in "iu":
            return numbers
    return np.fromiter(vertices, dtype=object, count=len(vertices))


def _number(
    tails: NDArray[Any], heads: NDArray[Any], vertices: int | Iterable[Hashable] | None
) -> tuple[Numbering, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The vertices there are, and the places of both ends of each edge."""
    tails, heads = _as_vertices(tails), _as_vertices(heads)
    numbers = all(each.dtype.kind in "iu" and (each.size == 0 or int(each.min()) >= 0) for each in (tails, heads))
    if vertices is not None:
        count = whole_number(vertices)
        if count is not None:
            require_whole("vertices", count, bits=63)
        numbering = Numbering.of(vertices) if count is None else Numbering(count)  # type: ignore[arg-type]
    elif numbers:
        return _number_rising(np.concatenate([tails.astype(np.uint64), heads.astype(np.uint64)]))
    elif tails.dtype.kind == heads.dtype.kind and tails.dtype.kind in "mM":
        return _number_times(np.stack([tails, heads], axis=1).reshape(-1))
    else:
        ends = np.empty(2 * len(tails), dtype=object)
        ends[0::2], ends[1::2] = _as_objects(tails), _as_objects(heads)
        numbering = _numbered(ends)
    return numbering, (_places(numbering, tails), _places(numbering, heads))


def _number_rising(ends: NDArray[np.uint64]) -> tuple[Numbering, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The numbers that occur in tails and behind them heads, and the places of both: by marks where they are dense."""
    greatest = int(ends.max()) if ends.size else 0
    if greatest < 8 * ends.size:
        there = np.zeros(greatest + 1, dtype=bool)
        there[ends] = True
        ids = np.flatnonzero(there).astype(np.uint64)
        places = (np.cumsum(there) - 1)[ends]
    else:
        ids, places = np.unique(ends, return_inverse=True)
    tails, heads = np.split(places.astype(np.int64).reshape(-1), 2)
    return Numbering.rising(ids), (tails, heads)


def _number_times(ends: NDArray[Any]) -> tuple[Numbering, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The times that occur, in the order in which they come, and the places of each pair of ends."""
    times, first, places = np.unique(ends, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(times.size, dtype=np.int64)
    rank[order] = np.arange(times.size)
    pairs = rank[places.reshape(-1)].reshape(-1, 2)
    numbering = Numbering(times.size, names=list(times[order]))
    return numbering, (np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))


def _as_objects(ends: NDArray[Any]) -> NDArray[Any]:
    """Vertices as Python has them; times as NumPy has them, as Python would make numbers of some."""
    return np.fromiter(ends if ends.dtype.kind in "mM" else ends.tolist(), dtype=object, count=len(ends))


def _as_vertices(ends: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as such, also where floats hold them, and times; other vertices as objects."""
    if ends.dtype.kind in "iu":
        return ends
    if ends.dtype.kind in "mM":
        if np.isnat(ends).any():
            raise UsageError(f"a vertex must be a time, not NaT, as in edge {np.flatnonzero(np.isnat(ends))[0]}")
        return ends
    if ends.dtype.kind != "f":
        return _as_array(ends.tolist())
    wide = ends.astype(np.float64)
    if not (np.isfinite(wide).all() and (wide == np.floor(wide)).all() and (np.abs(wide) < 2**53).all()):
        raise UsageError(f"vertices must be whole numbers or names, not {ends.dtype} with fractions")
    return wide.astype(np.int64)


def _numbered(ends: NDArray[Any]) -> Numbering:
    """All that occur: numbers in rising order, names in the order in which they come."""
    try:
        ids = dict.fromkeys(ends)
    except TypeError as error:
        raise UsageError(f"a vertex must be hashable: {error}") from None
    return Numbering.of(sorted(ids) if all(type(each) is int for each in ids) else ids)


def _places(numbering: Numbering, vertices: NDArray[Any]) -> NDArray[np.int64]:
    """Places of vertices, at once where all are whole numbers; UsageError for one that there is not."""
    if vertices.size == 0:
        return np.zeros(0, dtype=np.int64)
    if numbering.names is not None or vertices.dtype.kind not in "iu" or int(vertices.min()) < 0:
        return numbering.places(_as_objects(vertices), "edges")
    numbers = vertices.astype(np.uint64)
    places: NDArray[Any]
    if numbering.labels.size:
        places = np.searchsorted(numbering.labels, numbers)
        wrong = numbering.labels[np.minimum(places, numbering.count - 1)] != numbers
    else:
        places = numbers - np.uint64(numbering.first)
        wrong = places >= numbering.count
    if wrong.any():
        numbering.place(int(numbers[np.flatnonzero(wrong)[0]]), "edges")
    return np.ascontiguousarray(places.astype(np.int64))

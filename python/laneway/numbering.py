"""How the vertices of a graph are called."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable
from functools import cached_property
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from laneway.arrays import refuse_masked
from laneway.errors import UsageError
from laneway.times import NUMPY_TIMES, time_key

NO_LABELS: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
_NOBODY = object()
"""Equals no vertex."""


class Numbering:
    """The ids of n vertices, in the order of a graph's arrays.

    They are `first`, `first` + 1 and so on; or other whole numbers, `labels`, which rise; or `names`, any hashable
    objects. What takes or gives a vertex does so by its id, or by what equals it: 2.0 is vertex 2, and a time is the
    same in any unit. Its place in the arrays, from 0, is what numbers the values of a plain array.
    """

    def __init__(
        self,
        count: int,
        first: int = 0,
        labels: NDArray[np.uint64] = NO_LABELS,
        names: list[Hashable] | None = None,
    ) -> None:
        self.count = count
        self.first = first
        self.labels = labels
        self.names = names

    @classmethod
    def of(cls, ids: Iterable[Hashable]) -> Numbering:
        """The shortest form for these ids; UsageError where one occurs twice or cannot be hashed."""
        if isinstance(ids, bytes) or not isinstance(ids, Iterable):
            raise UsageError(f"vertices must be several ids, not {ids!r}")
        refuse_masked("vertices", ids)
        if getattr(getattr(ids, "dtype", None), "kind", "") in ("M", "m"):
            ids = np.asarray(ids)  # pandas would hand out times of its own
        names = [int(each) if isinstance(each, np.integer) else each for each in ids]
        if all(type(each) is int and 0 <= each < 2**64 for each in names):
            numbers = np.array(names, dtype=np.uint64)
            if (numbers[1:] > numbers[:-1]).all():
                return cls.rising(numbers)
        made = cls(len(names), names=names)
        if len(made._places) != len(names):
            twice = next(name for place, name in enumerate(names) if made._places[_key(name)] != place)
            raise UsageError(f"two vertices are called {twice!r}")
        return made

    @classmethod
    def rising(cls, ids: NDArray[np.uint64]) -> Numbering:
        """Of whole numbers, each greater than the one before."""
        if ids.size == 0:
            return cls(0)
        first = int(ids[0])
        return cls(ids.size, first) if int(ids[-1]) - first == ids.size - 1 else cls(ids.size, labels=ids)

    @property
    def from_zero(self) -> bool:
        """Whether every vertex is called by its place."""
        return self.names is None and self.labels.size == 0 and (self.first == 0 or self.count == 0)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """One entry a vertex, read only: int64, uint64 where an id needs it, or objects where vertices have names, but
        for NumPy's times, which keep their type."""
        if self.names is not None:
            times = any(self.names and all(isinstance(name, kind) for name in self.names) for kind in NUMPY_TIMES)
            ids = np.array(self.names) if times else np.fromiter(self.names, dtype=object, count=self.count)
        elif self.labels.size:
            ids = self.labels.astype(np.int64 if self._fit_int64 else np.uint64)
        else:
            dtype = np.int64 if self._fit_int64 else np.uint64
            ids = np.arange(self.count, dtype=dtype) + np.array(self.first, dtype=dtype)
        ids.flags.writeable = False
        return ids

    def find(self, vertex: Any) -> int | None:
        """Place in the arrays; None where no vertex is called so."""
        if self.names is not None:
            try:
                place = self._places.get(vertex)
            except TypeError:  # of what cannot be hashed
                return None
            return place if place is not None else self._places.get(time_key(vertex) or _NOBODY)
        number = vertex_number(vertex)
        if number is None or not 0 <= number < 2**64:
            return None
        if self.labels.size == 0:
            return number - self.first if 0 <= number - self.first < self.count else None
        place = int(np.searchsorted(self.labels, np.uint64(number)))
        return place if place < self.count and int(self.labels[place]) == number else None

    def place(self, vertex: Any, what: str = "vertex") -> int:
        """Place in the arrays; UsageError where no vertex is called so. `what` names the argument in the message."""
        place = self.find(vertex)
        if place is not None:
            return place
        if self.names is not None:
            raise UsageError(f"{what}: no vertex is called {vertex!r}")
        number = vertex_number(vertex)
        if number is None or not 0 <= number < 2**64:
            raise UsageError(f"{what} must be a whole number from 0 to {2**64 - 1}, not {vertex!r}")
        if self.count == 0:
            raise UsageError(f"vertex {number} is outside a graph without vertices")
        if self.labels.size == 0:
            raise UsageError(f"vertex {number} is outside {self.first}..{self.first + self.count - 1}")
        raise UsageError(
            f"vertex {number} is none of the {self.count} in the graph, "
            f"which lie in {self.labels[0]}..{self.labels[-1]}"
        )

    def places(self, vertices: Iterable[Any], what: str = "vertex") -> NDArray[np.int64]:
        """Place of each of several vertices; UsageError for the first that there is none of."""
        if isinstance(vertices, (str, bytes)) or not isinstance(vertices, Iterable):
            raise UsageError(f"{what} must be several vertices, not {vertices!r}")
        return np.array([self.place(each, what) for each in vertices], dtype=np.int64)

    def id_of(self, place: int) -> Any:
        """What the vertex at `place` is called; UsageError outside 0..n - 1."""
        if not 0 <= place < self.count:
            raise UsageError(f"place {place} is outside a graph of {self.count} vertices")
        if self.names is not None:
            return self.names[place]
        return int(self.labels[place]) if self.labels.size else self.first + place

    def ids_of(self, places: NDArray[np.int64] | None = None) -> list[Any]:
        """What the vertices at `places` are called, or all of them, as Python has it."""
        if self.names is None:
            ids: list[Any] = (self.ids if places is None else self.ids[places]).tolist()
            return ids
        return list(self.names) if places is None else [self.names[place] for place in places]

    def ids_at(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Ids of the vertices at `places`, of which -1 is none: int64 with -1 there, times with NaT there, or objects
        with None there."""
        if self.names is None and self._fit_int64:
            return np.where(places < 0, -1, self.ids[places] if self.count else -1)
        if self.ids.dtype.kind in "mM":
            return np.where(places < 0, np.array("NaT", dtype=self.ids.dtype), self.ids[places])
        found = self.ids[places].astype(object) if self.count else np.empty(places.shape, dtype=object)
        found[places < 0] = None
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Numbering):
            return NotImplemented
        return (self.count, self.first, self.names) == (other.count, other.first, other.names) and np.array_equal(
            self.labels, other.labels
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("count", "first", "labels", "names")}

    @property
    def _fit_int64(self) -> bool:
        last = int(self.labels[-1]) if self.labels.size else self.first + self.count - 1
        return last < 2**63

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        try:
            return {_key(name): place for place, name in enumerate(cast("list[Hashable]", self.names))}
        except TypeError as error:
            raise UsageError(f"a vertex cannot be called so: {error}") from None


def whole_number(value: object) -> int | None:
    """The value of Python's and NumPy's whole numbers; None for anything else."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def vertex_number(vertex: object) -> int | None:
    """The whole number that a vertex equals, as 2.0 equals 2 for Python's dictionaries; None where there is none."""
    number = whole_number(vertex)
    if number is None and isinstance(vertex, Real) and math.isfinite(vertex) and vertex == math.floor(vertex):
        return whole_number(math.floor(vertex))
    return number


def _key(name: Hashable) -> Hashable:
    """What a dictionary finds a name by: NumPy's times are equal across units, which their hashes are not."""
    return (time_key(name) or name) if isinstance(name, NUMPY_TIMES) else name

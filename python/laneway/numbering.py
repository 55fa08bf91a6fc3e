"""How the vertices of a graph are called."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from laneway.errors import UsageError

NO_LABELS: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)


class Numbering:
    """The ids of n vertices, in the order of a graph's arrays.

    They are `first`, `first` + 1 and so on; or other whole numbers, `labels`, which rise; or `names`, any hashable
    objects. What takes or gives a vertex does so by its id; its place in the arrays, from 0, is what numbers the values
    of a plain array.
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
        names = [int(each) if isinstance(each, np.integer) else each for each in ids]
        if all(type(each) is int and 0 <= each < 2**64 for each in names):
            numbers = np.array(names, dtype=np.uint64)
            if (numbers[1:] > numbers[:-1]).all():
                return cls.rising(numbers)
        made = cls(len(names), names=names)
        if len(made._places) != len(names):
            twice = next(name for place, name in enumerate(names) if made._places[name] != place)
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
        """One entry a vertex, read only: int64, uint64 where an id needs it, or objects where vertices have names."""
        if self.names is not None:
            ids = np.fromiter(self.names, dtype=object, count=self.count)
        elif self.labels.size:
            ids = self.labels.astype(np.int64 if self._fit_int64 else np.uint64)
        else:
            dtype = np.int64 if self._fit_int64 else np.uint64
            ids = np.arange(self.count, dtype=dtype) + np.array(self.first, dtype=dtype)
        ids.flags.writeable = False
        return ids

    def place(self, vertex: Any, what: str = "vertex") -> int:
        """Place in the arrays; UsageError where no vertex is called so. `what` names the argument in the message."""
        if self.names is not None:
            try:
                return self._places[vertex]
            except (KeyError, TypeError):
                raise UsageError(f"{what}: no vertex is called {vertex!r}") from None
        number = whole_number(vertex)
        if number is None or not 0 <= number < 2**64:
            raise UsageError(f"{what} must be a whole number from 0 to {2**64 - 1}, not {vertex!r}")
        if self.count == 0:
            raise UsageError(f"vertex {number} is outside a graph without vertices")
        if self.labels.size == 0:
            if 0 <= number - self.first < self.count:
                return number - self.first
            raise UsageError(f"vertex {number} is outside {self.first}..{self.first + self.count - 1}")
        place = int(np.searchsorted(self.labels, np.uint64(number)))
        if place < self.count and int(self.labels[place]) == number:
            return place
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

    def ids_at(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Ids of the vertices at `places`, of which -1 is none: int64 with -1 there, or objects with None there."""
        if self.names is None and self._fit_int64:
            return np.where(places < 0, -1, self.ids[places] if self.count else -1)
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
            return {name: place for place, name in enumerate(cast("list[Hashable]", self.names))}
        except TypeError as error:
            raise UsageError(f"a vertex cannot be called so: {error}") from None


def whole_number(value: object) -> int | None:
    """The value of Python's and NumPy's whole numbers; None for anything else."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None

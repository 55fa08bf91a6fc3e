"""What the results of all programs share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from laneway.frames import frame_of
from laneway.vertex_array import VertexArray

if TYPE_CHECKING:
    from pandas import DataFrame


class Answer:
    """Base of results, which are dataclasses: two are equal that give the same answer, whatever the runs took.

    Reports, times and work are left out; arrays are equal that have the same shape and elements.
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if field.compare and field.name != "report" and not field.name.endswith("_seconds")
        )

    __hash__ = None  # type: ignore[assignment]


class VertexAnswer(Answer):
    """Base of results with one value a vertex."""

    values_name: ClassVar[str]
    """Name of the field that holds them."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Names of all that has a value for each vertex; `values_name` alone where there is nothing else."""

    @property
    def ids(self) -> NDArray[Any]:
        """What the vertices are called, in the order of the values."""
        return self._values.ids

    def __getitem__(self, vertex: Any) -> Any:
        """The value of one vertex, by its id; UsageError where there is none of that name or number."""
        values = self._values.values
        value = values[self._values.numbering.place(vertex)]
        return value if values.dtype == object else value.item()  # names, as those of labels, are what they are

    def __contains__(self, vertex: Any) -> bool:
        """Whether the graph has such a vertex."""
        return self._values.numbering.find(vertex) is not None

    def __len__(self) -> int:
        """Number of vertices, as of a dictionary."""
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        """What the vertices are called, as of a dictionary."""
        return iter(self._values.numbering.ids_of())

    def to_dict(self) -> dict[Any, Any]:
        """The value of each vertex, by its id."""
        return dict(zip(self._values.numbering.ids_of(), self._values.tolist()))

    def to_pandas(self) -> DataFrame:
        """A pandas data frame with a row for each vertex, by its id, and a column for each value. ImportError where
        there is no pandas."""
        names = self.columns or (self.values_name,)
        return frame_of({name: getattr(self, name).values for name in names}, self.ids, "vertex")

    @property
    def _values(self) -> VertexArray[Any]:
        values: VertexArray[Any] = getattr(self, self.values_name)
        return values


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, VertexArray) and isinstance(other, VertexArray) and one.numbering != other.numbering:
        return False
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)

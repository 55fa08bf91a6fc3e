"""Arrays with a value for each vertex of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.numbering import Numbering, whole_number

S = TypeVar("S", bound=np.generic)

# Functions whose result has a value for each vertex again where it has the shape of their arguments.
ELEMENT_WISE = frozenset({np.clip, np.copy, np.nan_to_num, np.round, np.where})


class VertexArray(np.ndarray[Any, np.dtype[S]]):
    """A NumPy array with one value a vertex, in the order of `ids`, that knows which value belongs to which vertex.

    `array.of(30)` is the value of vertex 30; `array.values` is the plain array, whose index is the place of a vertex.
    Where vertices are called 0, 1, 2 and so on, these are the same, and `array[30]` is this value. Where they are not,
    an index of whole numbers is refused with UsageError: it could mean the one or the other. Slices, masks, iteration
    and NumPy's functions treat the array as any other; what they give is plain, but for results of arithmetic,
    comparisons and the like, which have a value for each vertex again.

    The values are read only, so that none comes to stand with another vertex: to sort, shuffle or change them, take
    `array.values.copy()`. Values that can be written to are copied when the array is made.
    """

    _numbering: Numbering | None

    def __new__(cls, values: ArrayLike, numbering: Numbering) -> VertexArray[S]:
        given = as_array("values", values)
        if given.shape != (numbering.count,):
            raise UsageError(f"{numbering.count} vertices need as many values, not an array of shape {given.shape}")
        array: VertexArray[S] = read_only(given.copy() if given.flags.writeable else given).view(cls)
        array._numbering = numbering
        return array

    def __array_finalize__(self, parent: object) -> None:
        self._numbering = None  # of what NumPy makes of it: sorted or cut, it has no value for each vertex

    @property
    def values(self) -> NDArray[S]:
        """The same memory as a plain array, read only."""
        return self.view(np.ndarray)

    @property
    def numbering(self) -> Numbering:
        """How the vertices are called."""
        if self._numbering is None or self.shape != (self._numbering.count,):
            raise UsageError("this array no longer has a value for each vertex")
        return self._numbering

    @property
    def ids(self) -> NDArray[Any]:
        """What the vertices are called, in the order of the values."""
        return self.numbering.ids

    def of(self, vertices: Any) -> Any:
        """The value of a vertex; of each in a list or array of vertices, as an array. UsageError where there is none
        of that name or number."""
        if isinstance(vertices, (list, np.ndarray)):
            return self.values[self.numbering.places(vertices)]
        return self.values[self.numbering.place(vertices)]

    def __getitem__(self, key: Any) -> Any:
        self._refuse_numbers(key)
        return self.values[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise UsageError("values of vertices are read only; array.values.copy() can be changed")
        self.values[key] = plain(value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        options = {name: plain(value) for name, value in options.items()}
        result = getattr(ufunc, method)(*(plain(each) for each in inputs), **options)
        if method != "__call__" or "out" in options:
            return result
        if isinstance(result, tuple):
            return tuple(labelled(each, inputs) for each in result)
        return labelled(result, inputs)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        given, named = plain(arguments), plain(options)
        result = function(*given, **named)
        if any(result is each for each in (*given, *named.values())):
            return result  # `out`, which its owner may change
        if function is np.isin:
            return labelled(result, arguments[:1] or (options.get("element"),))
        return labelled(result, arguments) if function in ELEMENT_WISE else result

    def astype(self, *arguments: Any, **options: Any) -> Any:
        return labelled(self.values.astype(*arguments, **options), (self,))

    def copy(self, *arguments: Any, **options: Any) -> Any:
        return labelled(self.values.copy(*arguments, **options), (self,))

    def clip(self, *arguments: Any, **options: Any) -> Any:
        return np.clip(self, *arguments, **options)

    def round(self, *arguments: Any, **options: Any) -> Any:
        return np.round(self, *arguments, **options)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        if self._numbering is None:
            return self.values.__reduce__()
        return _restored, (self.values, self._numbering)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.values.__reduce_ex__(protocol) if self._numbering is None else self.__reduce__()

    def __repr__(self) -> str:
        if self._numbering is None:
            return repr(self.values)
        ids = np.array2string(self.ids, threshold=6, edgeitems=2, separator=", ")
        return f"VertexArray({np.array2string(self.values, separator=', ', prefix='VertexArray(')}, ids={ids})"

    def __str__(self) -> str:
        return str(self.values)

    def _refuse_numbers(self, key: Any) -> None:
        """UsageError for an index of whole numbers where vertices are not called by their places."""
        if self._numbering is None or self._numbering.from_zero:
            return
        for part in key if isinstance(key, tuple) else (key,):
            if part is None or part is Ellipsis or isinstance(part, (slice, bool, np.bool_)):
                continue
            if whole_number(part) is None and np.asarray(part).dtype.kind not in "iu":
                continue
            shown = part if np.ndim(part) == 0 else "[...]"
            raise UsageError(
                f"[{shown}] could mean a vertex or a place, as the vertices of this graph are not called 0, 1, 2...: "
                f".of({shown}) is the value by vertex, .values[{shown}] the value by place"
            )


def read_only(values: NDArray[S]) -> NDArray[S]:
    """The array's memory, which nobody may change from now on: NumPy lets nobody set the flag of what this gives."""
    values.flags.writeable = False
    if values.dtype.hasobject:
        return values
    memory: Any = np.ascontiguousarray(values).view(np.uint8)
    return np.asarray(memoryview(memory).toreadonly()).view(values.dtype)


def _restored(values: NDArray[Any], numbering: Numbering) -> VertexArray[Any]:
    """An array from its pickled parts."""
    return VertexArray(read_only(values), numbering)


def labelled(result: Any, inputs: Any) -> Any:
    """`result`, which is new, with the ids of the inputs, if it has a value for each vertex and all speak of the same
    vertices."""
    known = [each._numbering for each in inputs if isinstance(each, VertexArray) and each._numbering is not None]
    if not known or type(result) is not np.ndarray or result.shape != (known[0].count,):
        return result
    same = all(each is known[0] or each == known[0] for each in known)
    return VertexArray(read_only(result), known[0]) if same else result


def plain(value: Any) -> Any:
    """`value` with the plain array in the place of each VertexArray, also inside lists, tuples and dictionaries."""
    if isinstance(value, VertexArray):
        return value.values
    if isinstance(value, (list, tuple)) and any(isinstance(each, (VertexArray, list, tuple)) for each in value):
        return type(value)(plain(each) for each in value)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value

"""What a pool can be given to do on its devices, and how arguments and results become bytes."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, Callable, ClassVar, NamedTuple, Optional

import numpy as np
from numpy.typing import DTypeLike, NDArray

from laneway import _core
from laneway.arrays import as_array
from laneway.errors import UsageError

BODY_TYPES = {"cpu": _core.task_call_body_cpu, "gpu": _core.task_call_body_gpu, "all": _core.task_call_body}
"""Numbers of the types of bodies, by the devices that run them."""


def is_body(number: int) -> bool:
    """Whether tasks of the type with this number call a TaskBody."""
    return number in BODY_TYPES.values()


Decode = Optional[Callable[[Any], Any]]


class Packed(NamedTuple):
    """Tasks as the compiled part takes them."""

    type: int
    setting: int
    inputs: Any
    """Bytes, of all tasks one after the other, or an array of them."""
    output_bytes: int
    """Of a task."""
    kind: str
    """Of the result: a NumPy kind, or "A" where a single task, too, has an array."""
    decode: Decode
    """Makes a result of what the compiled part gives; None: it is one."""


class TaskKind(ABC):
    """Something that devices do: a task of it has arguments and a result."""

    name: str

    @abstractmethod
    def pack_one(self, arguments: Sequence[Any]) -> Packed:
        """A single task; UsageError for arguments that it does not take."""

    @abstractmethod
    def pack_many(self, arrays: Sequence[Any]) -> tuple[Packed, int]:
        """A batch, and how many tasks it has; the result is an array."""

    def require_count(self, arguments: Sequence[Any], count: int) -> None:
        """UsageError unless there are so many arguments."""
        if len(arguments) != count:
            arguments_ = "1 argument" if count == 1 else f"{count} arguments"
            raise UsageError(f"{self.name} takes {arguments_}, not {len(arguments)}")


class ScalarKind(TaskKind):
    """Takes numbers and small structs, and returns one of them."""

    def __init__(
        self, name: str, type: int, inputs: Sequence[tuple[str, int]], input_bytes: int, result: str, setting: int = 0
    ) -> None:
        self.name = name
        self._type = type
        self._setting = setting
        self._codes = [code for code, _ in inputs]
        self._row = np.dtype(
            {
                "names": [f"argument {i}" for i in range(len(inputs))],
                "formats": self._codes,
                "offsets": [offset for _, offset in inputs],
                "itemsize": max(input_bytes, 1),
            }
        )
        self._pack = _struct_of(inputs, input_bytes).pack
        self._has_structs = any(code[0] in "Vb" for code in self._codes)
        self._result = result
        self._result_bytes = int(result[1:])
        self._result_type: np.dtype[Any] | None = None
        self._decode: Decode = None

    def pack_one(self, arguments: Sequence[Any]) -> Packed:
        if self._has_structs:
            self.require_count(arguments, len(self._codes))
            arguments = [self._plain(i, given) for i, given in enumerate(arguments)]
        try:
            inputs = self._pack(*arguments)
        except (struct.error, TypeError, OverflowError, ValueError):
            raise self._refused(arguments) from None
        return Packed(self._type, self._setting, inputs, self._result_bytes, self._result[0], self._decode)

    def pack_many(self, arrays: Sequence[Any]) -> tuple[Packed, int]:
        self.require_count(arrays, len(self._codes))
        columns = [column_of(f"argument {i + 1} of {self.name}", a, self._codes[i]) for i, a in enumerate(arrays)]
        count = length_of(self.name, columns)
        if len(columns) == 1 and self._row.itemsize == columns[0].itemsize:
            rows: NDArray[Any] = np.ascontiguousarray(np.broadcast_to(columns[0], count))
        else:
            rows = np.zeros(count, self._row)
            for name, column in zip(self._row.names or (), columns):
                rows[name] = column
        wanted = self._result_type or np.dtype(self._result)
        decode = (lambda raw: raw.view(wanted)) if self._result_bytes else (lambda _: None)
        return Packed(self._type, self._setting, rows, self._result_bytes, self._result[0], decode), count

    def _plain(self, place: int, given: Any) -> Any:
        """A struct as its bytes."""
        code = self._codes[place]
        if code[0] == "b" and not isinstance(given, (bool, np.bool_)):
            raise self._wrong(place, given)
        if code[0] != "V":
            return given
        if isinstance(given, (np.generic, np.ndarray)) and not _is_struct(given):
            raise self._wrong(place, given)
        try:
            content = given.tobytes() if isinstance(given, (np.generic, np.ndarray)) else bytes(memoryview(given))
        except TypeError:
            raise self._wrong(place, given) from None
        if len(content) != int(code[1:]):
            raise UsageError(
                f"argument {place + 1} of {self.name} is a struct of {code[1:]} bytes, not of {len(content)}: "
                "align=True aligns fields as C++ does"
            )
        return content

    def _refused(self, arguments: Sequence[Any]) -> UsageError:
        """Why arguments cannot be packed."""
        try:
            self.require_count(arguments, len(self._codes))
        except UsageError as error:
            return error
        for place, (code, given) in enumerate(zip(self._codes, arguments)):
            try:
                if code[0] != "V":
                    struct.pack("=" + _LETTERS[code], given)  # "=" tells what is too large
            except (struct.error, TypeError, OverflowError, ValueError):
                return self._wrong(place, given)
        return UsageError(f"{self.name} does not take these arguments")

    def _wrong(self, place: int, given: Any) -> UsageError:
        return UsageError(
            f"argument {place + 1} of {self.name} is {_WORDS[self._codes[place][0]](given, self._codes[place])}"
        )


_LETTERS = {"f4": "f", "f8": "d", "b1": "?"} | {
    f"{kind}{size}": letter.upper() if kind == "u" else letter
    for kind in "iu"
    for size, letter in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
}
_WORDS: dict[str, Callable[[Any, str], str]] = {
    "f": lambda given, code: (
        f"a float of {8 * int(code[1:])} bits, which {given!r} is too large for"
        if isinstance(given, (Real, np.number))
        else f"a number, not {given!r}"
    ),
    "b": lambda given, code: f"True or False, not {given!r}",
    "i": lambda given, code: f"a whole number of {8 * int(code[1:])} bits, not {given!r}",
    "u": lambda given, code: f"a whole number from 0 on of {8 * int(code[1:])} bits, not {given!r}",
    "V": lambda given, code: f"a struct, given as bytes or NumPy's, not {given!r}",
}


def _struct_of(inputs: Sequence[tuple[str, int]], input_bytes: int) -> struct.Struct:
    """Packs arguments as a C++ struct lays them out."""
    letters, at = "=", 0
    for code, offset in inputs:
        letters += "x" * (offset - at) + (_LETTERS[code] if code[0] != "V" else f"{code[1:]}s")
        at = offset + int(code[1:])
    return struct.Struct(letters + "x" * (input_bytes - at))


def _is_struct(given: NDArray[Any] | np.generic) -> bool:
    """Whether bytes of it can be those of a C++ struct: not of numbers by themselves, objects, or the other order."""
    if isinstance(given, np.ma.MaskedArray) or given.dtype.hasobject or given.dtype.subdtype is not None:
        return False
    return given.dtype == np.uint8 or (given.dtype.kind == "V" and given.dtype.isnative)


def column_of(name: str, values: Any, code: str) -> NDArray[Any]:
    """An array of the type that is called `code`, or one value for all tasks; UsageError for what would change."""
    wanted = np.dtype(code)
    if code[0] == "V" and isinstance(values, (list, tuple)) and all(isinstance(each, bytes) for each in values):
        values = _structs_of(name, values, wanted.itemsize)
    given = as_array(name, values)
    if given.ndim > 1:
        raise UsageError(f"{name} must have one dimension, not {given.ndim}")
    if code[0] == "V":
        if given.dtype.itemsize != wanted.itemsize or not _is_struct(given):
            raise UsageError(
                f"{name} must be structs of {wanted.itemsize} bytes in this machine's order, with the fields of C++ "
                f"and align=True, not {given.dtype}"
            )
        return np.ascontiguousarray(given).view(wanted)
    if given.dtype == wanted:
        return given
    if given.size == 0:
        return given.astype(wanted)
    if given.dtype.kind not in ("b" if code[0] == "b" else "biu" if code[0] in "iu" else "biuf"):
        raise UsageError(f"{name} must be {wanted}, not {given.dtype}")
    with np.errstate(over="ignore"):
        made = given.astype(wanted)
    same = made == given if code[0] in "iu" else np.isfinite(made) | ~np.isfinite(given)
    if not same.all():
        place = int(np.flatnonzero(~np.atleast_1d(same))[0])
        raise UsageError(f"{name} must be {wanted}: element {place} is {np.atleast_1d(given)[place]}")
    return made


def _structs_of(name: str, values: Sequence[bytes], size: int) -> NDArray[Any]:
    """Structs that are given as their bytes, of which NumPy would cut off zeros at the end."""
    for place, each in enumerate(values):
        if len(each) != size:
            raise UsageError(f"{name} must be structs of {size} bytes: element {place} has {len(each)}")
    return np.frombuffer(b"".join(values), np.dtype((np.void, size)))


def length_of(name: str, columns: Sequence[NDArray[Any]]) -> int:
    """Tasks of a batch: arrays are of one length, other values stand for as many."""
    lengths = {len(column) for column in columns if column.ndim}
    if len(lengths) != 1:
        found = " and ".join(map(str, sorted(lengths))) if lengths else "none is an array"
        raise UsageError(f"submit_many of {name} takes arrays of one length: {found}")
    return lengths.pop()


class MatrixProduct(TaskKind):
    """`matmul(a, b)`: the product of two square matrices of float32, by one worker."""

    name = "matmul"
    MAX_WIDTH = 1024

    def pack_one(self, arguments: Sequence[Any]) -> Packed:
        packed, _ = self._packed(arguments, ())
        return packed

    def pack_many(self, arrays: Sequence[Any]) -> tuple[Packed, int]:
        return self._packed(arrays, None)

    def _packed(self, given: Sequence[Any], leading: tuple[int, ...] | None) -> tuple[Packed, int]:
        self.require_count(given, 2)
        dimensions = 2 if leading is not None else 3
        a, b = (self._matrices(f"argument {i + 1} of matmul", g, dimensions) for i, g in enumerate(given))
        if a.shape != b.shape:
            raise UsageError(f"matmul takes matrices of one shape, not {a.shape} and {b.shape}")
        width = a.shape[-1]
        both = np.stack([a, b], axis=-3)
        decode = lambda raw: raw.view(np.float32).reshape(a.shape)  # noqa: E731
        return Packed(_core.task_matmul, width, both, 4 * width * width, "A", decode), len(a)

    def _matrices(self, name: str, given: Any, dimensions: int) -> NDArray[Any]:
        array = as_array(name, given)
        if array.ndim != dimensions or array.shape[-1] != array.shape[-2]:
            several = "square matrices, in three dimensions" if dimensions == 3 else "a square matrix"
            raise UsageError(f"{name} must be {several}, not of shape {array.shape}")
        if not 1 <= array.shape[-1] <= self.MAX_WIDTH:
            raise UsageError(f"{name} must have 1 to {self.MAX_WIDTH} rows, not {array.shape[-1]}")
        if array.dtype.kind not in "biuf":
            raise UsageError(f"{name} must be float32, not {array.dtype}")
        with np.errstate(over="ignore"):
            made = array.astype(np.float32)
        large = np.isinf(made) & np.isfinite(array)
        if large.any():
            raise UsageError(f"{name} must be float32, which {array[large][0]} is too large for")
        return made


class MandelbrotRow(TaskKind):
    """`mandelbrot(real, imaginary, step, columns, limit)`: steps of each point of a row, uint32, until it has left the
    circle of radius 2, or the limit."""

    name = "mandelbrot"
    MAX_COLUMNS = 2**20
    ROW: ClassVar[DTypeLike] = [("real", "f8"), ("imaginary", "f8"), ("step", "f8"), ("limit", "u8")]

    def pack_one(self, arguments: Sequence[Any]) -> Packed:
        self.require_count(arguments, 5)
        packed, _ = self.pack_many([[arguments[0]], *arguments[1:]])
        return packed._replace(decode=lambda raw: raw.view(np.uint32))

    def pack_many(self, arrays: Sequence[Any]) -> tuple[Packed, int]:
        self.require_count(arrays, 5)
        codes = ("f8", "f8", "f8", "u4", "u4")
        columns = [column_of(f"argument {i + 1} of mandelbrot", a, codes[i]) for i, a in enumerate(arrays)]
        width = columns.pop(3)
        if width.ndim or not 1 <= width <= self.MAX_COLUMNS:
            raise UsageError(f"argument 4 of mandelbrot is one number of columns, 1 to {self.MAX_COLUMNS}, not {width}")
        rows = np.zeros(length_of(self.name, columns), self.ROW)
        for name, column in zip(rows.dtype.names or (), columns):
            rows[name] = column
        count, points = len(rows), int(width)
        decode = lambda raw: raw.view(np.uint32).reshape(count, points)  # noqa: E731
        return Packed(_core.task_mandelbrot, points, rows, 4 * points, "A", decode), count


BUILT_IN: dict[str, TaskKind] = {
    kind.name: kind
    for kind in (
        ScalarKind("adder", _core.task_adder, [("f8", 0), ("f8", 8), ("u8", 16)], 24, "f8"),
        ScalarKind("spin", _core.task_spin, [("u8", 0)], 8, "u8"),
        MatrixProduct(),
        MandelbrotRow(),
    )
}
"""Kinds of task that every pool has, by name."""

"""Weights and indices that come as arrays."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway.arrays import as_array
from laneway.errors import UsageError

# Types that the compiled part takes, by kind and size; others are widened to one of them.
NATIVE = {"i": np.int64, "u": np.uint64, "b": np.int64}


def weights_of(values: ArrayLike | None, arcs: int, name: Callable[[int], str]) -> _core.Weights | None:
    """The weights of `arcs` arcs as a graph holds them; None for none. `name(place)` is what a message calls one.

    Raises UsageError for another number of them, for a value that is negative, infinite, no number or over 2**32 - 1,
    and for decimals that do not fit 32 bits together.
    """
    if values is None:
        return None
    found = as_array("weights", values, name)
    if found.ndim != 1:
        raise UsageError(f"weights must be one number an arc, not an array of shape {found.shape}")
    if found.size != arcs:
        raise UsageError(f"{found.size} weights for {arcs} arcs")
    if found.size == 0:
        return None
    if found.dtype.kind == "O":
        found = _numbers(found, name)
    if found.dtype.kind in NATIVE:
        found = found.astype(NATIVE[found.dtype.kind])
    elif found.dtype.kind == "f":
        found = found.astype(np.float32 if found.dtype.itemsize <= 4 else np.float64)
    else:
        raise UsageError(f"weights must be numbers, not {found.dtype}")
    return _core.make_weights(np.ascontiguousarray(found), name)


def _numbers(values: NDArray[Any], name: Callable[[int], str]) -> NDArray[Any]:
    """Python's own numbers as an array: whole ones as they are, others as the nearest float64."""
    for place, value in enumerate(values):
        if not isinstance(value, (numbers.Real, Decimal)):
            raise UsageError(f"{name(place)} is {value!r}, not a number")
        if isinstance(value, numbers.Integral) and not -(2**63) <= int(value) < 2**63:
            raise UsageError(f"{name(place)}, {value}, is {_outside(value)}")
    if all(isinstance(value, numbers.Integral) for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    return np.array([_as_float(value, name, place) for place, value in enumerate(values)])


def _as_float(value: Any, name: Callable[[int], str], place: int) -> float:
    try:
        # A narrow float of NumPy's is the decimal that it shows.
        return float(str(value)) if isinstance(value, np.floating) else float(value)
    except OverflowError:  # a Fraction, for instance
        raise UsageError(f"{name(place)} is {_outside(value)}") from None
    except ValueError:  # a signalling NaN
        raise UsageError(f"{name(place)} is not a number") from None


def _outside(value: Any) -> str:
    return "negative" if value < 0 else "over the limit of 4294967295"


def whole_indices(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """An array of whole numbers as int64; UsageError for anything else."""
    found = as_array(name, values)
    if found.size == 0 and found.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise UsageError(f"{name} must be a list of whole numbers, not {found.dtype} of shape {found.shape}")
    if found.dtype == np.uint64 and int(found.max()) >= 2**63:
        raise UsageError(f"{name} holds {found.max()}, more than any graph has")
    return np.ascontiguousarray(found, dtype=np.int64)


@contextmanager
def way_out(maker: str) -> Iterator[None]:
    """Lets what refuses weights say how the graph can be had without: `maker` takes `weight=None`."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{error}; {maker}(..., weight=None) takes the arcs alone") from None

"""Arrays as they come in."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway.errors import UsageError


def as_array(name: str, values: ArrayLike, entry: Callable[[int], str] | None = None) -> NDArray[Any]:
    """What a caller gives as an array, as one of NumPy's; UsageError for rows of different lengths, and for an entry
    that a mask hides. `name` is what messages call the array, `entry(place)` what they call an entry of it."""
    refuse_masked(name, values, entry)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be a list of numbers, or of rows of the same length") from None


def refuse_masked(name: str, values: Any, entry: Callable[[int], str] | None = None) -> None:
    """UsageError for the first masked entry of masked arrays, and of lists of them: NumPy would take what it hides."""
    place = first_masked(values)
    if place is None:
        return
    if entry is not None and place:
        raise UsageError(f"{entry(place[0])} is masked")
    raise UsageError(f"{name}[{', '.join(map(str, place))}] is masked" if place else f"{name} is masked")


def first_masked(values: Any) -> tuple[int, ...] | None:
    """Indices of the first masked entry; None where there is none."""
    if isinstance(values, np.ma.MaskedArray):
        masked = np.argwhere(np.ma.getmaskarray(values))
        return tuple(masked[0].tolist()) if len(masked) else None
    if isinstance(values, (list, tuple)):
        for place, each in enumerate(values):
            inner = first_masked(each) if isinstance(each, (np.ma.MaskedArray, list, tuple)) else None
            if inner is not None:
                return (place, *inner)
    return None

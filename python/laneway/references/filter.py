"""Reference answers of filters."""

from __future__ import annotations

import operator
import re
import time
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from laneway.verification import Verification, compare

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
TERM = re.compile(r"\s*x\s*(?:%\s*(?P<modulus>[^\s<>=!]+)\s*)?(?P<is>[<>=!]=?)\s*(?P<constant>\S+)\s*")


def mask_of(values: NDArray[Any], condition: str) -> NDArray[np.bool_]:
    """NumPy's own answer to a condition that `laneway.filter` has taken."""
    kind = values.dtype.type
    any_of = re.search(r"\bor\b", condition) is not None
    masks = []
    for text in re.split(r"\b(?:and|or)\b", condition):
        term = TERM.fullmatch(text)
        if term is None:
            raise ValueError(text)
        left = values % _number(kind, term["modulus"]) if term["modulus"] else values
        masks.append(COMPARISONS[term["is"]](left, _number(kind, term["constant"])))
    joined: NDArray[np.bool_] = (np.logical_or if any_of else np.logical_and).reduce(masks)
    return joined


def _number(kind: type[Any], text: str) -> Any:
    return kind(float(text)) if np.issubdtype(kind, np.floating) else kind(int(text))


def verify(values: NDArray[Any], condition: str, kept: NDArray[Any]) -> Verification:
    """Compare with a mask of NumPy's."""
    start = time.perf_counter()
    expected = values[mask_of(values, condition)]
    seconds = time.perf_counter() - start
    if len(expected) != len(kept):
        told = f"{len(expected):,} numbers should have been kept, not {len(kept):,}"
        return Verification("a mask of NumPy's", seconds, "counts", 1, told)
    # Bits, so that -0.0 is not 0.0 and a NaN is itself.
    wrong = expected.view(f"u{expected.itemsize}") != kept.view(f"u{kept.itemsize}")
    return compare(
        "a mask of NumPy's",
        seconds,
        "numbers",
        wrong,
        lambda place: f"number {place} of those kept is {expected[place]}, not {kept[place]}",
    )

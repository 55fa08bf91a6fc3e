"""Outcome of comparing a result with a reference answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Verification:
    """Outcome of a comparison."""

    reference: str
    """Whose answer it was compared with."""
    seconds: float
    """Time the reference took, the input's conversion excluded."""
    compared: str
    """What was compared, in the plural: "distances"."""
    mismatches: int
    """How many of them differ."""
    first_mismatch: str
    """The first of them with both values; empty if all agree."""


def compare(
    reference: str, seconds: float, compared: str, wrong: NDArray[np.bool_], describe: Callable[[int], str]
) -> Verification:
    """Outcome where `wrong` marks what differs and `describe(place)` tells one difference in words."""
    places = np.flatnonzero(wrong)
    first = describe(int(places[0])) if places.size else ""
    return Verification(reference, seconds, compared, int(places.size), first)

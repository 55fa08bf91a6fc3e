"""Checks of arguments that the compiled part would refuse in its own words."""

from __future__ import annotations

import operator

from laneway.errors import UsageError


def require_whole(name: str, number: int, least: int = 0, bits: int = 64) -> None:
    """UsageError unless `number` is whole, at least `least` and below 2**bits; NumPy's whole numbers are welcome."""
    try:
        fits = least <= operator.index(number) < 2**bits
    except TypeError:
        fits = False
    if not fits:
        raise UsageError(f"{name} must be a whole number from {least} to {2**bits - 1}, not {number!r}")

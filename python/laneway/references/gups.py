"""Reference answers of random updates."""

from __future__ import annotations

import time

from laneway import _core
from laneway.programs.gups import GupsResult
from laneway.verification import Verification, compare

MAX_SEQUENTIAL = 2**26
"""Words and updates up to which one core makes the whole run again; it takes some tenths of a second."""


def verify(result: GupsResult) -> Verification:
    """Compare every word with a sequential run on one core, as HPC Challenge does.

    Where that would take too long: with a replay on the devices, without messages.
    """
    if max(result.words, result.updates) > MAX_SEQUENTIAL:
        check = result.check()
        first = f"word {check.first_error} is wrong" if check.errors else ""
        return Verification("a replay without messages", check.seconds, "words", check.errors, first)
    start = time.perf_counter()
    expected = _core.gups_reference(result.words.bit_length() - 1, result.updates)
    seconds = time.perf_counter() - start
    table = result.table()

    def describe(place: int) -> str:
        return f"word {place} is {expected[place]:#x}, not {table[place]:#x}"

    return compare("a sequential run", seconds, "words", expected != table, describe)

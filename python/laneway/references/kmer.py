"""Reference answers of k-mer counts."""

from __future__ import annotations

import time

import numpy as np

from laneway import _core
from laneway._core import Sequences, SimulatedReads
from laneway.programs.kmer import KmerCounts
from laneway.verification import Verification, compare


def verify(source: Sequences | SimulatedReads, options: _core.KmerOptions, counts: KmerCounts) -> Verification:
    """Compare the histogram with that of all k-mers sorted on one core, which takes 16 bytes a k-mer."""
    start = time.perf_counter()
    expected = _core.count_kmers_by_sorting(source, options).take_histogram()
    seconds = time.perf_counter() - start
    found = np.zeros_like(expected)
    found[counts.multiplicity] = counts.kmers

    def describe(place: int) -> str:
        return f"{expected[place]} k-mers occur {place} times, not {found[place]}"

    return compare("sorting on one core", seconds, "lines of the histogram", found != expected, describe)

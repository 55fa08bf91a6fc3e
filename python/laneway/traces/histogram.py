"""Distributions of whole numbers, counted as they come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Distribution:
    """Mean, percentiles and greatest of `count` numbers; zeros where there are none."""

    count: int
    mean: float
    median: int
    p90: int
    p99: int
    maximum: int


class Histogram:
    """Counts how often each number occurs; memory grows with the different numbers alone."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, value: int) -> None:
        """One number more."""
        self._counts[value] += 1

    def distribution(self) -> Distribution:
        """The figures of all numbers so far. A percentile is the least number that so many do not exceed."""
        total = sum(self._counts.values())
        if total == 0:
            return Distribution(0, 0.0, 0, 0, 0, 0)
        values = sorted(self._counts)
        found: list[int] = []
        reached, at = self._counts[values[0]], 0
        for percent in (50, 90, 99):
            while reached * 100 < total * percent:
                at += 1
                reached += self._counts[values[at]]
            found.append(values[at])
        mean = sum(value * count for value, count in self._counts.items()) / total
        return Distribution(total, mean, found[0], found[1], found[2], values[-1])


@dataclass(frozen=True)
class SizeClass:
    """So many of `least` to `most`."""

    least: int
    most: int
    count: int


class SizeHistogram:
    """Counts by powers of two: 0, 1, 2 to 3, 4 to 7 and so on. Negative numbers are those that are not known."""

    def __init__(self) -> None:
        self._classes: Counter[int] = Counter()
        self._numbers = Histogram()
        self.total = self.unknown = self.count = 0

    def add(self, value: int) -> None:
        """One size more."""
        self.count += 1
        if value < 0:
            self.unknown += 1
            return
        self.total += value
        self._classes[value.bit_length()] += 1
        self._numbers.add(value)

    def classes(self) -> tuple[SizeClass, ...]:
        """The classes that occur, from small to large."""
        bounds = {bits: (0, 0) if bits == 0 else (1 << (bits - 1), (1 << bits) - 1) for bits in self._classes}
        return tuple(SizeClass(*bounds[bits], self._classes[bits]) for bits in sorted(self._classes))

    def distribution(self) -> Distribution:
        """The figures of the sizes that are known."""
        return self._numbers.distribution()

"""A trace: the calls of the ranks of one run, read as they are needed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Callable, Optional

from laneway.traces.calls import Call, Operation
from laneway.traces.unpack import Unpacked

Fixed = Optional[dict[int, Optional[list[int]]]]


class Trace:
    """The MPI calls of one run, as [laneway.read_trace][laneway.traces.files.read_trace] found them.

    `name` is that of its files, `format` is `dumpi`, `dumpi_ascii` or `otf2`, `ranks` are those that are traced, and
    `world` is how many the run had, None where that is not known.
    """

    def __init__(
        self,
        name: str,
        format: str,
        ranks: Mapping[int, Callable[[], Iterator[Call]]],
        world: int | None,
        numbers: tuple[int, int],
        fixed: Fixed = None,
        names: dict[int, str] | None = None,
        wildcards_recorded: bool = True,
    ) -> None:
        self.name, self.format, self.world = name, format, world
        self.ranks: tuple[int, ...] = tuple(sorted(ranks))
        self._open = ranks
        self.numbers = numbers
        """What MPI_COMM_WORLD and MPI_COMM_SELF are called in the calls."""
        self.fixed = fixed
        """The ranks of every communicator, where the trace tells them."""
        self._names = names or {}
        self.wildcards_recorded = wildcards_recorded
        """Whether the trace tells that a receive had a wildcard."""
        self.unpacked: list[Unpacked] = []
        """Where its files were unpacked; removed with the last trace of them."""

    @property
    def complete(self) -> bool:
        """Whether all ranks of the run are traced."""
        return self.world is not None and len(self.ranks) == self.world

    def calls(self, rank: int) -> Iterator[Call]:
        """The calls of one rank, in the order of their ends; UsageError where the trace is broken."""
        return self._open[rank]()

    def in_order(self) -> Iterator[tuple[int, Call, tuple[Operation, ...]]]:
        """What happens at all ranks, in the order of time: the begin of each call with its `first` operations, and its
        end with the `last` ones where there are any. Ranks at the same time come in their order."""
        return heapq.merge(*(_moments(self.calls(rank)) for rank in self.ranks), key=itemgetter(0))

    def communicator_name(self, number: int) -> str:
        """The name of a communicator, one for all that the program made where they have none of their own."""
        known = dict(zip(self.numbers, ("MPI_COMM_WORLD", "MPI_COMM_SELF")))
        return self._names.get(number) or known.get(number, "others")

    def __repr__(self) -> str:
        world = "" if self.world is None else f" of {self.world}"
        return f"<Trace {self.name}: {self.format}, {len(self.ranks)}{world} ranks>"


def _moments(calls: Iterator[Call]) -> Iterator[tuple[int, Call, tuple[Operation, ...]]]:
    for call in calls:
        yield call.start, call, call.first
        if call.last:
            yield call.stop, call, call.last

"""Matching of messages and receives as MPI orders it: the sequential model that others are checked against.

One `Matcher` stands for one receiver. It has the two queues of MPI: receives that are posted, and messages that have
come before a receive for them. A message takes the earliest posted receive that fits; a receive takes the earliest
message that fits (MPI 4.1, sections 3.2.4 and 3.5). Depths are those of a search from the head of one linear list, as
Klenk 2017, section 4.3.3, counts them, though the model finds entries by their keys.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

from laneway.traces.calls import ANY_SOURCE, ANY_TAG

_Key = tuple[int, int, Hashable]


class Search(NamedTuple):
    """What a search of a queue came to. `found` is the entry that was taken, None where nothing fitted; `ticket` then
    names the new entry of the other queue. `depth` entries were looked at, of `length`. `choice` tells that another
    entry would have fitted too, so that only the order decided."""

    found: Any
    depth: int
    length: int
    choice: bool
    ticket: int


class _Queue:
    """A queue whose entries are found by keys. An entry may stand under several."""

    def __init__(self) -> None:
        self._tickets: list[int] = []
        self._entries: dict[int, tuple[tuple[_Key, ...], Any]] = {}
        self._by_key: dict[_Key, OrderedDict[int, None]] = {}

    def __len__(self) -> int:
        return len(self._tickets)

    def add(self, keys: tuple[_Key, ...], entry: Any, ticket: int) -> None:
        """Put an entry at the end; tickets grow."""
        self._tickets.append(ticket)
        self._entries[ticket] = (keys, entry)
        for key in keys:
            self._by_key.setdefault(key, OrderedDict())[ticket] = None

    def search(self, keys: tuple[_Key, ...]) -> tuple[int | None, bool]:
        """The ticket of the earliest entry under any of the keys, and whether there are others."""
        best, fitting = None, 0
        for key in keys:
            under = self._by_key.get(key)
            if under:
                fitting += len(under)
                first = next(iter(under))
                best = first if best is None or first < best else best
        return best, fitting > 1

    def place(self, ticket: int) -> int:
        """How many entries a search from the head looks at until it finds this one."""
        return bisect_left(self._tickets, ticket) + 1

    def __contains__(self, ticket: int) -> bool:
        return ticket in self._entries

    def entry(self, ticket: int) -> Any:
        """The entry, which stays."""
        return self._entries[ticket][1]

    def remove(self, ticket: int) -> Any:
        """Take an entry out."""
        keys, entry = self._entries.pop(ticket)
        del self._tickets[bisect_left(self._tickets, ticket)]
        for key in keys:
            under = self._by_key[key]
            del under[ticket]
            if not under:
                del self._by_key[key]
        return entry


def _patterns(source: int, tag: int, communicator: Hashable) -> tuple[_Key, ...]:
    """All that a receive may ask for to get this message."""
    return (
        (source, tag, communicator),
        (ANY_SOURCE, tag, communicator),
        (source, ANY_TAG, communicator),
        (ANY_SOURCE, ANY_TAG, communicator),
    )


class Matcher:
    """The queues of one receiver. Communicators are whatever tells them apart; messages and receives are whatever the
    caller wants back."""

    def __init__(self) -> None:
        self.posted, self.unexpected = _Queue(), _Queue()
        self._next = 0

    def arrive(self, source: int, tag: int, communicator: Hashable, message: Any) -> Search:
        """A message comes: it takes a posted receive, or waits in the queue of unexpected messages."""
        keys = _patterns(source, tag, communicator)
        return self._match(self.posted, keys, self.unexpected, keys, message)

    def post(self, source: int, tag: int, communicator: Hashable, receive: Any) -> Search:
        """A receive is posted: it takes an unexpected message, or waits. Source and tag may be wildcards."""
        key = ((source, tag, communicator),)
        return self._match(self.unexpected, key, self.posted, key, receive)

    def probe(self, source: int, tag: int, communicator: Hashable) -> Search:
        """What `post` would take; nothing changes."""
        length = len(self.unexpected)
        ticket, choice = self.unexpected.search(((source, tag, communicator),))
        if ticket is None:
            return Search(None, length, length, False, -1)
        return Search(self.unexpected.entry(ticket), self.unexpected.place(ticket), length, choice, ticket)

    def withdraw(self, ticket: int) -> Search:
        """A posted receive goes without a match by the model."""
        if ticket not in self.posted:
            return Search(None, 0, len(self.posted), False, ticket)
        depth, length = self.posted.place(ticket), len(self.posted)
        return Search(self.posted.remove(ticket), depth, length, False, ticket)

    def first_posted(self, source: int, tag: int, communicator: Hashable) -> int | None:
        """The ticket of the posted receive that such a message would take; nothing changes."""
        return self.posted.search(_patterns(source, tag, communicator))[0]

    def infer(self, ticket: int, source: int, tag: int, communicator: Hashable) -> Search:
        """A posted receive has ended by a message that was not seen. Source and tag are those of the message, wildcards
        or negative where they are not known."""
        return self.withdraw(ticket)

    def _match(
        self, searched: _Queue, wanted: tuple[_Key, ...], other: _Queue, keys: tuple[_Key, ...], entry: Any
    ) -> Search:
        length = len(searched)
        ticket, choice = searched.search(wanted)
        if ticket is not None:
            depth = searched.place(ticket)
            return Search(searched.remove(ticket), depth, length, choice, ticket)
        self._next += 1
        other.add(keys, entry, self._next)
        return Search(None, length, length, False, self._next)

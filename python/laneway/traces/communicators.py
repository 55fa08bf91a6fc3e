"""Which ranks of the world a communicator has, where each rank has numbers of its own for communicators."""

from __future__ import annotations

from collections.abc import Hashable

from laneway.traces.calls import UNKNOWN, NewCommunicator


class _Group:
    """The ranks of a communicator, each with what orders them."""

    def __init__(self) -> None:
        self._joined: list[tuple[int, int, int]] = []
        self._ranks: list[int] | None = None

    def join(self, key: int, place: int, rank: int) -> None:
        """A rank of the world joins; `place` is its rank in the parent."""
        self._joined.append((key, place, rank))
        self._ranks = None

    @property
    def ranks(self) -> list[int]:
        """Ranks in the world, in the order of the communicator."""
        if self._ranks is None:
            self._ranks = [rank for _, _, rank in sorted(self._joined)]
        return self._ranks


class Communicators:
    """Names and ranks of communicators.

    Making a communicator is collective: the n-th that one rank makes of a parent is the n-th of all others. So a rank's
    own number leads to a name that all share, and to the ranks that took part so far; nobody uses a communicator before
    all have taken part. `complete` says that all ranks of the world are traced: otherwise the ranks of no other
    communicator than the world are known. `fixed` are the ranks of all, where a trace tells them.
    """

    def __init__(self, world: int, own: int, complete: bool, fixed: dict[int, list[int] | None] | None = None) -> None:
        self._world, self._own, self._complete, self._fixed = world, own, complete, fixed
        self._names: dict[tuple[int, int], Hashable] = {}
        self._ordinals: dict[tuple[int, Hashable], int] = {}
        self._groups: dict[Hashable, _Group] = {}
        self._places: dict[tuple[int, int], tuple[Hashable, int]] = {}

    def name(self, rank: int, number: int) -> Hashable:
        """What all ranks call the communicator that has this number at `rank`."""
        if self._fixed is not None:
            return number if self._fixed.get(number) is not None else (number, rank)
        if number == self._world:
            return "world"
        if number == self._own:
            return ("self", rank)
        return self._names.get((rank, number), ("unknown", rank, number))

    def world_rank(self, rank: int, number: int, member: int) -> int | None:
        """The rank in the world of a member; None where the trace does not tell."""
        if self._fixed is None and number == self._world:
            return member if member >= 0 else None
        members = self._members(rank, number)
        return members[member] if members is not None and 0 <= member < len(members) else None

    def rank_in(self, rank: int, number: int) -> int | None:
        """The rank that a rank of the world has in a communicator of its own; None where the trace does not tell."""
        if self._fixed is None and number == self._world:
            return rank
        places = self._places.get((rank, number))
        if places is None or places[0] != self.name(rank, number):
            members = self._members(rank, number)
            if members is None or rank not in members:
                return None
            places = self._places[rank, number] = (self.name(rank, number), members.index(rank))
        return places[1]

    def _members(self, rank: int, number: int) -> list[int] | None:
        if self._fixed is not None:
            members = self._fixed.get(number, [])
            return [rank] if members is None else members
        if number == self._own:
            return [rank]
        group = self._groups.get(self._names.get((rank, number)))
        return None if group is None else group.ranks

    def make(self, rank: int, new: NewCommunicator) -> None:
        """A rank takes part in the making of a communicator."""
        parent = self.name(rank, new.parent)
        ordinal = self._ordinals[rank, parent] = self._ordinals.get((rank, parent), 0) + 1
        if new.color != UNKNOWN and new.color < 0:
            return  # it is in none of the new communicators
        name = (parent, ordinal, new.color)
        self._names[rank, new.communicator] = name
        if new.color == UNKNOWN or not self._complete:
            return
        if new.ranks is not None:
            self._choose(rank, new, name)
            return
        place = self.rank_in(rank, new.parent)
        if place is not None:
            self._groups.setdefault(name, _Group()).join(new.key, place, rank)

    def _choose(self, rank: int, new: NewCommunicator, name: Hashable) -> None:
        """The new communicator has these ranks of its parent."""
        ranks = [self.world_rank(rank, new.parent, member) for member in new.ranks or ()]
        if name in self._groups or None in ranks:
            return
        group = self._groups[name] = _Group()
        for place, each in enumerate(ranks):
            if each is not None:
                group.join(0, place, each)

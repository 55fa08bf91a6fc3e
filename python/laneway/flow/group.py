"""Collectives over large arrays of the host and of devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from laneway import _core
from laneway.arguments import require_whole
from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.flow.context import Context, Endpoint, core_of
from laneway.flow.link import BUFFERS, PACKET_BYTES


class Group:
    """Endpoints that do collectives together: devices, the host, also several endpoints of one device.

        with lw.flow.Context("cpu:2") as ctx:
            group = lw.flow.Group(ctx)
            group.all_reduce([np.ones(1000), np.arange(1000.0)])

    `members` are all devices of the context where they are None: endpoints of their own where another group has those.
    An endpoint is a member of one group at a time. Every member has one array in its memory, in which data is found and
    results are left; `arrays[i]` is member i's. Arrays of the host and of CPU devices are NumPy's, those of a GPU any
    object with `__cuda_array_interface__`, such as CuPy's; the stream that fills it is synchronized before the call. In
    one call they have one type and size, are contiguous and share no memory. A *block* is the part of an array that
    belongs to a member: of n members an array has n of equal size.

    `shape` says how data travels: "direct" from each to each, "ring" from member to member in pieces, "tree" in as many
    rounds as the logarithm of the members. `scatter` and `gather` have no ring, `all_to_all` no tree. `op` is "sum",
    "min" or "max", of 32 and 64 bits. What is combined with what follows from shape and members, so results do not
    depend on timing.

    A call returns when the collective is done; those of a context take turns, in the order of their calls, each of
    which is waited for under the context's deadline. Raises UsageError for wrong arguments, and else what ended the
    dataflow: where a collective fails, or is interrupted while it runs, the context is closed.
    """

    def __init__(
        self,
        ctx: Context,
        members: Sequence[Endpoint] | None = None,
        *,
        packet_bytes: int = PACKET_BYTES,
        buffers: int = BUFFERS,
    ) -> None:
        if not isinstance(ctx, Context):
            raise UsageError(f"a group is of a Context, not of {ctx!r}")
        require_whole("packet_bytes", packet_bytes, 1, 48)
        require_whole("buffers", buffers, 1, 16)
        self._ctx = ctx
        self._members = _free_ends(ctx) if members is None else _own_ends(ctx, members)
        ends = [core_of(each) for each in self._members]
        self._core = _core.FlowGroup(ctx._core, ends, packet_bytes, buffers)
        for each in self._members:
            ctx._grouped[each] = self

    @property
    def members(self) -> tuple[Endpoint, ...]:
        return self._members

    def __len__(self) -> int:
        return len(self._members)

    def broadcast(self, arrays: Sequence[Any], root: int = 0, *, shape: str = "tree") -> None:
        """The root's array, to all."""
        given = self._arrays(arrays)
        self._do(self._core.broadcast, given.addresses, given.nbytes, self._root(root), shape)

    def scatter(self, arrays: Sequence[Any], root: int = 0, *, shape: str = "direct") -> None:
        """Block i of the root's array, to block i of member i's; "tree" may overwrite other blocks of members."""
        given = self._arrays(arrays, blocks=True)
        self._do(self._core.scatter, given.addresses, given.nbytes, self._root(root), shape)

    def gather(self, arrays: Sequence[Any], root: int = 0, *, shape: str = "direct") -> None:
        """Block i of member i's array, to block i of the root's; "tree" may overwrite other blocks of members."""
        given = self._arrays(arrays, blocks=True)
        self._do(self._core.gather, given.addresses, given.nbytes, self._root(root), shape)

    def all_gather(self, arrays: Sequence[Any], *, shape: str = "ring") -> None:
        """Block i of member i's array, to block i of all."""
        given = self._arrays(arrays, blocks=True)
        self._do(self._core.all_gather, given.addresses, given.nbytes, shape)

    def reduce(self, arrays: Sequence[Any], op: str = "sum", root: int = 0, *, shape: str = "tree") -> None:
        """All arrays combined in the root's; the others may be overwritten."""
        given = self._arrays(arrays)
        self._do(self._core.reduce, given.addresses, given.count, self._root(root), given.type, op, shape)

    def reduce_scatter(self, arrays: Sequence[Any], op: str = "sum", *, shape: str = "ring") -> None:
        """Block i of all arrays combined in block i of member i's; other blocks are overwritten."""
        given = self._arrays(arrays, blocks=True)
        self._do(self._core.reduce_scatter, given.addresses, given.count, given.type, op, shape)

    def all_reduce(self, arrays: Sequence[Any], op: str = "sum", *, shape: str = "ring") -> None:
        """All arrays combined in all of them."""
        given = self._arrays(arrays)
        self._do(self._core.all_reduce, given.addresses, given.count, given.type, op, shape)

    def all_to_all(
        self, sources: Sequence[Any], targets: Sequence[Any], counts: ArrayLike, *, shape: str = "direct"
    ) -> None:
        """Member i sends `counts[i][j]` elements to member j: they lie one behind the other in its source, in the order
        of j, and come to lie in the target of j in the order of i."""
        n = len(self)
        table = as_array("counts", counts)
        if table.shape != (n, n) or table.dtype.kind not in "iu" or (table < 0).any():
            raise UsageError(f"counts must be {n} x {n} whole numbers from 0, one for each pair of members")
        numbers: list[list[int]] = table.tolist()  # sums of which are of any size
        given = [*map(self._array, range(n), _each(sources)), *map(self._array, range(n), _each(targets))]
        if len(given) != 2 * n:
            raise UsageError(f"a collective of {n} members takes a source and a target of each")
        _require_alike(given, same_size=False)
        for i in range(n):
            for what, array, wanted in (
                ("source", given[i], sum(numbers[i])),
                ("target", given[n + i], sum(row[i] for row in numbers)),
            ):
                if array.count < wanted:
                    raise UsageError(f"the {what} of member {i} has {array.count} elements, not {wanted}")
        nbytes = [[number * given[0].itemsize for number in row] for row in numbers]
        self._do(self._core.all_to_all, [a.address for a in given[:n]], [a.address for a in given[n:]], nbytes, shape)

    def __repr__(self) -> str:
        return f"<laneway.flow.Group: {', '.join(each.name for each in self._members)}>"

    def _root(self, root: int) -> int:
        require_whole("root", root)
        if root >= len(self):
            raise UsageError(f"root must be below {len(self)}, the number of members, not {root}")
        return root

    def _do(self, collective: Callable[..., None], *arguments: Any) -> None:
        with self._ctx._turn():
            try:
                collective(*arguments)
            except TypeError:  # all else has been looked at
                raise UsageError("shape and op of a collective are names, such as 'ring' and 'sum'") from None

    def _arrays(self, arrays: Sequence[Any], blocks: bool = False) -> _Arrays:
        given = [self._array(i, array) for i, array in enumerate(_each(arrays))]
        if len(given) != len(self):
            raise UsageError(f"a collective of {len(self)} members takes an array of each, not {len(given)}")
        _require_alike(given, same_size=True)
        parts = len(self) if blocks else 1
        if given[0].count % parts != 0:
            raise UsageError(f"arrays of {given[0].count} elements have no {parts} blocks of equal size")
        return _Arrays(given, given[0].count // parts)

    def _array(self, member: int, array: Any) -> _Array:
        name = self._members[member].name if member < len(self) else "nobody"
        on_gpu = name.startswith("cuda:")
        if on_gpu != hasattr(array, "__cuda_array_interface__"):
            wanted = "an array in its memory, with __cuda_array_interface__" if on_gpu else "an array of NumPy"
            raise UsageError(f"member {member}, {name}, takes {wanted}, not {type(array).__name__}")
        if not on_gpu and (not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray)):
            raise UsageError(f"member {member}, {name}, takes an array of NumPy, not {type(array).__name__}")
        return _Array(member, array, array.__cuda_array_interface__ if on_gpu else array.__array_interface__)


def _free_ends(ctx: Context) -> tuple[Endpoint, ...]:
    """An endpoint of each device that no group has."""
    return tuple(
        ctx.add_endpoint(each, f"of group {len(ctx._grouped)}") if each in ctx._grouped else each
        for each in ctx.devices
    )


def _own_ends(ctx: Context, members: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    for each in (ends := tuple(_each(members, "members"))):
        if isinstance(each, Endpoint) and each in ctx._grouped:
            raise UsageError(f"{each.name} is a member of another group: Context.add_endpoint makes one for this")
    return ends


def _each(given: Any, what: str = "arrays") -> list[Any]:
    """All at once, so that none goes while it is used."""
    try:
        return list(given)
    except TypeError:
        raise UsageError(f"{what} must be a list, one for each member, not {given!r}") from None


class _Array:
    """Where an array lies, as its interface says, and the array, which stays while this does."""

    def __init__(self, member: int, array: Any, interface: dict[str, Any]) -> None:
        self.member = member
        self.array = array
        self.dtype = np.dtype(interface["typestr"])
        self.itemsize = self.dtype.itemsize
        self.count = int(np.prod(interface["shape"], dtype=np.int64))
        self.address, read_only = interface["data"]
        if read_only:
            raise UsageError(f"the array of member {member} cannot be written to")
        if interface.get("strides") is not None:
            raise UsageError(f"the array of member {member} is not contiguous")
        if self.dtype.kind not in "biufc" or not self.dtype.isnative:
            raise UsageError(f"the array of member {member} holds {self.dtype}, which are no numbers of this machine")

    def meets(self, other: _Array) -> bool:
        mine, theirs = self.count * self.itemsize, other.count * other.itemsize
        return bool(self.address < other.address + theirs and other.address < self.address + mine)


class _Arrays:
    """Of all members, alike; `count` elements of each go into a step."""

    def __init__(self, all_: list[_Array], count: int) -> None:
        self._all = all_
        self.addresses = [each.address for each in all_]
        self.type = all_[0].dtype.name
        self.count = count
        self.nbytes = count * all_[0].itemsize


def _require_alike(given: list[_Array], same_size: bool) -> None:
    first = given[0]
    for place, each in enumerate(given):
        if each.dtype != first.dtype or (same_size and each.count != first.count):
            raise UsageError(
                f"arrays of a collective are alike: {first.count} x {first.dtype}, and {each.count} x {each.dtype}"
            )
        if any(each.meets(other) for other in given[:place]):
            raise UsageError("arrays of a collective share no memory")

"""Recursive programs that spawn their own work, on channels of bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, require_real, require_whole
from laneway.errors import UsageError
from laneway.vertex_array import read_only
from laneway.workspace import Workspace

MEMORY_BYTES = 64 * 2**20
"""What the channels of a program take on a device, at most, unless a call says otherwise."""
SCHEDULERS = ("each", "warp", "host")
"""Who may decide what warps run; their numbers are those of `channel_scheduler`."""
TREES = (
    *("T1", "T5", "T2", "T3", "T4", "T1L", "T2L", "T3L", "T1XL", "T1XXL", "T3XXL", "T2XXL"),
    *("T1WL", "T2WL", "T3WL"),
)
"""Names of the trees of the UTS benchmark, from 4 million to 295 thousand million nodes."""


@dataclass(frozen=True)
class LevelWork:
    """What went through the queues of one level of a channel, on all devices; what warps keep does not."""

    produced: int
    """Elements that found space."""
    consumed: int
    """Elements that kernels were called for, those that were put back each time."""
    stalls: int
    """Requests for space that found none."""
    peak: int
    """Most elements that a warp has seen ready in one queue."""


@dataclass(frozen=True)
class OneChannelWork:
    """What one channel did, on all devices: of a program of functions, one of these."""

    name: str
    """That the program gives it; "" for none, "arrivals" for what holds work from other devices."""
    produced: int
    """Elements that found space, in the channel or with the warp that produced them."""
    consumed: int
    """Elements that kernels were called for, those that were put back each time."""
    dispatches: int
    """Calls of its kernel by a warp."""
    stalls: int
    """Requests for space that found none."""
    peak: int
    """Most elements that a warp has seen ready in one queue."""
    kept: int
    """Elements that never left the warp that had produced them."""
    levels: tuple[LevelWork, ...]
    """By depth, down to the deepest that was used."""


@dataclass(frozen=True)
class ChannelWork:
    """What the channels of all devices did."""

    width: int
    """Elements that a level of a channel has room for on a device."""
    consumed: int
    """Elements that kernels were called for, those that were put back each time."""
    dispatches: int
    """Calls of a kernel by a warp, each for an element of every lane or of some."""
    full_dispatches: int
    """Dispatches with an element for every lane."""
    yields: int
    """Elements that were put back, as what they would have produced found no space."""
    moved: int
    """Elements that were sent to devices without work."""
    peak: int
    """Most elements that a warp has seen ready in one queue: a level of a channel, in a part of a device."""
    produced: int
    """Elements that found space, in a channel or with the warp that produced them."""
    stalls: int
    """Requests for space that found none."""
    kept: int
    """Elements that never left the warp that had produced them."""
    given: int
    """Elements that warps had kept and gave to others."""
    idle_turns: int
    """Turns of warps in which they found nothing to run, or had no order."""
    channels: tuple[OneChannelWork, ...] = ()
    """By number."""

    @property
    def full_share(self) -> float:
        """Share of the dispatches that were full; 0 where there were none."""
        return self.full_dispatches / self.dispatches if self.dispatches else 0.0

    @property
    def idle_share(self) -> float:
        """Share of the turns of warps that found nothing to run; 0 where there were none."""
        turns = self.idle_turns + self.dispatches
        return self.idle_turns / turns if turns else 0.0

    @property
    def elements_each(self) -> float:
        """Elements of a dispatch, on average."""
        return self.consumed / self.dispatches if self.dispatches else 0.0


@dataclass(frozen=True, eq=False)
class RecursionResult(Answer):
    """What the results of all recursive programs have."""

    report: Report
    channels: ChannelWork = field(compare=False)


@dataclass(frozen=True, eq=False)
class FibonacciResult(RecursionResult):
    """A Fibonacci number."""

    n: int
    value: int
    calls: int
    """Of the whole tree, those that a lane makes by itself included."""


@dataclass(frozen=True, eq=False)
class QueensResult(RecursionResult):
    """In how many ways queens can stand on a board."""

    n: int
    solutions: int


@dataclass(frozen=True, eq=False)
class QuadratureResult(RecursionResult):
    """An integral."""

    start: float
    end: float
    tolerance: float
    area: float
    intervals: int
    """That were looked at."""


@dataclass(frozen=True, eq=False)
class SortResult(RecursionResult):
    """Keys in ascending order."""

    keys: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class ProductResult(RecursionResult):
    """A product of matrices of integers modulo 2**32."""

    product: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class TreeResult(RecursionResult):
    """The size of a tree whose shape nobody knows beforehand."""

    tree: str
    nodes: int
    leaves: int
    depth: int
    """Of the deepest node; the root has 0."""


def fibonacci(
    n: int,
    *,
    grain: int = 1,
    width: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    scheduler: str = "each",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> FibonacciResult:
    """The Fibonacci number of `n`, 0 to 90, by its definition: almost nothing but calls.

    A lane makes the calls for numbers up to `grain` by itself. Channels have `width` elements a level, rounded up to a
    power of two, or as many as `memory_bytes` hold on a device where it is 0. What channels leave of `memory_bytes` is
    for elements that warps keep and give to nobody; with 0 and a `width`, all go through channels. `scheduler` says who
    decides what warps run: "each" for itself, one "warp" of each device for all others, or a thread of the "host" for
    all devices; with these two warps keep nothing, and no work moves between devices. `devices`, `seed`, `timeout`,
    `buffer_bytes` and `progress` are those of `sssp`. Raises UsageError for wrong arguments, and where the channels'
    memory is too small, TimeoutError and DeviceFault for a failed run.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return find_fibonacci(workspace, n, grain, width, memory_bytes, scheduler)


def queens(
    n: int,
    *,
    grain: int = 0,
    width: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    scheduler: str = "each",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> QueensResult:
    """In how many ways `n` queens, 1 to 24, stand on a board of n by n fields so that none attacks another.

    The last `grain` rows, 14 at most, are searched without tasks: up to 8 by one lane, more by the lanes of a block
    together. 0: as suits the board and the devices. All else is as with `fibonacci`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return place_queens(workspace, n, grain, width, memory_bytes, scheduler)


def quadrature(
    start: float = 0.0,
    end: float = 1.0,
    *,
    tolerance: float = 1e-6,
    width: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    scheduler: str = "each",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> QuadratureResult:
    """The integral of two peaks beside each other, by adaptive Simpson quadrature: 1 / (w**2 + (x - c)**2) for w = 0.01
    and c = 0.3, and the same for w = 0.02 and c = 0.9.

    Intervals are halved until the error is about `tolerance`. The result is the same to the bit on any devices. All
    else is as with `fibonacci`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return integrate_peaks(workspace, start, end, tolerance, width, memory_bytes, scheduler)


def merge_sort(
    keys: ArrayLike,
    *,
    grain: int = 0,
    width: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    scheduler: str = "each",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> SortResult:
    """The keys, whole numbers from 0 to 2**32 - 1 and less than 2**31 of them, in ascending order, by merge sort.

    Halves are sorted at the same time, and merged by many lanes. Devices sort a share each and merge these among
    themselves, where each has `grain` keys; without a grain, GPUs from 2**22 keys each on. Of lists with GPUs these
    alone sort.

    A lane sorts, or merges, `grain` keys by itself, up to 64; the lanes of a block together above, up to 419328. 0: as
    suits the keys and the devices. All else is as with `fibonacci`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return sort_keys(workspace, keys, grain, width, memory_bytes, scheduler)


def strassen(
    a: ArrayLike,
    b: ArrayLike,
    *,
    grain: int = 0,
    width: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    scheduler: str = "each",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> ProductResult:
    """The product of two square matrices of whole numbers modulo 2**32, by Strassen's seven products.

    They have `grain` times a power of two rows; `grain`, a power of two, are the rows of the blocks that are multiplied
    by the definition: up to 16 by one lane, up to 1024 by the lanes of a block together. 0: as suits the matrices and
    the devices. All else is as with `fibonacci`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return multiply_matrices(workspace, a, b, grain, width, memory_bytes, scheduler)


def uts(
    tree: str = "T1",
    *,
    width: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    scheduler: str = "each",
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> TreeResult:
    """The nodes of a tree of the UTS benchmark (Olivier and others, LCPC 2006), by its name: "T1", "T3", "T1L", ...

    Its shape is drawn from hashes, so nobody knows it beforehand; work moves between devices. All else is as with
    `fibonacci`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return count_nodes(workspace, tree, width, memory_bytes, scheduler)


def find_fibonacci(
    workspace: Workspace, n: int, grain: int, width: int, memory_bytes: int, scheduler: str
) -> FibonacciResult:
    """`fibonacci` on devices that are there."""
    _require_sizes(n=n, grain=grain, width=width)
    require_whole("memory_bytes", memory_bytes)
    raw = _core.fibonacci(workspace.core, n, width, memory_bytes, grain, _number_of(scheduler))
    return FibonacciResult(*_reports(raw.report), n, raw.value, raw.calls)


def place_queens(
    workspace: Workspace, n: int, grain: int, width: int, memory_bytes: int, scheduler: str
) -> QueensResult:
    """`queens` on devices that are there."""
    _require_sizes(n=n, grain=grain, width=width)
    require_whole("memory_bytes", memory_bytes)
    raw = _core.queens(workspace.core, n, width, memory_bytes, grain, _number_of(scheduler))
    return QueensResult(*_reports(raw.report), n, raw.solutions)


def integrate_peaks(
    workspace: Workspace, start: float, end: float, tolerance: float, width: int, memory_bytes: int, scheduler: str
) -> QuadratureResult:
    """`quadrature` on devices that are there."""
    for name, number in (("start", start), ("end", end), ("tolerance", tolerance)):
        require_real(name, number)
    if not (np.isfinite(start) and np.isfinite(end)):
        raise UsageError(f"start and end must be finite, not {start!r} and {end!r}")
    _require_sizes(width=width)
    require_whole("memory_bytes", memory_bytes)
    decides = _number_of(scheduler)
    raw = _core.quadrature(workspace.core, float(start), float(end), float(tolerance), width, memory_bytes, decides)
    return QuadratureResult(*_reports(raw.report), float(start), float(end), float(tolerance), raw.area, raw.intervals)


def sort_keys(
    workspace: Workspace, keys: ArrayLike, grain: int, width: int, memory_bytes: int, scheduler: str
) -> SortResult:
    """`merge_sort` on devices that are there."""
    _require_sizes(grain=grain, width=width)
    require_whole("memory_bytes", memory_bytes)
    raw = _core.merge_sort(workspace.core, _words("keys", keys, 1), width, memory_bytes, grain, _number_of(scheduler))
    return SortResult(*_reports(raw.report), read_only(raw.take_keys()))


def multiply_matrices(
    workspace: Workspace, a: ArrayLike, b: ArrayLike, grain: int, width: int, memory_bytes: int, scheduler: str
) -> ProductResult:
    """`strassen` on devices that are there."""
    _require_sizes(grain=grain, width=width)
    require_whole("memory_bytes", memory_bytes)
    left, right = _words("a", a, 2), _words("b", b, 2)
    if left.shape != right.shape or left.shape[0] != left.shape[1]:
        raise UsageError(f"a and b must be square and of one size, not {left.shape} and {right.shape}")
    rows = left.shape[0]
    decides = _number_of(scheduler)
    raw = _core.strassen(workspace.core, left.ravel(), right.ravel(), rows, width, memory_bytes, grain, decides)
    return ProductResult(*_reports(raw.report), read_only(raw.take_product().reshape(rows, rows)))


def count_nodes(workspace: Workspace, tree: str, width: int, memory_bytes: int, scheduler: str) -> TreeResult:
    """`uts` on devices that are there."""
    _require_sizes(width=width)
    require_whole("memory_bytes", memory_bytes)
    if tree not in TREES:
        raise UsageError(f"tree must be one of {', '.join(TREES)}, not {tree!r}")
    raw = _core.search_tree(workspace.core, tree, width, memory_bytes, _number_of(scheduler))
    return TreeResult(*_reports(raw.report), tree, raw.count.nodes, raw.count.leaves, raw.count.depth)


def _number_of(scheduler: str) -> int:
    if scheduler not in SCHEDULERS:
        raise UsageError(f"scheduler must be one of {', '.join(SCHEDULERS)}, not {scheduler!r}")
    return SCHEDULERS.index(scheduler)


def _require_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        require_whole(name, size, bits=32)


def _reports(raw: _core.RecursionReport) -> tuple[Report, ChannelWork]:
    did = raw.channels
    names = (part.name for part in fields(ChannelWork) if part.name not in ("width", "channels"))
    channels = tuple(_one_channel(one) for one in did.channels)
    return raw.run, ChannelWork(raw.width, **{name: getattr(did, name) for name in names}, channels=channels)


def _one_channel(raw: _core.OneChannelStatistics) -> OneChannelWork:
    levels = [LevelWork(at.produced, at.consumed, at.stalls, at.peak) for at in raw.levels]
    while levels and levels[-1] == LevelWork(0, 0, 0, 0):
        levels.pop()
    names = (part.name for part in fields(OneChannelWork) if part.name != "levels")
    return OneChannelWork(**{name: getattr(raw, name) for name in names}, levels=tuple(levels))


def _words(name: str, values: ArrayLike, dimensions: int) -> NDArray[np.uint32]:
    """Whole numbers of 32 bits."""
    given = np.asarray(values)
    if given.ndim != dimensions or (given.size and given.dtype.kind not in "iu"):
        wanted = "one dimension" if dimensions == 1 else f"{dimensions} dimensions"
        raise UsageError(f"{name}: whole numbers in {wanted}, not {given.dtype} of the shape {given.shape}")
    if given.size and (given.min() < 0 or given.max() >= 2**32):
        raise UsageError(f"{name}: from 0 to {2**32 - 1}, not {given.min()} to {given.max()}")
    return np.ascontiguousarray(given, dtype=np.uint32)

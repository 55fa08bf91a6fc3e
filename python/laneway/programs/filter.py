"""The numbers of an array that a condition holds for, over many devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, require_whole
from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.frames import frame_of
from laneway.workspace import Workspace

if TYPE_CHECKING:
    from pandas import DataFrame

BUFFERS = 3


@dataclass(frozen=True, eq=False)
class FilterResult(Answer):
    """What was kept, and the account of the run."""

    values: NDArray[Any]
    """The numbers that the condition holds for, in their order and of their type."""
    condition: str
    policy: str
    """"available" or "even"."""
    elements: tuple[int, ...] = field(compare=False)
    """Numbers that each device has looked at."""
    packets: tuple[int, ...] = field(compare=False)
    """Packets in which it got them."""
    report: Report
    """Its messages are numbers on their way to a device or back, its chunks packets; the diagonals of its matrices are
    what went between the host and each device."""

    @property
    def hint(self) -> str | None:
        """What is likely to be faster; None where nothing is known."""
        return hint_for(self.report.devices)

    def to_pandas(self) -> DataFrame:
        """What was kept, a row for each number, as a pandas data frame. ImportError where there is no pandas."""
        return frame_of({"value": self.values})


def filter(
    values: ArrayLike,
    condition: str,
    *,
    policy: str = "available",
    packet_bytes: int | None = None,
    buffers: int = BUFFERS,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> FilterResult:
    """The numbers x of `values` that `condition` holds for, in their order: the host streams the array to the devices
    in packets, whose lanes compare (Groute, 2020, figure 3).

    `condition` is text such as "x > 0.5", "x >= 10 and x < 20" or "x % 3 == 0": up to eight comparisons of x, or of x
    modulo a number above 0, with numbers of the array's type, joined by `and` or by `or`. `values` is an array of one
    dimension, of whole or real numbers of 8 bytes at most, in any order of bytes: int8 to int64, uint8 to uint64,
    float32, float64, and float16 and bool, which are looked at as float32 and uint8. Complex numbers, longdouble, dates
    and objects are refused.

    With `policy` "available" a packet goes to the device that has room first, so that unequal devices are busy for
    equally long; with "even" each device gets an equal part. `packet_bytes` of the array go to a device at once, None:
    an eighth of an equal part, but 64 KiB to 4 MiB, or as many as fit into `buffer_bytes`; a device holds `buffers`
    packets, and two of what it keeps. GPUs and CPU devices together are likely to take longer than the GPUs alone, as
    the run ends with the last packets of the CPU devices; `hint` of the result says so. Where
    there are GPUs, the array is pinned meanwhile if the system allows it.

    `devices`, `seed`, `timeout` (of each wait of the host and each kernel), `buffer_bytes` and `progress` (which keeps
    no samples here) are those of `sssp`. Raises UsageError for wrong arguments, TimeoutError and DeviceFault for a
    failed run; Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return filter_values(workspace, values, condition, policy, packet_bytes, buffers)


def filter_values(
    workspace: Workspace, values: ArrayLike, condition: str, policy: str, packet_bytes: int | None, buffers: int
) -> FilterResult:
    """`filter` on devices that are there."""
    if not isinstance(condition, str):
        raise UsageError(f"condition must be text such as 'x > 0.5', not {condition!r}")
    if packet_bytes is not None:
        require_whole("packet_bytes", packet_bytes, 1)
    require_whole("buffers", buffers, 1, 16)
    array = as_array("values", values)
    numbers = _as_numbers(array)
    raw = _core.filter(workspace.core, numbers, condition, packet_bytes or 0, buffers, str(policy))
    kept = raw.take_kept()
    if array.dtype.kind == "b":
        kept = kept.view(np.bool_)
    elif array.dtype.itemsize == 2 and array.dtype.kind == "f":
        kept = kept.astype(np.float16)  # exactly: each of them was one
    return FilterResult(kept, condition, policy, tuple(raw.elements), tuple(raw.packets), raw.report)


def hint_for(devices: Sequence[str]) -> str | None:
    """What is likely to be faster than these devices."""
    gpus = [name for name in devices if name.startswith("cuda:")]
    if not gpus or len(gpus) == len(devices):
        return None
    return f"{', '.join(gpus)} alone: the run waits for the packets that CPU devices still hold when the array ends"


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """The array as the compiled part takes it."""
    if array.ndim != 1:
        raise UsageError(f"values must have one dimension, not {array.ndim}")
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biuf" or size > 8:
        raise UsageError(f"values must be whole or real numbers of 8 bytes at most, not {array.dtype}")
    if kind == "b":
        array = array.view(np.uint8)
    elif kind == "f" and size == 2:
        array = array.astype(np.float32)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))

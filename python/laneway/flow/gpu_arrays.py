"""Arrays and streams of GPUs as other libraries, such as CuPy, Numba and PyTorch, hand them over."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from laneway.errors import UsageError


class GpuArray:
    """Where an array of a GPU lies, as its `__cuda_array_interface__` says, and the stream that fills it. Raises
    UsageError where it is not contiguous, in C's order, or has a mask."""

    def __init__(self, array: Any) -> None:
        interface = array.__cuda_array_interface__
        self.dtype = np.dtype(interface["typestr"])
        self.count = math.prod(interface["shape"])
        self.address: int = interface["data"][0] or 0
        self.stream: int | None = interface.get("stream")
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise UsageError(f"an array of {self.dtype} has no elements that can be sent")
        if interface.get("mask") is not None:
            raise UsageError("an array of a GPU that is sent has no mask")
        if not self._is_contiguous(interface["shape"], interface.get("strides")):
            raise UsageError("an array of a GPU that is sent is contiguous, in C's order")

    def _is_contiguous(self, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
        if strides is None or self.count == 0:
            return True
        below = self.dtype.itemsize
        for length, stride in zip(reversed(shape), reversed(strides)):
            if length != 1 and stride != below:
                return False
            below *= length
        return True


def stream_number(stream: Any) -> int:
    """The cudaStream_t of a stream: a number, or what CUDA's Python libraries call one."""
    number = stream
    if hasattr(stream, "__cuda_stream__"):
        try:
            version, number = stream.__cuda_stream__()
        except (TypeError, ValueError):  # it is no method, or gives something else
            version = None
        number = number if version == 0 else None
    else:
        for name in ("cuda_stream", "ptr"):  # of PyTorch and of CuPy
            number = getattr(stream, name, number)
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    if not whole or not 0 <= number < 2**64:
        raise UsageError(f"stream must be a stream of CUDA or its number, not {stream!r}")
    return int(number)


def stream_behind(stream: Any) -> int | None:
    """The same of a stream that need not be there."""
    return None if stream is None else stream_number(stream)

"""Times as names of vertices: equal times are one name, in whatever unit and whosever type they come."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np

NUMPY_TIMES = (np.datetime64, np.timedelta64)

SECOND = 10**18
ATTOSECONDS = {
    "W": 7 * 86400 * SECOND,
    "D": 86400 * SECOND,
    "h": 3600 * SECOND,
    "m": 60 * SECOND,
    "s": SECOND,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}


@dataclass(frozen=True)
class TimeKey:
    """What equal times have in common, and nothing else has."""

    kind: str
    """"M" for points in time, "m" for spans."""
    attoseconds: int


def time_key(vertex: Any) -> TimeKey | None:
    """The key of a time of NumPy, pandas or Python; None for anything else, for a time with a zone, which equals none
    without, and for a span of months, which has no length."""
    time = _numpy_time(vertex)
    if time is None or np.isnat(time):
        return None
    if time.dtype.kind == "M" and np.datetime_data(time.dtype)[0] in ("Y", "M"):
        time = time.astype("datetime64[D]")
    unit, count = np.datetime_data(time.dtype)
    if unit not in ATTOSECONDS:
        return None
    return TimeKey(time.dtype.kind, int(time.astype(np.int64)) * count * ATTOSECONDS[unit])


def _numpy_time(vertex: Any) -> Any:
    """A time as one of NumPy's; None for what is none."""
    if isinstance(vertex, NUMPY_TIMES):
        return vertex
    if not isinstance(vertex, (datetime.date, datetime.timedelta)) or getattr(vertex, "tzinfo", None) is not None:
        return None
    for convert in ("to_datetime64", "to_timedelta64"):  # of pandas, whose times are Python's with nanoseconds
        if hasattr(vertex, convert):
            return getattr(vertex, convert)()
    return np.timedelta64(vertex) if isinstance(vertex, datetime.timedelta) else np.datetime64(vertex)

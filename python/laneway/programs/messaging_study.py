"""What a message between lanes of two devices costs by the model of communication, its size and who sends."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable

import numpy as np

from laneway import _core
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import UsageError

MODELS = ("store", "load", "put", "get", "two-sided", "unordered")
"""Plain stores into the receiver's memory, or loads from the sender's, with a flag; one-sided operations with a signal;
send and receive with a tag, in MPI's order, and where messages may overtake each other."""
PATTERNS = ("ping-pong", "rate", "stream", "n-to-1", "all-to-all")
"""Device 0 and the last there and back; device 0 to the last, by the number of lanes; the same by size; all others to
device 0; every device with each other one."""
WIDTHS = ("lane", "warp", "block")
"""Which lanes share a message."""
BYTES = (8, 64, 512, 4096, 32768, 262144)
"""Of a message, but for the pattern "rate"."""
LANES = (1, 32, 1024, 0)
"""Of a device that send in the pattern "rate"; 0: all of them."""
RATE_BYTES = 8
"""Of a message in the pattern "rate"."""

UNOFFERED = ("unordered", "n-to-1")
"""Messages of any source have an order."""
ENGINES = tuple(1 << n for n in range(11))
MAX_BYTES = 1 << 26
MAX_WINDOW = 16
ALL_ROUNDS_BYTES = 16384
"""Longer messages have fewer rounds, in proportion."""
LEAST_ROUNDS = 10


@dataclass(frozen=True)
class MessagingRun:
    """One model, pattern, size and number of groups; every word of every message was right."""

    model: str
    """Of `MODELS`; of a file that was read beside it, the library's name."""
    pattern: str
    """Of `PATTERNS`."""
    width: str
    """Which lanes make a group: "lane", "warp" or "block"."""
    groups: int
    """Of each device that sends or receives, each with messages of its own."""
    bytes: int
    """Of a message."""
    round_trip_ns: tuple[float, float, float] | None
    """Of "ping-pong": median, 90 % and 99 % of the rounds of device 0's first group, by the device's clock."""
    messages: int
    """That were timed: of "ping-pong" both ways, else those that the receiver got; of "all-to-all" those of device
    0."""
    seconds: float
    """From the end of the first group's first round, which is not timed, to the last group's end, by the clock of the
    device that received them; of "ping-pong" and "all-to-all" of device 0."""

    @property
    def half_trip_ns(self) -> float | None:
        """Of "ping-pong": half of the median, the latency of a message."""
        return None if self.round_trip_ns is None else self.round_trip_ns[0] / 2

    @property
    def messages_per_second(self) -> float:
        """Received by one device, of "ping-pong" both ways; those of the median round where one group plays it."""
        if self.half_trip_ns is not None and self.groups == 1:
            return 1e9 / self.half_trip_ns
        return self.messages / self.seconds

    @property
    def bytes_per_second(self) -> float:
        """Received by one device."""
        return self.messages_per_second * self.bytes


def study_messaging(
    models: Iterable[str] = MODELS,
    *,
    patterns: Iterable[str] = PATTERNS,
    bytes: Iterable[int] = BYTES,
    lanes: Iterable[int] = LANES,
    width: str = "warp",
    groups: int = 1,
    rounds: int = 1000,
    window: int = 4,
    engines: int = 1,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: Callable[[str], None] = lambda _: None,
) -> list[MessagingRun]:
    """Compare models of communication between lanes of kernels: latency and bandwidth over sizes, message rate over
    lanes, many to one and all to all (the questions of Klenk's dissertation, Heidelberg, 2017, chapter 5). The runs, by
    pattern, then model, then size or lanes.

    `models`, `patterns` and `width`: of `MODELS`, `PATTERNS`, `WIDTHS`. `bytes`: multiples of 8 up to 64 MiB. In
    "rate" each of so many `lanes` of a device sends messages of 8 bytes, in the other patterns each of `groups` groups
    of that width has messages of those sizes; 0 is all that there are, and so is a number beyond. `rounds`: of messages
    up to 16 KiB of one group, fewer in proportion to length, and where a device's groups have more than 2^21 messages,
    but 10 at least. `window`: in streams, from 1 to 16 buffers for each sender's group. `engines`: of the matching of
    two-sided and unordered messages, a power of two, where no receive is from any source, as those of "n-to-1" are;
    "unordered" has no "n-to-1" for that reason. `devices`, `seed`, `timeout`, of each run, and `buffer_bytes` are those
    of `sssp`. `progress` hears what runs next.
    Raises UsageError for wrong arguments, TimeoutError and DeviceFault for a failed run or a message that was lost or
    wrong.
    """
    models, patterns, sizes, lanes = list(models), list(patterns), list(bytes), list(lanes)
    _check(models, patterns, width, sizes, lanes)
    require_whole("groups", groups, bits=31)
    require_whole("rounds", rounds, 1, bits=31)
    require_whole("window", window, 1, bits=31)
    if window > MAX_WINDOW:
        raise UsageError(f"window must be from 1 to {MAX_WINDOW}, not {window}")
    if engines not in ENGINES:
        raise UsageError(f"engines must be a power of two up to {ENGINES[-1]}, not {engines!r}")
    options = job_options(devices, seed, timeout, False, buffer_bytes)
    n_devices = len(_core.parse_devices(devices))
    if n_devices < 2:
        raise UsageError("devices must be two at least, which pass messages, not one")
    found = []
    for pattern in patterns:
        sends_by_lanes = pattern == "rate"
        # From few lanes to all of them.
        points = [(RATE_BYTES, n) for n in sorted(lanes, key=lambda n: n or float("inf"))]
        if not sends_by_lanes:
            points = [(size, groups) for size in sizes]
        for model in models:
            if (model, pattern) == UNOFFERED:
                continue
            for size, number in points:
                sharing, name = ("lane", "stream") if sends_by_lanes else (width, pattern)
                progress(f"{pattern}, {model}: {size} bytes, {number or 'all'} {sharing}{'s' * (number != 1)}")
                timed = _rounds_of(size, rounds)
                made = _core.measure_messaging(options, model, name, sharing, number, size, timed, window, engines)
                found.append(_run_of(model, pattern, sharing, size, made))
                if sends_by_lanes and made.groups == made.available:
                    break  # more would be the same
    return found


def _rounds_of(size: int, rounds: int) -> int:
    return max(min(rounds, LEAST_ROUNDS), min(rounds, rounds * ALL_ROUNDS_BYTES // size))


def _check(models: list[str], patterns: list[str], width: str, sizes: list[int], lanes: list[int]) -> None:
    for model in models:
        if model not in MODELS:
            raise UsageError(f"models must be of {', '.join(MODELS)}, not {model}")
    for pattern in patterns:
        if pattern not in PATTERNS:
            raise UsageError(f"patterns must be of {', '.join(PATTERNS)}, not {pattern}")
    if set(itertools.product(models, patterns)) == {UNOFFERED}:
        raise UsageError("models: unordered messages are received from one source, those of n-to-1 from any")
    if width not in WIDTHS:
        raise UsageError(f"width must be lane, warp or block, not {width}")
    for size in sizes:
        require_whole("bytes", size, 8)
        if size % 8 != 0 or size > MAX_BYTES:
            raise UsageError(f"bytes must be multiples of 8 up to {MAX_BYTES}, not {size}")
    for number in lanes:
        require_whole("lanes", number, bits=31)


def _run_of(model: str, pattern: str, width: str, size: int, made: _core.MessagingStudy) -> MessagingRun:
    times = None
    if pattern == "ping-pong":
        median, most, nearly_all = (float(q) for q in np.quantile(made.round_trip_ns, (0.5, 0.9, 0.99)))
        times = (median, most, nearly_all)
    return MessagingRun(model, pattern, width, made.groups, size, times, made.messages, made.seconds)

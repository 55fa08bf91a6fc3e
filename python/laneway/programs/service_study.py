"""What a service beside the compute costs, by who serves, the size of requests and how many warps ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable

import numpy as np

from laneway import _core
from laneway.arguments import BUFFER_BYTES, job_options, require_whole
from laneway.errors import UsageError

SERVERS = ("warps", "host", "pe")
"""Warps of the same device, threads of the host, warps of the last device for all."""
BYTES = (8, 64, 256)
"""Of a request."""
WARPS = (1, 32, 0)
"""Warps of all devices that ask in bulk; 0: all of them."""


@dataclass(frozen=True)
class ServiceRun:
    """One kind of server, size of requests and number of warps; every answer was right."""

    servers: str
    """"warps", "host" or "pe"."""
    threads: int
    """Of the host that serve; 0 where warps do."""
    bytes: int
    """Of a request."""
    warps: int
    """That ask in bulk; 0: all."""
    round_trip_ns: tuple[float, float, float]
    """A lone request from a lane to the server and back: median, 90 % and 99 % of all rounds, by the device's clock."""
    requests: int
    """In bulk, posted without waiting for answers."""
    requests_each: float
    """Of a slot of a queue: lanes that post together share one."""
    seconds: float
    """Of the run in bulk, from launch to end."""
    joules: float | None
    """That all devices consumed during the run in bulk; None where one has no meter, and where the run took less than
    half a second, in which the meter moves too few times: ask for `min_seconds` of 1."""

    @property
    def requests_per_second(self) -> float:
        """In bulk."""
        return self.requests / self.seconds


def study_service(
    servers: Iterable[str] = SERVERS,
    *,
    threads: Iterable[int] = (1,),
    bytes: Iterable[int] = BYTES,
    warps: Iterable[int] = WARPS,
    rounds: int = 2000,
    requests: int = 1_000_000,
    min_seconds: float = 0.0,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: Callable[[str], None] = lambda _: None,
) -> list[ServiceRun]:
    """Compare who carries out the requests of a kernel's lanes: latency of a lone request, and requests a second and
    joules in bulk (the questions of ComP-Net; LeBeane and others, PACT 2018).

    `servers`: of "warps", "host" and "pe"; "pe" is left out where there is one device. `threads`: of the host, where it
    serves. `bytes`: 8, 64 or 256. `warps` ask in bulk, 0 for all; `requests` is about how many there are, or more where
    the run would take less than `min_seconds`. A lane waits for `rounds` lone requests, one after the other.
    `devices`, `seed`, `timeout`, of each run, and `buffer_bytes` are those of `sssp`. `progress` hears what runs next.
    Raises UsageError for wrong arguments, TimeoutError and DeviceFault for a failed run or a wrong answer.
    """
    servers, threads, sizes, warps = list(servers), list(threads), list(bytes), list(warps)
    for kind in servers:
        if kind not in SERVERS:
            raise UsageError(f"servers must be of {', '.join(SERVERS)}, not {kind}")
    for size in sizes:
        if size not in BYTES:
            raise UsageError(f"bytes must be 8, 64 or 256, not {size}")
    for number in threads:
        require_whole("threads", number, 1, bits=10)
        if number > 64:
            raise UsageError(f"threads must be 64 or fewer, not {number}")
    for number in warps:
        require_whole("warps", number)
    require_whole("rounds", rounds, 1, bits=31)
    require_whole("requests", requests, 1, bits=40)
    if not 0 <= min_seconds < timeout:
        raise UsageError(f"min_seconds must be 0 or more, and less than the deadline of {timeout}, not {min_seconds}")
    options = job_options(devices, seed, timeout, False, buffer_bytes)
    last = len(_core.parse_devices(devices)) - 1
    if last == 0 and servers and set(servers) == {"pe"}:
        raise UsageError("servers: there is one device, so none is left to serve it as pe")
    found = []
    for kind in servers:
        if kind == "pe" and last == 0:
            continue
        for number in threads if kind == "host" else [0]:
            for size in sizes:
                for asking in warps:
                    progress(f"{kind}: {size} bytes, {asking or 'all'} warps")
                    made = _core.measure_service(
                        options, kind, last, max(number, 1), size, asking, rounds, requests, min_seconds
                    )
                    found.append(_run_of(kind, number, size, asking, made))
    return found


def _run_of(kind: str, threads: int, size: int, warps: int, made: _core.ServiceStudy) -> ServiceRun:
    median, most, nearly_all = (float(q) for q in np.quantile(made.round_trip_ns, (0.5, 0.9, 0.99)))
    each = made.requests / max(made.slots, 1)
    times = (median, most, nearly_all)
    return ServiceRun(kind, threads, size, warps, times, made.requests, each, made.seconds, made.joules)

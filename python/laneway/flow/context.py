"""The devices of a dataflow, and the threads that work with them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Callable, NoReturn
from weakref import WeakValueDictionary

from laneway import _core
from laneway.arguments import BUFFER_BYTES, job_options
from laneway.errors import UsageError

_SLICE = 0.05
"""Seconds between two looks at whether the dataflow goes on."""


class Endpoint:
    """The host, a device, or a router: what links join. The context makes the first two."""

    def __init__(self, core: _core.FlowEndpoint) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """ "host", "cpu:0", "cpu:0 (second)", "router 'gather'"."""
        return self._core.name

    @property
    def is_host(self) -> bool:
        return self._core.is_host

    @property
    def is_router(self) -> bool:
        return self._core.is_router

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Endpoint) and self._core.is_same(other._core)

    def __hash__(self) -> int:
        return hash(self._core.id)

    def __repr__(self) -> str:
        return f"<laneway.flow.{type(self).__name__}: {self.name}>"


class Path:
    """The way between two memories, as the driver describes it; `Context.paths` has those of a dataflow."""

    def __init__(self, source: Endpoint, target: Endpoint, core: _core.FlowPath) -> None:
        self.source = source
        self.target = target
        self._core = core

    @property
    def kind(self) -> str:
        """ "same memory" of the host and its CPU devices, "host to GPU", or between GPUs "NVLink", "PCIe, peer access"
        or "through the host"."""
        return self._core.kind

    @property
    def peer_access(self) -> bool:
        """Whether kernels of the one reach memory of the other."""
        return self._core.peer_access

    @property
    def rank(self) -> int:
        """The driver's rating among the paths between GPUs, 0 the best."""
        return self._core.rank

    @property
    def bandwidth(self) -> float:
        """Bytes a second of large copies. Measured when the process first asks for it, which takes some ten
        milliseconds, in which the devices should have nothing else to do."""
        return _core.flow_bandwidth(core_of(self.source), core_of(self.target))

    def __repr__(self) -> str:
        return f"<laneway.flow.Path: {self.source.name} -> {self.target.name}: {self.kind}>"


class Context:
    """Opens devices for links and routers; as a context manager it closes them.

    `devices` and `seed` are those of `laneway.sssp`; `timeout`, in seconds, is the deadline of each wait. The first
    error ends the whole dataflow, a deadline that passes and what a worker raises included: whatever waits or sends
    gets it then, and operations that have not begun are left out. Any thread.

    After `close` sends and receives raise UsageError. A context that is open as Python ends is closed before Python
    waits for its threads. A process that is forked off makes its own.
    """

    def __init__(self, devices: str = "", *, seed: int = 1, timeout: float = 60.0) -> None:
        self._core = _core.make_dataflow(job_options(devices, seed, timeout, False, BUFFER_BYTES))
        self._timeout = float(timeout)
        self._host = Endpoint(_core.flow_host(self._core))
        self._devices = tuple(Endpoint(each) for each in _core.flow_devices(self._core))
        self._workers: list[threading.Thread] = []
        self._line: list[threading.Lock] = []
        """Places of collectives in the order of their calls: the first that is still held has its turn."""
        self._standing = threading.RLock()
        self._moved = threading.Condition(self._standing)
        self._grouped: WeakValueDictionary[Endpoint, object] = WeakValueDictionary()
        """The group that has an endpoint."""

    @property
    def host(self) -> Endpoint:
        """The host's memory, where arrays of NumPy are."""
        return self._host

    @property
    def devices(self) -> tuple[Endpoint, ...]:
        """One endpoint a device, in the order of the list."""
        return self._devices

    def add_endpoint(self, of: Endpoint, name: str) -> Endpoint:
        """Another endpoint of the same device, or of the host, with links of its own."""
        if not isinstance(name, str):
            raise UsageError(f"name must be text, not {name!r}")
        return Endpoint(_core.flow_add_endpoint(self._core, core_of(of), name))

    def path(self, source: Endpoint, target: Endpoint) -> Path:
        """How bytes get from memory of the one to memory of the other: devices, or the host."""
        return Path(source, target, _core.flow_path(self._core, core_of(source), core_of(target)))

    @property
    def paths(self) -> tuple[Path, ...]:
        """Between the host and all devices, each pair in both directions."""
        ends = (self._host, *self._devices)
        return tuple(self.path(a, b) for a in ends for b in ends if a != b)

    def start_worker(self, work: Callable[..., object], /, *args: Any) -> None:
        """Call `work(*args)` on a thread of its own. What it raises ends the dataflow, and names the function."""
        if not callable(work):
            raise UsageError(f"work must be a function, not {work!r}")
        self._core.check()
        thread = threading.Thread(target=_run, args=(self._core, work, args), name=_name_of(work))
        thread.start()
        self._workers.append(thread)

    def join(self) -> None:
        """Wait until all workers have returned. Raises the dataflow's first error, and TimeoutError naming a worker
        that has not returned after `timeout` seconds. UsageError where a worker calls it."""
        if getattr(_WORKER, "of", None) is self._core:
            raise UsageError("a worker cannot wait until all workers have returned")
        for worker in self._workers:
            self._wait(partial(_has_ended, worker), f"worker {worker.name} did not return")
        self._workers.clear()
        self._core.check()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Of a collective: one at a time."""
        # An interrupt may come between any two lines, but no line is needed to give a lock back: nobody waits long for
        # a place that its collective has left in the line.
        place = threading.Lock()
        try:
            with place:
                with self._standing:
                    self._line.append(place)
                # The deadline is of each turn: others that go on may take long together.
                while (first := self._first()) is not place:
                    self._wait(partial(self._is_over, first), "a collective did not get its turn")
                yield
        finally:
            with self._standing:
                self._moved.notify_all()

    def _first(self) -> threading.Lock:
        with self._standing:
            while not self._line[0].locked():
                del self._line[0]
            return self._line[0]

    def _is_over(self, turn: threading.Lock, seconds: float) -> bool:
        with self._standing:
            return self._moved.wait_for(lambda: not turn.locked(), seconds)

    def _wait(self, look: Callable[[float], bool], late: str) -> None:
        """Until `look`, which waits for as many seconds as it is given, finds what it looks for. Raises the dataflow's
        first error; past the deadline that is a TimeoutError, which begins with `late`."""
        end = time.monotonic() + self._timeout
        while not look(min(_SLICE, max(end - time.monotonic(), 0))):
            if time.monotonic() >= end:
                self._core.fail(f"{late} within {self._timeout:g} s", True)
            self._core.check()

    def close(self) -> None:
        """End what still goes on; who waits gets an error. Workers get a second to return. More than once is no
        error."""
        self._core.close()
        for worker in self._workers:
            if worker is not threading.current_thread():
                worker.join(1.0)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<laneway.flow.Context: {', '.join(each.name for each in self._devices)}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError("the context of a dataflow cannot be pickled or copied: its devices are open here only")


def core_of(end: Endpoint) -> _core.FlowEndpoint:
    """UsageError for what is no endpoint."""
    if not isinstance(end, Endpoint):
        raise UsageError(f"an end of a link must be an Endpoint or a Router, not {end!r}")
    return end._core


def _name_of(work: Callable[..., object]) -> str:
    return getattr(work, "__name__", type(work).__name__)


def _has_ended(worker: threading.Thread, seconds: float) -> bool:
    worker.join(seconds)
    return not worker.is_alive()


_WORKER = threading.local()
"""`of`: the dataflow whose worker the thread is."""


def _run(core: _core.Dataflow, work: Callable[..., object], args: tuple[Any, ...]) -> None:
    _WORKER.of = core
    try:
        work(*args)
    except BaseException as error:
        with suppress(UsageError):  # which tells that the context has been closed
            said = " ".join(str(error).split())  # one line
            core.fail(f"worker {_name_of(work)}: {type(error).__name__}: {said}", False)


# Before Python waits for its threads, which may wait for a packet.
_at_thread_exit: Callable[[Callable[[], None]], None] = threading._register_atexit  # type: ignore[attr-defined]
_at_thread_exit(_core.close_dataflows)

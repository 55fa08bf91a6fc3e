"""A process of an isolated pool, as the pool sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Callable

from laneway.channel import Channel
from laneway.errors import SystemError, TaskWorkerDied, reason_of
from laneway.pool_worker import PoolJob

START_SECONDS = 120.0
"""In which a process has opened its devices."""
END_SECONDS = 10.0
"""In which the system has ended a process that was killed."""
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from laneway.pool_worker import main; "
_START += "main(int(sys.argv[2]), int(sys.argv[3]))"


class WorkerProcess:
    """A fresh process, of its own session so that Ctrl-C is the parent's alone, with the devices of a job. It ends when
    its pool is closed, or its parent is gone.

    Raises what opening the devices raises, TaskWorkerDied where the process does not live so long. `look` is called
    while a call waits for the process; see `Channel`.
    """

    def __init__(self, job: PoolJob, look: Callable[[], None]) -> None:
        self._look = look
        self._deadline: float | None = time.monotonic() + START_SECONDS
        self.bodies: set[int] = set()
        """Addresses of bodies that it has."""
        self.linked: object = None
        """Which its GPUs have."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.channel = Channel(ours, self._while_waiting)
            try:
                self.process = _start(theirs.fileno())
            except OSError as error:
                self.channel.close()
                raise SystemError(f"the pool's worker process cannot be started: {reason_of(error)}") from None
        try:
            self.channel.send(tuple(job))
            word, *given = self.channel.receive()
            if word == "refused":
                raise given[0]
            self.devices: list[str] = given[0]
            self.architectures: list[int] = given[1]
            self.workers: int = given[2]
        except ConnectionError:
            raise TaskWorkerDied(f"{self.last_words()} before its devices were open") from None
        except BaseException:
            self.end()
            raise
        self._deadline = None

    def end(self) -> str:
        """Kill it; how it has ended. What it has sent can still be received."""
        self.process.kill()
        return self.last_words()

    def last_words(self) -> str:
        """How a process has ended that is about to."""
        try:
            code = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return f"the pool's worker process {self.process.pid} does not end"
        how = f"was ended by {_name_of(-code)}" if code < 0 else f"has ended with exit status {code}"
        return f"the pool's worker process {self.process.pid} {how}"

    def _while_waiting(self) -> None:
        if self._deadline is None:
            self._look()
        elif time.monotonic() > self._deadline:
            self.process.kill()
            raise ConnectionError(f"not started within {START_SECONDS:g} s")


def _start(descriptor: int) -> subprocess.Popen[Any]:
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    arguments = [json.dumps([place for place in sys.path if isinstance(place, str)]), str(descriptor), str(os.getpid())]
    return subprocess.Popen(
        [sys.executable, *flags, "-c", _START, *arguments],
        stdin=subprocess.DEVNULL,
        pass_fds=[descriptor],
        start_new_session=True,
    )


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

"""The command, run many times: each run is a fork of one process that has loaded it, so that none loads it again."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from laneway.errors import UsageError

LENGTH = struct.Struct("!q")


class Forks:
    """Runs of the command from a process that is ready for it; one at a time."""

    def __init__(self, command: Path, deadline_s: float) -> None:
        self._command = command
        self._deadline_s = deadline_s
        self._start()

    def _start(self) -> None:
        self._ours, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, __file__, str(theirs.fileno())]
            self._parent = subprocess.Popen(
                words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )

    def run(self, words: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """What `subprocess.run` gives with text in pipes."""
        whole = [str(self._command), *words]
        request = json.dumps({"words": whole, "folder": str(folder), "environment": environment}).encode()
        pipes = [os.pipe(), os.pipe()]
        with ThreadPoolExecutor(len(pipes)) as readers:
            texts = [readers.submit(_read, ours) for ours, _ in pipes]
            try:
                try:
                    self._ours.settimeout(self._deadline_s)
                    socket.send_fds(self._ours, [LENGTH.pack(len(request))], [theirs for _, theirs in pipes])
                finally:
                    for _, theirs in pipes:  # else nobody ends what is read here
                        os.close(theirs)
                self._ours.sendall(request)
                (code,) = LENGTH.unpack(_receive(self._ours, LENGTH.size))
            except BaseException:  # what the run still does is not for the next one
                self.end()
                self._start()
                raise
        output, errors = (text.result() for text in texts)
        return subprocess.CompletedProcess(whole, code, output, errors)

    def end(self) -> None:
        """Ends the process, and a run that still goes on."""
        self._ours.close()
        os.killpg(self._parent.pid, signal.SIGKILL)
        self._parent.wait()


def _read(ours: int) -> str:
    with open(ours) as file:
        return file.read()


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the process that starts commands has ended")
        data += more
    return data


def serve(connection: socket.socket) -> None:
    """Forks for each request and answers with the exit code, until the other end is closed."""
    while True:
        head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 2)
        if not head:
            return
        request = json.loads(_receive(connection, LENGTH.unpack(head)[0]))
        child = os.fork()
        if child == 0:
            connection.close()
            be(request["words"], request["folder"], request["environment"], streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.sendall(LENGTH.pack(os.waitstatus_to_exitcode(status)))


def be(words: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> NoReturn:
    """Goes on as the command that was asked for."""
    from laneway.cli import main

    for stream, number in zip(streams, (1, 2)):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115 - as Python makes them for pipes
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)  # taking the interpreter apart takes long
    raise AssertionError("the command returns")


def load() -> None:
    """All that runs of the command load: by one that is refused at once, and what others need beside it."""
    from laneway.app import app_of

    with suppress(UsageError):
        app_of()(["bfs", "graph", "--source", "1", "--devices", "none"], standalone_mode=False)
    drawing, graphs, clusters = "matplotlib.backends.backend_agg", "scipy.sparse.csgraph", "sklearn.cluster"
    for module in ("laneway.invocation", "laneway.api", drawing, graphs, clusters):
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)
    gc.freeze()  # forks share these objects


if __name__ == "__main__":
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))

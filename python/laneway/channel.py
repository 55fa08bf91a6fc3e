"""Python objects over a socket between two processes; large arrays go through shared memory."""

from __future__ import annotations

import array
import os
import pickle
import socket
import struct
import threading
from typing import Any, Callable

import numpy as np

LARGE = 2**20
"""Bytes from which on an array goes through shared memory of its own, which neither process waits for."""
MOST_DESCRIPTORS = 200
"""Of a message; Linux takes 253."""
LOOK_SECONDS = 0.5
"""Between two looks at what else there is while nothing comes or goes."""
_HEADER = struct.Struct("=QI")
_HALF = "a message was left in its midst"


class Channel:
    """One end. Any thread may send, one receives. `look` is called now and then while a call waits, and may raise what
    leaves it. Sending and receiving raise ConnectionError where the other end is gone, and where a message was left in
    its midst: what follows could not be told from its rest."""

    def __init__(self, end: socket.socket, look: Callable[[], None]) -> None:
        self._socket = end
        self._socket.settimeout(LOOK_SECONDS)
        self._look = look
        self._lock = threading.Lock()
        self._half_sent = self._half_received = False

    def send(self, thing: Any) -> None:
        descriptors: list[int] = []
        sizes: list[int] = []

        def stays(buffer: pickle.PickleBuffer) -> bool:
            """Whether the buffer goes with the message itself."""
            with buffer.raw() as content:
                if content.nbytes < LARGE or len(descriptors) == MOST_DESCRIPTORS:
                    return True
                try:
                    descriptors.append(_shared(content))
                except OSError:  # no more descriptors, or memory for them
                    return True
                sizes.append(content.nbytes)
            return False

        try:
            content = pickle.dumps(thing, protocol=5, buffer_callback=stays)
            message = b"".join([struct.pack(f"={len(sizes)}Q", *sizes), content])
            with self._lock:
                if self._half_sent:
                    raise ConnectionError(_HALF)
                self._send_header(_HEADER.pack(len(message), len(descriptors)), descriptors)
                self._send_all(message)
                self._half_sent = False
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def receive(self) -> Any:
        if self._half_received:
            raise ConnectionError(_HALF)
        header, descriptors = self._receive_header()
        try:
            length, count = _HEADER.unpack(header + self._receive_all(_HEADER.size - len(header)))
            message = memoryview(self._receive_all(length))
            self._half_received = False
            sizes = struct.unpack_from(f"={count}Q", message)
            buffers = [_content(descriptor, size) for descriptor, size in zip(descriptors, sizes)]
            return pickle.loads(message[8 * count :], buffers=buffers)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            self._socket.close()

    def _send_header(self, header: bytes, descriptors: list[int]) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self._patiently(lambda: self._socket.sendmsg([header], rights))
        self._half_sent = True
        self._send_all(header[sent:])

    def _send_all(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[self._patiently(lambda: self._socket.send(left)) :]  # noqa: B023 - called at once

    def _receive_header(self) -> tuple[bytes, list[int]]:
        """As much of it as comes at once, and the descriptors that come with it."""
        found = array.array("i")
        room = socket.CMSG_SPACE(MOST_DESCRIPTORS * found.itemsize)
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        header, rights, *_ = self._patiently(lambda: self._socket.recvmsg(_HEADER.size, room, flags))
        if not header:
            raise ConnectionError("the other end is closed")
        self._half_received = True
        for level, kind, content in rights:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                found.frombytes(content[: len(content) - len(content) % found.itemsize])
        return header, found.tolist()

    def _receive_all(self, count: int) -> bytearray:
        content = bytearray(count)
        left = memoryview(content)
        while left:
            got = self._patiently(lambda: self._socket.recv_into(left))  # noqa: B023 - called at once
            if got == 0:
                raise ConnectionError("the other end is closed")
            left = left[got:]
        return content

    def _patiently(self, call: Callable[[], Any]) -> Any:
        while True:
            try:
                return call()
            except socket.timeout:  # another class in Python 3.9
                self._look()
            except OSError as error:
                raise ConnectionError(str(error)) from error


def _shared(content: memoryview) -> int:
    """Descriptor of shared memory with this content."""
    descriptor = os.memfd_create("laneway", os.MFD_CLOEXEC)
    try:
        at = 0
        while at < content.nbytes:
            at += os.pwrite(descriptor, content[at:], at)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _content(descriptor: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A copy: what stays mapped would keep a descriptor as long as somebody keeps the array."""
    content = np.empty(size, np.uint8)
    left = content.data
    while left:
        got = os.preadv(descriptor, [left], size - len(left))
        if got == 0:
            raise ConnectionError("shared memory is shorter than was said")
        left = left[got:]
    return content

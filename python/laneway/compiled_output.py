"""What compiled libraries print."""

from __future__ import annotations

import ctypes
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_lock = threading.Lock()
_inside = 0
_standard_output = -1


@contextmanager
def compiled_output_to_stderr() -> Iterator[None]:
    """Let what compiled code prints to standard output appear on standard error, so that readers of a pipe get only
    what they asked for.

    File descriptors belong to the process: what other threads print meanwhile takes the same way, unless they are kept
    off by a compiled call that holds the interpreter's lock. Several threads may be inside at a time.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _standard_output
    with _lock:
        if _inside == 0:
            _flush()
            _standard_output = _divert()
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0 and _standard_output >= 0:
            _flush()  # C holds back what it prints to a pipe
            os.dup2(_standard_output, 1)
            os.close(_standard_output)


def _divert() -> int:
    """Put standard error, or nothing where it is closed, in the place of standard output; -1 where that is closed."""
    try:
        kept = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)  # not in the place of a standard error that is closed
    except OSError:
        return -1
    try:
        os.dup2(2, 1)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return kept


def _flush() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)

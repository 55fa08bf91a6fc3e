"""How signals end the command: at once, with one line, and with nothing left behind.

Loaded before anything that takes time, so it needs little itself. The handler does not raise: an exception that comes
from anywhere is lost or printed where Python or a library calls code whose errors it does not expect. It removes what
is not complete and ends the process.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

temporaries: set[str] = set()
"""Files that are being written and must not stay; names are here before there is such a file."""

_state = {"over": False, "bar": False}


def end_on_signals() -> None:
    """From now on a signal ends the process with 128 and its number; those that the caller has us ignore stay so."""
    for number in CAUGHT:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def point_of_no_return() -> None:
    """From now on signals are ignored: what remains is to put complete files in place, to tell, and to end."""
    _state["over"] = True
    for number in CAUGHT:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_IGN)  # which stays in force as Python ends, as handlers do not


def show_bar(shown: bool) -> None:
    """Whether a progress bar is on standard error, without a cursor: a signal must leave a clean line."""
    _state["bar"] = shown


def _end(number: int, _: object) -> None:
    if _state["over"]:
        return
    _state["over"] = True  # a second signal may come at any of these lines
    for path in tuple(temporaries):
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - pathlib takes a while to load
    core = sys.modules.get("laneway._core")
    if core is not None and hasattr(core, "remove_drafts"):
        core.remove_drafts()
    sys.stderr = io.StringIO()  # the bar's own thread writes nothing behind the last line
    clean = "\r\x1b[2K\x1b[?25h" if _state["bar"] else ""
    what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    with suppress(OSError):
        os.write(2, f"{clean}laneway: {what}\n".encode())  # streams of Python may be in the midst of a line
    os._exit(128 + number)

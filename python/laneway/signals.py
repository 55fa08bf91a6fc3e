"""How signals end the command: at once, with one line, and with nothing left behind.

Loaded before anything that takes time, so it needs only what Python itself has loaded. The handler does not raise: an
exception that comes from anywhere is lost or printed where Python or a library calls code whose errors it does not
expect. It removes what is not complete and ends the process.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps in enums, which take a while to load
import io
import os
import sys

CAUGHT = {
    _signal.SIGINT: "interrupted",
    _signal.SIGTERM: "ended by SIGTERM",
    _signal.SIGHUP: "ended by SIGHUP",
}

temporaries: set[str] = set()
"""Files that are being written, and directories of such, that must not stay; names are here before there is such a
file."""

_state = {"over": False, "bar": False}


def end_on_signals(blocked: "set[int] | frozenset[int]" = frozenset()) -> None:
    """From now on a signal ends the process with 128 and its number, also of those that have been `blocked` for that;
    those that the caller has us ignore stay so."""
    for number in CAUGHT:
        if _signal.getsignal(number) in (_signal.SIG_DFL, _signal.default_int_handler):
            _signal.signal(number, _end)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, blocked)


def point_of_no_return() -> None:
    """From now on signals are ignored: what remains is to put complete files in place, to tell, and to end."""
    _state["over"] = True
    for number in CAUGHT:
        if _signal.getsignal(number) is _end:
            _signal.signal(number, _signal.SIG_IGN)  # which stays in force as Python ends, as handlers do not


def show_bar(shown: bool) -> None:
    """Whether a progress bar is on standard error, without a cursor: a signal must leave a clean line."""
    _state["bar"] = shown


def _end(number: int, _: object) -> None:
    if _state["over"]:
        return
    _state["over"] = True  # a second signal may come at any of these lines
    for path in sorted(temporaries, reverse=True):  # what is in a directory before it
        for remove in (os.unlink, os.rmdir):
            try:  # noqa: SIM105 - contextlib takes a while to load
                remove(path)
            except OSError:
                pass
    core = sys.modules.get("laneway._core")
    if core is not None and hasattr(core, "remove_drafts"):
        core.remove_drafts()
    sys.stderr = io.StringIO()  # the bar's own thread writes nothing behind the last line
    clean = "\r\x1b[2K\x1b[?25h" if _state["bar"] else ""
    write_line(clean + "laneway: " + CAUGHT[number])
    os._exit(128 + number)


def write_line(text: str) -> None:
    """A line on standard error, if there is any: streams of Python may be in the midst of one, or not be there yet."""
    try:  # noqa: SIM105
        os.write(2, (text + "\n").encode(errors="replace"))
    except OSError:
        pass

"""The `laneway` command."""

import os
import sys

from laneway.signals import end_on_signals, write_line  # `from laneway import` would load all of it


def main(blocked: "set[int] | frozenset[int]" = frozenset()) -> None:
    """Entry point: exit code 0, 2 for wrong use or input, 1 for a failed run, 128 and a signal's number; no traceback.

    All else is loaded only after signals are caught, also those that have been `blocked` until then: that takes most of
    the time of a short run.
    """
    end_on_signals(blocked)
    try:
        from laneway.app import app_of
        from laneway.invocation import run

        run(app_of(sys.argv[1:]))
    except Exception as error:  # most often there is too little memory, of which each library has its own way to tell
        write_line("laneway: cannot start: " + reason(error))
        os._exit(1)  # as it ends, Python would stumble over what is half loaded


def reason(error: BaseException) -> str:
    """What was wrong in the first place, in one line."""
    while before := error.__cause__ or error.__context__:
        error = before
    return "not enough memory" if isinstance(error, MemoryError) else " ".join(str(error).split())


if __name__ == "__main__":
    main()

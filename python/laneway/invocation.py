"""One call of the command: its streams, its errors, its exit code."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from laneway import signals
from laneway.app import app
from laneway.errors import Error, UsageError, reason_of


def run() -> NoReturn:
    """Do what the arguments of this process say, and end it."""
    prepare_streams()
    try:
        code = app(standalone_mode=False)
        signals.point_of_no_return()
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except UsageError as error:
        fail(str(error), 2)
    except (Error, MemoryError) as error:
        fail(str(error) or "not enough memory", 1)
    except OSError as error:
        # Nothing but the streams is left to fail here. Python must not stumble over the same text again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        fail(f"standard output cannot be written: {reason_of(error)}", 2)
    except Exception as error:
        fail_by_parser(error)


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line on standard error."""
    signals.point_of_no_return()
    with suppress(OSError):  # the exit code is right even where nobody can be told
        print("laneway: " + " ".join(message.split()), file=sys.stderr, flush=True)
    sys.exit(code)


def prepare_streams() -> None:
    """Stand-ins for streams that the caller has closed, and `?` for letters that the terminal's encoding lacks."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def fail_by_parser(error: Exception) -> NoReturn:
    """The command-line parser's own errors, whose classes depend on the version of typer."""
    text = getattr(error, "format_message", None)
    if text is None:
        fail(f"internal error: {type(error).__name__}: {error}", 1)
    fail(text() or "a command is missing; see laneway --help", getattr(error, "exit_code", 2))

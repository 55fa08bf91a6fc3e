"""One call of the command: its streams, its errors, its exit code."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import warnings
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from laneway import signals
from laneway.errors import Error, UsageError, reason_of

if TYPE_CHECKING:
    import typer
    from _typeshed import ReadableBuffer


class OutputError(Exception):
    """Standard output cannot be written; the system's error is its cause."""


class StandardOutput(FileIO):
    """Standard output, whose errors are told from those of files."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError from error


def run(app: typer.Typer) -> NoReturn:
    """Do what the arguments of this process say, and end it. `app`: with the command that they name.

    What it cannot load on the way is left to the caller to tell.
    """
    prepare_streams()
    warnings.showwarning = _tell_warning
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns that its list of fonts takes long or is not kept
    try:
        code = app(standalone_mode=False)
        signals.point_of_no_return()
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except ImportError:
        raise
    except UsageError as error:
        fail(_by_options(str(error), app), 2)
    except (Error, MemoryError) as error:
        fail(str(error) or "not enough memory", 1)
    except OutputError as error:
        # Python must not stumble over the same text again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, BrokenPipeError):
            fail(f"standard output cannot be written: {reason_of(error.__cause__)}", 2)
        sys.exit(128 + signal.SIGPIPE)  # its reader has gone, and knows that
    except OSError as error:
        fail(f"{error.filename or 'the system says'}: {reason_of(error)}", 2)
    except Exception as error:
        fail_by_parser(error)


def _by_options(message: str, app: typer.Typer) -> str:
    """A message about a parameter of a program, with the name that the command has for it: --delta, --no-fused, N."""
    from typer.main import get_command

    about = re.match(r"(\w+)(?=: | must be | is for )", message)
    command: Any = get_command(app)
    for word in sys.argv[1:]:
        command, outer = getattr(command, "commands", {}).get(word), command
        if command is None:
            command = outer
            break
    names = {each.name: each for each in command.params}
    each = about and (names.get(about[1]) or names.get(f"no_{about[1]}"))
    if not about or not each:
        return message
    is_argument = each.param_type_name == "argument"
    name: str = (each.metavar or str(each.name).upper()) if is_argument else max(each.opts, key=len)
    return name + message[about.end() :]


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line on standard error."""
    signals.point_of_no_return()
    _tell(message)
    sys.exit(code)


def _tell(message: str) -> None:
    with suppress(OSError):  # the exit code is right even where nobody can be told
        print("laneway: " + " ".join(message.split()), file=sys.stderr, flush=True)


def _tell_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """In the place of Python's own way, which shows lines of source."""
    _tell(f"warning: {message}")


def prepare_streams() -> None:
    """A stand-in for standard error that the caller has closed, and `?` for letters that the terminal's encoding lacks.
    Ends the command where standard output is closed: its result would be lost."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process
    if sys.stdout is None:
        fail("standard output cannot be written: it is closed", 2)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout is sys.__stdout__:  # which lives on and keeps the file open
        sys.stdout = TextIOWrapper(
            BufferedWriter(StandardOutput(sys.stdout.fileno())),
            encoding=sys.stdout.encoding,
            errors="replace",
            line_buffering=sys.stdout.line_buffering,
            write_through=sys.stdout.write_through,
        )


def fail_by_parser(error: Exception) -> NoReturn:
    """The command-line parser's own errors, whose classes depend on the version of typer."""
    text = getattr(error, "format_message", None)
    if text is None:
        fail(f"internal error: {type(error).__name__}: {error}", 1)
    fail(text() or "a command is missing; see laneway --help", getattr(error, "exit_code", 2))

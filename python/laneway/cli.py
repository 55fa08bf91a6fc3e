"""The `laneway` command."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

import typer

import laneway
from laneway.commands import color, devices, generate, gups, indegree, kmeans, kmer, pagerank, paths, study
from laneway.errors import Error, UsageError, reason_of

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Programs whose GPU and CPU lanes send each other messages from inside their kernels.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# A file each, in the order of the help page.
for command in (paths, pagerank, color, kmeans, kmer, indegree, gups, study, devices, generate):
    command.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"laneway {laneway.__version__}")
        raise typer.Exit


@app.callback(epilog="[bold]Example[/bold]  laneway sssp data/USA-road-d.NY.gr.gz --source 1 --verify")
def common(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    """Programs whose GPU and CPU lanes send each other messages from inside their kernels."""


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line on standard error."""
    with suppress(OSError):  # the exit code is right even where nobody can be told
        print("laneway: " + " ".join(message.split()), file=sys.stderr, flush=True)
    sys.exit(code)


class Stopped(BaseException):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def raise_stopped(number: int, _: object) -> NoReturn:
    """Signal handler: leave through the open files, so that none of them stays half written."""
    raise Stopped(number)


def end_now(what: str, code: int) -> NoReturn:
    """End the process now: a run in the background must not hold it until its deadline."""
    with suppress(OSError):
        print(f"laneway: {what}", file=sys.stderr, flush=True)
    os._exit(code)


def main() -> None:
    """Entry point: exit code 0, 2 for wrong use or input, 1 for a failed run; never a traceback."""
    prepare_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one of them
            signal.signal(number, raise_stopped)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        if code == 130:
            end_now("interrupted", 130)
        sys.exit(code if isinstance(code, int) else 0)
    except Stopped as stop:
        end_now(f"ended by {signal.Signals(stop.number).name}", 128 + stop.number)
    except UsageError as error:
        fail(str(error), 2)
    except (Error, MemoryError) as error:
        fail(str(error) or "not enough memory", 1)
    except OSError as error:
        # Nothing but the streams is left to fail here. Python must not stumble over the same text again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        fail(f"standard output cannot be written: {reason_of(error)}", 1)
    except Exception as error:
        fail_by_parser(error)


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
    if type(error).__name__ == "Abort":
        end_now("interrupted", 130)
    text = getattr(error, "format_message", None)
    if text is None:
        fail(f"internal error: {type(error).__name__}: {error}", 1)
    fail(text() or "a command is missing; see laneway --help", getattr(error, "exit_code", 2))


if __name__ == "__main__":
    main()

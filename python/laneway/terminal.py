"""What the command prints on standard output."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

PIPE_COLUMNS = 240  # wide enough that no line is folded where a program reads it


def show(table: Table) -> None:
    """Print a table: coloured and as wide as the terminal, or plain lines without trailing blanks in a pipe."""
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=PIPE_COLUMNS, color_system=None)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().strip("\n").splitlines()), flush=True)

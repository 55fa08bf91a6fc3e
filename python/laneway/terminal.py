"""What the command prints on standard output."""

from __future__ import annotations

import sys

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

PIPE_COLUMNS = 1 << 16  # no line is folded where a program reads it


def show(table: Table, title: str | None = None) -> None:
    """Print a table under its title: coloured and as wide as the terminal, or plain lines without trailing blanks in a
    pipe. The title takes a line of its own, however narrow the table is."""
    parts: list[RenderableType] = [] if title is None else [Text(title, style="bold")]
    parts.append(table)
    if sys.stdout.isatty():
        Console().print(*parts, sep="\n")
        return
    console = Console(width=PIPE_COLUMNS, color_system=None)
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().strip("\n").splitlines()), flush=True)

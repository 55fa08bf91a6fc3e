"""The command `devices`."""

from __future__ import annotations

import typer
from rich.markup import escape
from rich.table import Table

import laneway
from laneway.terminal import show


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(devices)


def devices() -> None:
    """List the devices of this machine, and why others cannot be used."""
    table = Table("device", "what", box=None, pad_edge=False)
    for device in laneway.devices():
        about = device.description if device.usable else f"[yellow]not usable:[/yellow] {escape(device.reason)}"
        table.add_row(device.name, about)
    show(table)

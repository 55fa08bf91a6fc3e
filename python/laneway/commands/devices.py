"""The command `devices`."""

from __future__ import annotations

from typing import Optional

import typer
from rich.markup import escape
from rich.table import Table

import laneway
from laneway.terminal import show


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(devices)


def devices(
    paths: Optional[str] = typer.Option(
        None, metavar="DEVICES", help="The paths between devices such as cuda:0-3, and the host, with what they carry."
    ),
) -> None:
    """List the devices of this machine, and why others cannot be used."""
    show(_as_table() if paths is None else _paths_between(paths))


def _as_table() -> Table:
    table = Table("device", "what", box=None, pad_edge=False)
    for device in laneway.devices():
        about = device.description if device.usable else f"[yellow]not usable:[/yellow] {escape(device.reason)}"
        table.add_row(device.name, about)
    return table


def _paths_between(devices: str) -> Table:
    table = Table("from", "to", "path", "peer access", box=None, pad_edge=False)
    table.add_column("GB/s", justify="right")
    with laneway.flow.Context(devices) as ctx:
        for path in ctx.paths:
            access = "yes" if path.peer_access else "no"
            rate = f"{path.bandwidth / 1e9:.1f}"
            table.add_row(path.source.name, path.target.name, path.kind, access, rate)
    return table

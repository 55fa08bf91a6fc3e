"""The command `sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import numpy as np
import typer
from numpy.typing import NDArray

from laneway.commands.side_files import side_files
from laneway.errors import UsageError
from laneway.plot import check_format
from laneway.programs.sweep import MAX_POINTS, SweepResult, require_name
from laneway.programs.sweep import sweep as calculate

OPTIONS = frozenset(("devices", "timeout"))
"""What `laneway.sweep` takes beside parameters."""
ARRAYS = frozenset(("values", "file"))
"""Names in the archive that are not those of axes, `file` as `numpy.savez` calls the archive itself."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog='[bold]Example[/bold]  laneway sweep "exp(-a*t)" --over a=0.1,0.5 --over t=0:10:1001')(sweep)


def sweep(
    formula: str = typer.Argument(..., help="An expression of C++, with the functions of <cmath>."),
    over: list[str] = typer.Option([], help="NAME=FIRST:LAST:COUNT or NAME=VALUE,VALUE,...; one for each parameter."),
    devices: str = typer.Option("", help="cpu or cpu:4.", show_default="one a core"),
    output: Optional[Path] = typer.Option(None, help="Write all values and axes: .npz."),
    plot: Optional[Path] = typer.Option(None, help="Draw one or two parameters: .png, .svg or .pdf."),
    timeout: float = typer.Option(60.0, help="Deadline in seconds for what makes no progress."),
) -> None:
    """A formula for all combinations of its parameters' values, as tasks."""
    parameters = _parameters(over, taken=OPTIONS if output is None else OPTIONS | ARRAYS)
    if output is not None and output.suffix.lower() != ".npz":
        raise UsageError(f"{output}: the name must end in .npz")
    if plot is not None:
        check_format(plot)
    with side_files(output, plot) as (output_file, plot_file):
        if plot is not None:
            from laneway.sweep_plot import draw_sweep, require_drawable

            require_drawable(parameters)  # before it takes time
        found = calculate(formula, devices=devices or "cpu", timeout=timeout, **parameters)
        if output_file is not None:
            output_file.fill(lambda file: _write(found, file))
        if plot_file is not None:
            kind = plot_file.path.suffix.lower().lstrip(".")
            plot_file.fill(lambda file: draw_sweep(found, file, kind))
    _summarise(found)


def _parameters(over: list[str], taken: frozenset[str]) -> dict[str, NDArray[np.float64]]:
    """Each parameter and its values; UsageError for names that are none, and for those that are `taken`."""
    parameters: dict[str, NDArray[np.float64]] = {}
    for given in over:
        name, values = _parameter(given)
        require_name(name)
        if name in taken:
            raise UsageError(f"--over {given}: a parameter of this command cannot be called {name!r}")
        if name in parameters:
            raise UsageError(f"--over {name}: given twice")
        parameters[name] = values
    return parameters


def _parameter(given: str) -> tuple[str, NDArray[np.float64]]:
    """`a=0:1:11` or `a=1,2,3`."""
    name, _, values = given.partition("=")
    try:
        if ":" not in values:
            return name, np.array([float(value) for value in values.split(",")])
        low, high, number = values.split(":")
        first, last, count = float(low), float(high), int(number)
    except ValueError:
        raise UsageError(f"--over {given}: expected NAME=FIRST:LAST:COUNT or NAME=VALUE,VALUE,...") from None
    if not 1 <= count <= MAX_POINTS:
        raise UsageError(f"--over {given}: COUNT must be from 1 to {MAX_POINTS}, not {count}")
    if not np.isfinite(last - first):
        raise UsageError(f"--over {given}: FIRST and LAST must be finite, and their difference too")
    return name, np.linspace(first, last, count)


def _write(found: SweepResult, file: Path) -> None:
    with file.open("wb") as out:
        np.savez(out, values=found.values, formula=found.formula, **found.axes)  # type: ignore[arg-type]


def _summarise(found: SweepResult) -> None:
    good = found.values[np.isfinite(found.values)]
    typer.echo(f"points   {found.values.size:,}")
    if good.size < found.values.size:
        typer.echo(f"numbers  {good.size:,}, all others are infinite or none")
    if good.size:
        for what, place in (("least", np.nanargmin), ("greatest", np.nanargmax)):
            finite = np.where(np.isfinite(found.values), found.values, np.nan)
            at = np.unravel_index(int(place(finite)), finite.shape)
            where = ", ".join(f"{n} = {axis[i]:g}" for (n, axis), i in zip(found.axes.items(), at))
            typer.echo(f"{what:8} {finite[at]:g}" + (f" at {where}" if where else ""))

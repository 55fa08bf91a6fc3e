"""The command `md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Optional

import numpy as np
import typer
from numpy.typing import NDArray

import laneway
from laneway.account import Account, Row, printable
from laneway.atoms import Atoms, read_atoms
from laneway.commands.program import add_program
from laneway.errors import UsageError
from laneway.job import Job
from laneway.lammps_log import read_thermo
from laneway.programs.md import CUTOFF as CUTOFF_LENGTH
from laneway.programs.md import DT as STEP_LENGTH
from laneway.programs.md import LIST_RULE, REBUILD_EVERY, MdResult, temperatures_between
from laneway.programs.md import SKIN as SKIN_LENGTH
from laneway.programs.md import THERMO as THERMO_STEPS
from laneway.references.md import verify

STATE = typer.Argument(..., help="Atoms: a text dump of LAMMPS with id x y z vx vy vz, plain, gzip or xz.")
STEPS = typer.Option(..., help="Number of steps.")
DT = typer.Option(STEP_LENGTH, help="Time of a step.")
CUTOFF = typer.Option(CUTOFF_LENGTH, help="Pairs of atoms that are further apart have no force and no energy.")
SKIN = typer.Option(SKIN_LENGTH, help="How much further neighbour lists reach.")
RULE = typer.Option(LIST_RULE, help="When lists are built anew: moved, before a pair is missed; or steps, unchecked.")
REBUILD = typer.Option(REBUILD_EVERY, help="With --list-rule steps: after so many.")
THERMO = typer.Option(THERMO_STEPS, help="Steps between two samples of the energies.")
REPLICAS = typer.Option(1, help="Universes that begin with these atoms.")
TEMPERATURES = typer.Option(
    None,
    metavar="LOW:HIGH",
    help="Scale velocities first: replicas to temperatures from LOW to HIGH in equal ratios, or all to one.",
    show_default="velocities as they are",
)
EXCHANGE = typer.Option(
    None,
    help="Steps between two exchanges of neighbouring temperatures; what is drawn follows from --seed.",
    show_default="none",
)
ENERGIES = typer.Option(None, help="Write the samples of the energies as .csv, a row a universe and step.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_program(
        app,
        "md",
        body,
        summary="Molecular dynamics of Lennard-Jones atoms: many universes, as tasks over all devices.",
        examples=[
            "md melt.dump --steps 250 --devices cpu:2 --energies melt.csv",
            "md melt.dump.xz --steps 250 --list-rule steps --verify log.lammps",
            "md melt.dump --steps 10000 --replicas 8 --temperatures 0.7:1.4 --exchange-every 100 --output end.npz",
        ],
        verify="Compare temperatures, energies and pressures with the table of a log of LAMMPS.",
        verify_with="LOG",
        output="Write the end as .npz: `positions`, `velocities`, `forces`, `box`, `ids`, and the samples.",
    )


def body(
    job: Job,
    state: str = STATE,
    steps: int = STEPS,
    dt: float = DT,
    cutoff: float = CUTOFF,
    skin: float = SKIN,
    list_rule: str = RULE,
    rebuild_every: int = REBUILD,
    thermo: int = THERMO,
    replicas: int = REPLICAS,
    temperatures: Optional[str] = TEMPERATURES,
    exchange_every: Optional[int] = EXCHANGE,
    energies: Optional[Path] = ENERGIES,
) -> Account:
    """What the command does."""
    if energies is not None:
        if energies.suffix.lower() != ".csv":
            raise UsageError(f"{energies}: the name of --energies must end in .csv")
        job.prepare(energies)
    ladder = _temperatures(temperatures, replicas)
    if job.reference is not None and ladder is not None:
        raise UsageError("--verify and --temperatures exclude each other: a log is of atoms as they are given")
    reference = job.reference or ""
    log = job.load("log", [reference], lambda: read_thermo(reference)) if reference else None
    atoms = job.load("atoms", [state], lambda: read_atoms(state))
    result = laneway.md(
        atoms,
        steps,
        dt=dt,
        cutoff=cutoff,
        skin=skin,
        list_rule=list_rule,
        rebuild_every=rebuild_every,
        thermo=thermo,
        replicas=replicas,
        temperatures=ladder,
        exchange_every=exchange_every,
        exchange_seed=job.options["seed"],
        **job.options,
    )
    universes = "1 universe" if replicas == 1 else f"{replicas:,} universes"
    rule = list_rule if list_rule == LIST_RULE else f"every {rebuild_every} steps"
    return Account(
        subject=f"{printable(state)} for {steps:,} steps",
        headline=f"{universes} of {len(atoms):,} atoms",
        report=result.report,
        rows=_rows(atoms, result, dt, rule),
        fields={
            "atoms": {"path": state, "count": len(atoms), "step": atoms.step},
            "model": {"dt": dt, "cutoff": cutoff, "skin": skin, "list_rule": list_rule, "rebuild_every": rebuild_every},
            "steps": steps,
            "thermo": thermo,
            "replicas": replicas,
            "temperatures": result.temperatures.tolist(),
            "exchange_every": exchange_every,
            "work": {
                "atom_steps_per_second": _rate(atoms, result),
                "builds": result.builds.tolist(),
                "pairs": result.pairs,
                "accepted": result.accepted,
            },
            "result": {
                "potential": result.potential[:, -1].tolist(),
                "total": result.total[:, -1].tolist(),
                "temperature": result.temperature[:, -1].tolist(),
                "pressure": result.pressure[:, -1].tolist(),
            },
        },
        arrays=_arrays(atoms, result),
        files={} if energies is None else {energies: lambda file: _write_energies(result, file)},
        verify=lambda: verify(result, log),  # type: ignore[arg-type]  # which is there then
    )


def _temperatures(given: str | None, replicas: int) -> NDArray[np.float64] | float | None:
    """What --temperatures says, one a replica, or one for all."""
    if given is None:
        return None
    number = r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)"
    found = re.fullmatch(f"{number}(?::{number})?", given, re.ASCII)
    if found is None:
        raise UsageError(f"--temperatures must be LOW:HIGH, such as 0.7:1.4, or one number, not {printable(given)}")
    low, high = float(found.group(1)), float(found.group(2) or found.group(1))
    if not 0 < low <= high < np.inf:
        raise UsageError(f"--temperatures must be above 0 and rise from LOW to HIGH, not {given}")
    if found.group(2) is None:
        return low
    if replicas < 2:
        raise UsageError("--temperatures LOW:HIGH needs --replicas 2 or more")
    return temperatures_between(low, high, replicas)


def _rate(atoms: Atoms, result: MdResult) -> float:
    work = len(atoms) * len(result.positions) * int(result.steps[-1])
    return work / max(result.report.run_seconds, 1e-9)


def _rows(atoms: Atoms, result: MdResult, dt: float, rule: str) -> list[Row]:
    count = len(result.positions)
    total, temperature = result.total, result.temperature[:, -1]
    rate = f"{_rate(atoms, result) / 1e6:,.3g} million atom-steps a second"
    rows = [
        ("atoms", f"{len(atoms):,} in each of {count:,} universes" if count > 1 else f"{len(atoms):,}"),
        ("steps", f"{int(result.steps[-1]):,} of {dt:g}; {rate}"),
        ("temperature", f"{_range(temperature)} at the end"),
        ("energy", f"{_range(total[:, -1])} an atom at the end"),
        ("neighbour lists", f"built {int(result.builds.sum()):,} times, {rule}"),
    ]
    if not result.pairs:
        drift = float(np.abs(total - total[:, :1]).max())
        rows.insert(4, ("energy drift", f"{drift:.3g} an atom at most"))
    else:
        rows.append(("exchanges", f"{result.accepted:,} of {result.pairs:,} pairs accepted"))
    return rows


def _range(values: NDArray[np.float64]) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.9g}" if low == high else f"{low:.6g} to {high:.6g}"


def _arrays(atoms: Atoms, result: MdResult) -> dict[str, NDArray[np.generic]]:
    return {
        "ids": atoms.ids,
        "box": atoms.box,
        "positions": result.positions,
        "velocities": result.velocities,
        "forces": result.forces,
        "steps": result.steps,
        "potential": result.potential,
        "kinetic": result.kinetic,
        "temperature": result.temperature,
        "pressure": result.pressure,
        "temperatures": result.temperatures,
        "rungs": result.rungs,
    }


def _write_energies(result: MdResult, file: Path) -> None:
    columns = (result.temperature, result.potential, result.kinetic, result.total, result.pressure)
    lines = ["universe,step,temperature,potential,kinetic,total,pressure\n"]
    for universe in range(len(result.positions)):
        first = result.initial[universe].step
        rows = zip(result.steps.tolist(), *(column[universe].tolist() for column in columns))
        lines += [f"{universe + 1},{first + step},{','.join(map(repr, numbers))}\n" for step, *numbers in rows]
    file.write_text("".join(lines))

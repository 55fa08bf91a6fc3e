"""Reference answers of molecular dynamics: LAMMPS's logs."""

from __future__ import annotations

import numpy as np

from laneway.errors import UsageError
from laneway.lammps_log import ThermoTable
from laneway.programs.md import MdResult
from laneway.verification import Verification, compare

ALLOWED = 1e-9
"""Relative to the greater of the number and 1. Motion is chaotic: this holds for some hundred steps of a melt."""


def verify(result: MdResult, log: ThermoTable) -> Verification:
    """Compare temperatures, energies and pressures of all universes with a log, at the steps that both have."""
    own_steps = result.initial[0].step + result.steps.astype(np.int64)
    common, own, logged = np.intersect1d(own_steps, log.steps, return_indices=True)
    if not common.size:
        raise UsageError(f"the log has none of the steps {own_steps[0]} to {own_steps[-1]} at which energies are known")
    known = {
        "Temp": result.temperature,
        "E_pair": result.potential,
        "PotEng": result.potential,
        "KinEng": result.kinetic,
        "TotEng": result.total,
        "Press": result.pressure,
    }
    names = [name for name in known if name in log.columns]
    if not names:
        raise UsageError(f"the log has none of the columns {', '.join(known)}")
    found = np.stack([known[name][:, own] for name in names])  # columns, universes, steps
    expected = np.stack([log.columns[name][logged] for name in names])[:, np.newaxis, :]
    wrong = ~(np.abs(found - expected) <= ALLOWED * np.maximum(1, np.abs(expected)))

    def describe(place: int) -> str:
        column, universe, step = np.unravel_index(place, found.shape)
        wanted, got = float(expected[column, 0, step]), float(found[column, universe, step])
        return f"{names[column]} of universe {universe + 1} at step {common[step]} is {wanted!r}, not {got!r}"

    return compare("LAMMPS's log", log.seconds, "temperatures, energies and pressures", wrong.ravel(), describe)

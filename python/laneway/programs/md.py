"""Molecular dynamics of many universes over many devices, with replica exchange."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway import _core
from laneway._core import Report
from laneway.answers import Answer
from laneway.arguments import BUFFER_BYTES, require_real, require_whole
from laneway.arrays import as_array
from laneway.atoms import Atoms, checked_atoms
from laneway.errors import UsageError
from laneway.frames import frame_of
from laneway.workspace import Workspace

if TYPE_CHECKING:
    from pandas import DataFrame

DT = 0.005
CUTOFF = 2.5
SKIN = 0.3
LIST_RULE = "moved"
REBUILD_EVERY = 20
THERMO = 10
MAX_STEPS_BITS = 62

Universes = Union[Atoms, Sequence[Atoms]]


@dataclass(frozen=True, eq=False)
class MdResult(Answer):
    """What has become of the universes, each of them with n atoms; the first axis of most arrays counts universes."""

    positions: NDArray[np.float64]
    """Shape (universes, n, 3), inside the boxes, in the order of the atoms' ids."""
    velocities: NDArray[np.float64]
    """Shape (universes, n, 3)."""
    forces: NDArray[np.float64]
    """Shape (universes, n, 3)."""
    steps: NDArray[np.uint64]
    """Steps since the beginning at which energies were sampled: 0, each multiple of `thermo`, and the last one."""
    potential: NDArray[np.float64]
    """Potential energy an atom, shape (universes, len(steps))."""
    kinetic: NDArray[np.float64]
    """Kinetic energy an atom, likewise."""
    temperature: NDArray[np.float64]
    """With 3 n - 3 degrees of freedom, likewise."""
    pressure: NDArray[np.float64]
    """Likewise."""
    builds: NDArray[np.uint64]
    """How often the neighbour lists of each universe were built."""
    temperatures: NDArray[np.float64]
    """To which velocities were scaled, one a universe; empty where they were not."""
    rungs: NDArray[np.uint32]
    """Which of the temperatures each universe has: a row before the first step, and one after each exchange; no rows
    where there is no exchange."""
    pairs: int
    """Of universes that might have traded their temperatures, in all exchanges."""
    accepted: int
    """Of these, those that have."""
    report: Report
    initial: tuple[Atoms, ...] = field(repr=False, compare=False)
    """The universes as they were given."""

    @property
    def total(self) -> NDArray[np.float64]:
        """Sum of both energies an atom, shape (universes, len(steps))."""
        return self.potential + self.kinetic

    def to_pandas(self) -> DataFrame:
        """The samples as a pandas data frame, one row for each universe and step. ImportError where there is no
        pandas."""
        universes = len(self.potential)
        names = ("potential", "kinetic", "temperature", "pressure")
        return frame_of(
            {
                "universe": np.repeat(np.arange(universes), len(self.steps)),
                "step": np.tile(self.steps, universes),
                **{name: getattr(self, name).reshape(-1) for name in names},
            }
        )

    def atoms(self, universe: int = 0) -> Atoms:
        """A universe at the end, from 0, as `write_atoms` and a next call of `md` take it."""
        before = self.initial[universe]
        step = before.step + int(self.steps[-1])
        return Atoms(step, before.box, before.ids, self.positions[universe], self.velocities[universe])


def md(
    atoms: Universes,
    steps: int,
    *,
    dt: float = DT,
    cutoff: float = CUTOFF,
    skin: float = SKIN,
    list_rule: str = LIST_RULE,
    rebuild_every: int = REBUILD_EVERY,
    thermo: int = THERMO,
    replicas: int = 1,
    temperatures: ArrayLike | None = None,
    exchange_every: int | None = None,
    exchange_seed: int = 1,
    devices: str = "",
    seed: int = 1,
    timeout: float = 60.0,
    buffer_bytes: int = BUFFER_BYTES,
    progress: bool = False,
) -> MdResult:
    """Advance Lennard-Jones atoms by `steps` of length `dt`, in reduced units and at constant energy.

    `atoms` is what `read_atoms` gives, of which `replicas` are made, or a list of them with equal numbers of atoms.
    Each is a universe by itself; a worker of some device advances it, others beside it. Forces are those of LAMMPS's
    `pair_style lj/cut` with `cutoff`; the integrator is velocity Verlet, as `fix nve`. Neighbour lists reach `skin`
    further and are built anew by `list_rule`: "moved", once an atom has moved more than half the skin, so that no pair
    is missed; or "steps", after `rebuild_every` steps, unchecked, as LAMMPS with `neigh_modify every 20 delay 0 check
    no`. Energies are sampled every `thermo` steps.

    `temperatures` are what velocities are scaled to before the first step: a number, one a universe, or the lowest and
    highest, between which the others lie in equal ratios. With `exchange_every` universes at neighbouring temperatures
    trade these after each so many steps, with Metropolis's probability (Sugita and Okamoto, Chem. Phys. Lett. 314,
    1999), by scaling their velocities. What is drawn follows from `exchange_seed`.

    The result is the same, to the bit, on any CPU devices, and beside any other universes. `devices`, `seed`,
    `buffer_bytes` and `progress` are those of `sssp`; `timeout` is the deadline of the whole call. Raises UsageError
    for wrong arguments and atoms that are not as `Atoms` says; DeviceFault where an atom is lost or has too many
    neighbours, naming universe and step; TimeoutError. Ctrl-C is as with `sssp`.
    """
    with Workspace(devices, seed, timeout, progress, buffer_bytes) as workspace:
        return advance_universes(
            workspace,
            atoms,
            steps,
            dt,
            cutoff,
            skin,
            list_rule,
            rebuild_every,
            thermo,
            replicas,
            temperatures,
            exchange_every,
            exchange_seed,
        )


def advance_universes(
    workspace: Workspace,
    atoms: Universes,
    steps: int,
    dt: float,
    cutoff: float,
    skin: float,
    list_rule: str,
    rebuild_every: int,
    thermo: int,
    replicas: int,
    temperatures: ArrayLike | None,
    exchange_every: int | None,
    exchange_seed: int,
) -> MdResult:
    """`md` on devices that are there."""
    start = time.monotonic()
    universes = _as_universes(atoms, replicas)
    require_whole("steps", steps, bits=MAX_STEPS_BITS)
    for name, number in (("dt", dt), ("cutoff", cutoff), ("skin", skin)):
        require_real(name, number)
    for name, number in (("rebuild_every", rebuild_every), ("thermo", thermo)):
        require_whole(name, number, 1, bits=32)
    require_whole("exchange_seed", exchange_seed)
    if exchange_every is not None:
        require_whole("exchange_every", exchange_every, 1, bits=MAX_STEPS_BITS)
    ladder = _as_temperatures(temperatures, len(universes))
    model = _core.MdModel(float(cutoff), float(skin), float(dt), str(list_rule), rebuild_every, thermo)
    boxes, positions, velocities = (_stacked(universes, name) for name in ("box", "positions", "velocities"))
    raw = _core.md(
        workspace.core,
        boxes,
        positions,
        velocities,
        steps,
        model,
        ladder.tolist(),
        exchange_every or 0,
        exchange_seed,
        time.monotonic() - start,
        workspace.options,
    )
    return _result_of(raw, universes, ladder, boxes)


def temperatures_between(low: float, high: float, count: int) -> NDArray[np.float64]:
    """`count` temperatures from `low` to `high`, each the same multiple of the one before."""
    return np.geomspace(low, high, count)


def _stacked(universes: tuple[Atoms, ...], name: str) -> NDArray[np.float64]:
    """An array of all universes, which may be millions of the same one."""
    if all(each is universes[0] for each in universes):
        return np.repeat(getattr(universes[0], name)[np.newaxis], len(universes), axis=0)
    return np.stack([getattr(each, name) for each in universes])


def _result_of(
    raw: _core.MdRun, universes: tuple[Atoms, ...], ladder: NDArray[np.float64], boxes: NDArray[np.float64]
) -> MdResult:
    count, n = len(universes), len(universes[0])
    vectors, samples = (count, n, 3), (count, -1)
    volumes = np.prod(boxes[:, :, 1] - boxes[:, :, 0], axis=1, keepdims=True)
    kinetic = raw.kinetic().reshape(samples)
    return MdResult(
        raw.positions().reshape(vectors),
        raw.velocities().reshape(vectors),
        raw.forces().reshape(vectors),
        raw.steps(),
        raw.potential().reshape(samples) / n,
        kinetic / n,
        2 * kinetic / (3 * n - 3),
        (2 * kinetic + raw.virial().reshape(samples)) / (3 * volumes),
        raw.builds(),
        ladder,
        raw.rungs(),
        raw.pairs,
        raw.accepted,
        raw.report,
        universes,
    )


def _as_universes(atoms: Universes, replicas: int) -> tuple[Atoms, ...]:
    """Those of a call, with arrays that fit each other."""
    require_whole("replicas", replicas, 1, bits=24)
    if isinstance(atoms, Atoms):
        return (checked_atoms(atoms, "atoms"),) * replicas
    if not isinstance(atoms, (list, tuple)) or not all(isinstance(each, Atoms) for each in atoms):
        raise UsageError(f"atoms must be what read_atoms gives, or a list of that, not {type(atoms).__name__}")
    if not atoms:
        raise UsageError("atoms: there are no universes")
    if replicas != 1:
        raise UsageError(f"replicas = {replicas} are made of one universe, not of {len(atoms)}")
    universes = tuple(checked_atoms(each, f"universe {place + 1}") for place, each in enumerate(atoms))
    for place, each in enumerate(universes):
        if len(each) != len(universes[0]):
            raise UsageError(
                f"universe {place + 1} has {len(each)} atoms, universe 1 has {len(universes[0])}: those of a call "
                "have equally many"
            )
    return universes


def _as_temperatures(given: Any, universes: int) -> NDArray[np.float64]:
    """One a universe, or none."""
    if given is None:
        return np.empty(0)
    array = as_array("temperatures", given)
    if array.ndim > 1 or array.dtype.kind not in "fiu":
        raise UsageError(f"temperatures must be a number, two, or one for each of {universes} universes, not {given!r}")
    array = array.astype(np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise UsageError(f"temperatures must be finite and above 0, not {given!r}")
    if array.ndim == 0:
        return np.full(universes, float(array))
    if len(array) == universes:
        return array
    if len(array) == 2 and universes > 2:
        return temperatures_between(array[0], array[1], universes)
    raise UsageError(f"temperatures must be a number, two, or one for each of {universes} universes, not {len(array)}")

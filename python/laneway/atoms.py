"""Atoms in a periodic box, and the text dumps of LAMMPS that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway.arguments import require_whole
from laneway.arrays import as_array
from laneway.compressed import DAMAGED, damage, open_for, text_of
from laneway.errors import UsageError, reason_of
from laneway.file_names import PathLike, as_path
from laneway.lammps_dump import Frame, frames_of
from laneway.pending_file import PendingFile

COLUMNS = "id type x y z vx vy vz"


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms of one kind in a periodic box with right angles, in reduced units (lengths in sigma, masses 1)."""

    step: int
    """Steps of the simulation that they come from."""
    box: NDArray[np.float64]
    """Low and high bound along x, y and z: shape (3, 2)."""
    ids: NDArray[np.int64]
    """Their numbers, rising."""
    positions: NDArray[np.float64]
    """Shape (n, 3), inside the box: from the low bound to below the high one."""
    velocities: NDArray[np.float64]
    """Shape (n, 3)."""

    def __post_init__(self) -> None:
        """UsageError for a step and ids that are none; the other arrays are looked at where they are used."""
        require_whole("step", self.step)
        ids = as_array("ids", self.ids)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise UsageError(f"ids must be one whole number an atom, not {ids.dtype} of the shape {ids.shape}")

    def __len__(self) -> int:
        return len(self.ids)


def read_atoms(path: PathLike) -> Atoms:
    """Read atoms from a text dump of LAMMPS (`dump custom`), plain, gzip or xz, with the columns id, x, y, z, vx, vy
    and vz in any order; others do not count.

    Of several time steps the last one counts. Atoms come in the order of their ids. LAMMPS wraps atoms into the box
    only where it builds neighbour lists, so those that are outside of it by up to 1 sigma are wrapped here. Raises
    UsageError, naming the line, for a file that is missing, cut off or broken; a box that is not periodic or has other
    than right angles; ids that come twice; several types of atoms; numbers that are not finite; atoms further outside;
    and fewer than two of them.
    """
    file = as_path(path, "the name of the atoms' file")
    try:
        with file.open("rb") as opened:
            with text_of(opened, opened.peek(6)) as text:
                for frame in frames_of(file, text):
                    last = frame
            return _atoms_of(last)
    except OSError as error:
        raise UsageError(f"{file}: {reason_of(error)}") from None
    except DAMAGED as error:
        raise UsageError(f"{file}: {damage(error)}") from None
    except MemoryError:
        raise UsageError(f"{file}: needs more memory than there is") from None


def write_atoms(atoms: Atoms, path: PathLike) -> None:
    """Write a text dump as LAMMPS does, with every digit; compressed if the name ends in .gz or .xz.

    The file appears complete or not at all. Raises UsageError for arrays of other shapes, numbers that are not finite,
    and where the file cannot be written.
    """
    atoms = checked_atoms(atoms, "atoms")
    for name, array in (("box", atoms.box), ("positions", atoms.positions), ("velocities", atoms.velocities)):
        if not np.isfinite(array).all():
            raise UsageError(f"{name} has numbers that are not finite")
    with PendingFile(as_path(path, "the name of the atoms' file")) as pending:
        pending.fill(lambda file: _write(atoms, file, pending.path.name))
        pending.commit()


def checked_atoms(atoms: Atoms, name: str) -> Atoms:
    """A copy with doubles in rows; UsageError, which calls the atoms `name`, for what is none and for arrays of other
    shapes."""
    if not isinstance(atoms, Atoms):
        raise UsageError(f"{name} must be what read_atoms gives, not {type(atoms).__name__}")

    def rows(what: str, values: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
        array = as_array(f"{name}: {what}", values)
        if array.shape != shape or array.dtype.kind not in "fiu":
            raise UsageError(f"{name}: {what} must be numbers of the shape {shape}, not {array.dtype} {array.shape}")
        return np.array(array, dtype=np.float64, order="C")

    n = len(atoms)
    return Atoms(
        atoms.step,
        rows("box", atoms.box, (3, 2)),
        np.asarray(atoms.ids),
        rows("positions", atoms.positions, (n, 3)),
        rows("velocities", atoms.velocities, (n, 3)),
    )


def _atoms_of(frame: Frame) -> Atoms:
    order = np.argsort(frame.ids, kind="stable")
    low, high = frame.box[:, 0], frame.box[:, 1]
    length = high - low
    positions = frame.positions[order]
    positions -= length * np.floor((positions - low) / length)  # 0 inside the box, where no bit changes
    positions = np.where((positions >= low) & (positions < high), positions, low)  # rounded onto a bound
    return Atoms(frame.step, frame.box, frame.ids[order], positions, frame.velocities[order])


def _write(atoms: Atoms, file: Path, name: str) -> None:
    with open_for(file, name) as stream:
        bounds = "".join(f"{low!r} {high!r}\n" for low, high in atoms.box.tolist())
        stream.write(
            f"ITEM: TIMESTEP\n{atoms.step}\nITEM: NUMBER OF ATOMS\n{len(atoms)}\n"
            f"ITEM: BOX BOUNDS pp pp pp\n{bounds}ITEM: ATOMS {COLUMNS}\n".encode()
        )
        for number, x, v in zip(atoms.ids.tolist(), atoms.positions.tolist(), atoms.velocities.tolist()):
            stream.write(f"{number} 1 {' '.join(map(repr, x))} {' '.join(map(repr, v))}\n".encode())

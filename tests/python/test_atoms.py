"""Atoms in LAMMPS's dumps: what is written is read again, what is broken is refused with its place."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from laneway.atoms import Atoms, read_atoms, write_atoms
from laneway.compressed import text_of
from laneway.errors import UsageError
from laneway.programs.md import md

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "md"

HEAD = """ITEM: TIMESTEP
5
ITEM: NUMBER OF ATOMS
3
ITEM: BOX BOUNDS pp pp pp
0 10
-1.5 8.5
0.0e+00 1.2e+01
"""
ROWS = """7 1 1 2 3 0.1 0.2 0.3
2 1 9.5 -1.5 0 -1 0 1
3 1 0 8.25 11.9 1e-3 0 0
"""
TITLES = "ITEM: ATOMS id type x y z vx vy vz\n"
DUMP = HEAD + TITLES + ROWS


def read(tmp_path: Path, content: str | bytes) -> Atoms:
    file = tmp_path / "a.dump"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_atoms(file)


def test_atoms_come_by_their_ids(tmp_path: Path) -> None:
    atoms = read(tmp_path, DUMP)
    assert atoms.step == 5
    assert atoms.box.tolist() == [[0, 10], [-1.5, 8.5], [0, 12]]
    assert atoms.ids.tolist() == [2, 3, 7]
    assert atoms.positions.tolist() == [[9.5, -1.5, 0], [0, 8.25, 11.9], [1, 2, 3]]
    assert atoms.velocities.tolist() == [[-1, 0, 1], [1e-3, 0, 0], [0.1, 0.2, 0.3]]


EQUAL = {
    "other columns and order": HEAD
    + "ITEM: ATOMS vz mass id q x y vy z vx \n0.3 1 7 x 1 2 0.2 3 0.1\n"
    + "1 1 2 x 9.5 -1.5 0 0 -1\n0 1 3 x 0 8.25 0 11.9 1e-3\n",
    "windows": DUMP.replace("\n", "\r\n"),
    "units and time": "ITEM: UNITS\nlj\nITEM: TIME\n0.025\n" + DUMP,
    "later step": DUMP.replace("\n5\n", "\n4\n").replace("9.5", "9.25") + DUMP,
    "outside": DUMP.replace("9.5 -1.5 0", "-0.5 8.5 12"),
}


@pytest.mark.parametrize("content", EQUAL.values(), ids=EQUAL)
def test_equal_files(tmp_path: Path, content: str) -> None:
    atoms, same = read(tmp_path, DUMP), read(tmp_path, content)
    assert same.step == atoms.step
    for name in ("box", "ids", "positions", "velocities"):
        assert getattr(same, name).tolist() == getattr(atoms, name).tolist(), name


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed(tmp_path: Path, pack: object) -> None:
    assert len(read(tmp_path, pack(DUMP.encode()))) == 3  # type: ignore[operator]


def test_pipes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(DUMP.encode())))
    writer.start()
    assert len(read_atoms(pipe)) == 3
    writer.join()


BROKEN = {
    "nothing": ("", ": is empty"),
    "no dump": ("1 2 3\n", ":1: expected ITEM: TIMESTEP, not '1 2 3'"),
    "control": ("\x1b[31m\n", ":1: expected ITEM: TIMESTEP, not '?[31m'"),
    "binary": (b"\xff\xfe\x00", ": is no text"),
    "head alone": (HEAD[:30], ":3: the file ends within this line"),
    "no rows": (HEAD + TITLES, ": ends after line 9, before the last 3 of 3 atoms"),
    "two rows": (HEAD + TITLES + "".join(ROWS.splitlines(True)[:2]), ": ends after line 11, before the last 1 of 3"),
    "cut number": (DUMP[:-3], ":12: the file ends within this line"),
    "cut row": (DUMP[:-9] + "\n", ":12: 8 columns are announced, this row has 5"),
    "rows of the next step": (
        HEAD + TITLES + "".join(ROWS.splitlines(True)[:2]) + DUMP,
        ":12: 2 atoms only, where 3 are announced",
    ),
    "more rows": (DUMP + "9 1 1 1 1 0 0 0\n", ":13: expected ITEM: TIMESTEP, not '9 1 1 1 1 0 0 0'"),
    "cut later": (DUMP + HEAD, ": ends after line 20, before ITEM: ATOMS"),
    "words": (DUMP.replace("8.25", "eight"), ":12: y is 'eight', no number"),
    "under": (DUMP.replace("11.9", "1_0"), ":12: z is '1_0', no number"),
    "nan": (DUMP.replace("0.2", "nan"), ":10: vy is 'nan', not finite"),
    "infinite": (DUMP.replace("9.5", "1e999"), ":11: x is '1e999', not finite"),
    "twice": (DUMP.replace("3 1 0", "7 1 0"), ":12: atom 7 comes twice, first in line 10"),
    "id": (DUMP.replace("7 1", "7.5 1"), ":10: id is '7.5', no whole number"),
    "negative id": (DUMP.replace("7 1", "-7 1"), ":10: id is '-7', no whole number"),
    "long id": (DUMP.replace("7 1", "7" * 30 + " 1"), "no whole number"),
    "types": (DUMP.replace("2 1", "2 2"), ":11: type is '2', not '1': atoms are of one type"),
    "columns": (DUMP.replace("vx vy vz", "fx vy fz"), ":9: columns vx vz are missing; those needed are id x y z"),
    "scaled": (DUMP.replace("x y z vx", "xs ys zs vx"), ":9: columns x y z are missing"),
    "outside": (DUMP.replace("9.5", "11.5"), ":11: atom 2 is outside the box: x is 11.5, the box is from 0.0 to 10.0"),
    "below": (DUMP.replace("11.9", "-1.01"), ":12: atom 3 is outside the box: z is -1.01"),
    "one atom": (DUMP.replace("\n3\n", "\n1\n"), ":4: the number of atoms is 1, not 2 or more"),
    "no atoms": (DUMP.replace("\n3\n", "\n0\n"), ":4: the number of atoms is 0"),
    "fewer announced": (DUMP.replace("\n3\n", "\n2\n"), ":12: expected ITEM: TIMESTEP"),
    "huge": (DUMP.replace("\n3\n", "\n999999999999999999\n"), ": ends after line 12, before the last"),
    "count": (DUMP.replace("\n3\n", "\nthree\n"), ":4: the number of atoms is 'three', no whole number"),
    "step": (DUMP.replace("\n5\n", "\n-5\n"), ":2: the time step is '-5', no whole number"),
    "open box": (DUMP.replace("pp pp pp", "pp ff pp"), ":5: the box is 'pp ff pp', not periodic"),
    "oblique box": (DUMP.replace("pp pp pp", "xy xz yz pp pp pp"), ":5: the box is 'xy xz yz pp pp pp'"),
    "bounds": (DUMP.replace("-1.5 8.5\n", "-1.5\n"), ":7: two bounds of the box along y are needed, not 1"),
    "empty box": (DUMP.replace("0 10\n", "10 10\n"), ":6: the box along x is empty"),
    "box of words": (DUMP.replace("0 10\n", "0 ten\n"), ":6: a bound of the box along x is 'ten', no number"),
    "no box": (DUMP.replace("".join(HEAD.splitlines(True)[4:]), ""), ":5: expected ITEM: BOX BOUNDS, not 'ITEM: ATOMS"),
    "two boxes": (HEAD + "".join(HEAD.splitlines(True)[4:]) + TITLES + ROWS, ":9: expected ITEM: ATOMS, not"),
    "units": ("ITEM: UNITS\nmetal\n" + DUMP, ":2: units are 'metal', not lj"),
    "long line": ("ITEM: " + "x" * (1 << 17), ":1: the line is longer than"),
    "cut gzip": (gzip.compress(DUMP.encode())[:-9], "ended before"),
    "cut xz": (lzma.compress(DUMP.encode())[:-9], "ended before"),
    "wrong gzip": (b"\x1f\x8bnothing", ": "),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_broken_files(tmp_path: Path, case: tuple[str | bytes, str]) -> None:
    content, reason = case
    with pytest.raises(UsageError) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(str(tmp_path / "a.dump"))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", range(1, len(DUMP)))
def test_no_beginning_of_a_file_is_taken_for_one(tmp_path: Path, length: int) -> None:
    with pytest.raises(UsageError):
        read(tmp_path, DUMP[:length])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_atoms(tmp_path / "none")
    with pytest.raises(UsageError, match="is a directory"):
        read_atoms(tmp_path)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_written_files_are_read_again(tmp_path: Path, ending: str) -> None:
    random = np.random.default_rng(3)
    atoms = Atoms(
        step=12,
        box=np.array([[-1 / 3, 10], [0, 1e3], [1e-9, 7]]),
        ids=np.arange(1, 101),
        positions=random.uniform(0.1, 6.9, (100, 3)),
        velocities=random.normal(0, 1e-7, (100, 3)),
    )
    file = tmp_path / ("w.dump" + ending)
    write_atoms(atoms, file)
    again = read_atoms(file)
    assert again.step == 12
    for name in ("box", "ids", "positions", "velocities"):
        assert (getattr(again, name) == getattr(atoms, name)).all(), name
    assert file.read_bytes()[:2] == {"": b"IT", ".gz": b"\x1f\x8b", ".xz": b"\xfd7"}[ending]


def test_what_is_no_set_of_atoms_is_not_written(tmp_path: Path) -> None:
    atoms = read(tmp_path, DUMP)
    file = tmp_path / "w.dump"
    bad = atoms.positions.copy()
    bad[1, 1] = np.nan
    with pytest.raises(UsageError, match="positions has numbers that are not finite"):
        write_atoms(replace(atoms, positions=bad), file)
    with pytest.raises(
        UsageError, match=r"atoms: velocities must be numbers of the shape \(3, 3\), not float64 \(2, 3\)"
    ):
        write_atoms(replace(atoms, velocities=atoms.velocities[1:]), file)
    with pytest.raises(UsageError, match="is a directory"):
        write_atoms(atoms, tmp_path)
    assert not file.exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ids": None}, r"ids must be one whole number an atom, not object of the shape \(\)"),
        ({"ids": 5}, r"ids must be one whole number an atom, not int64 of the shape \(\)"),
        ({"ids": ["a"]}, "ids must be one whole number an atom, not <U1"),
        ({"ids": [[1], [2, 3]]}, "ids must be a list of numbers"),
        ({"step": None}, "step must be a whole number from 0 to"),
        ({"step": 1.5}, "step must be a whole number from 0 to"),
        ({"positions": None}, r"atoms: positions must be numbers of the shape \(3, 3\), not object \(\)"),
        ({"box": None}, r"atoms: box must be numbers of the shape \(3, 2\), not object \(\)"),
        ({"box": [["a", "b"]] * 3}, r"atoms: box must be numbers of the shape \(3, 2\), not <U1 \(3, 2\)"),
    ],
)
def test_arrays_that_are_none(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    atoms = read(tmp_path, DUMP)
    with pytest.raises(UsageError, match=words):
        write_atoms(replace(atoms, **changed), tmp_path / "w.dump")
    with pytest.raises(UsageError, match=words):
        md(replace(atoms, **changed), 1, devices="cpu:1")
    with pytest.raises(UsageError, match="atoms must be what read_atoms gives, not str"):
        write_atoms("atoms", tmp_path / "w.dump")  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [DUMP, DUMP[:-20]])
@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_files_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, ending: str) -> None:
    """Whole ones and broken ones."""
    opened: list[io.TextIOWrapper] = []
    monkeypatch.setattr("laneway.atoms.text_of", lambda *given: opened.append(text_of(*given)) or opened[-1])
    path = tmp_path / f"a.dump{ending}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending](content.encode()))
    with suppress(UsageError):
        read_atoms(path)
    assert [text.closed for text in opened] == [True]


def test_dumps_of_lammps() -> None:
    if not SHARED.exists():
        pytest.skip("shared data not at hand: md")
    first, last = (read_atoms(SHARED / f"melt4000.{name}.dump.xz") for name in ("initial", "final250"))
    assert (first.step, last.step, len(first), len(last)) == (0, 250, 4000, 4000)
    assert first.ids.tolist() == list(range(1, 4001))
    squares = (first.velocities**2).sum()
    assert squares / (3 * 4000 - 3) == pytest.approx(3, rel=1e-14)
    high = last.box[:, 1]
    assert (last.positions >= 0).all() and (last.positions < high).all()
    assert last.positions[0].tolist() == [16.469033998551787, 0.14648663264223963, 16.469503866768111]

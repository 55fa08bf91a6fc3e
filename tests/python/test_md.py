"""Molecular dynamics: the function and the command, against LAMMPS and against themselves on other devices."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import ROOT, Run, device_lists, names
from laneway.lammps_log import ThermoTable, read_thermo
from laneway.references import md as reference
from numpy.typing import NDArray

SHARED = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "md"
INITIAL, FINAL = SHARED / "melt4000.initial.dump.xz", SHARED / "melt4000.final250.dump.xz"
LOG = SHARED / "log.melt4000"
needs_melt = pytest.mark.skipif(not LOG.exists(), reason="shared data not at hand")


def crystal(temperature: float = 1.0, seed: int = 1, spacing: float = 1.2, side: int = 6, step: int = 0) -> lw.Atoms:
    """A cube of atoms in rows, that moves as a whole nowhere."""
    places = np.stack(np.meshgrid(*[np.arange(side) * spacing] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    velocities = np.random.default_rng(seed).normal(size=places.shape)
    velocities -= velocities.mean(axis=0)
    velocities *= np.sqrt(temperature * (3 * len(places) - 3) / np.square(velocities).sum())
    box = np.array([[0.0, side * spacing]] * 3)
    return lw.Atoms(step, box, np.arange(1, len(places) + 1), places, velocities)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    lw.write_atoms(crystal(), tmp_path / "state.dump")
    return tmp_path / "state.dump"


def apart(a: NDArray[Any], b: NDArray[Any], box: NDArray[Any]) -> float:
    """Greatest distance along an axis, over the edge of the box too."""
    length = box[:, 1] - box[:, 0]
    return float(np.abs((a - b) - length * np.round((a - b) / length)).max())


@needs_melt
@pytest.mark.parametrize(("devices", "replicas"), [("cpu:1", 1), ("cpu:2", 2)])
def test_the_melt_is_that_of_lammps(devices: str, replicas: int) -> None:
    begin, end, log = lw.read_atoms(INITIAL), lw.read_atoms(FINAL), read_thermo(LOG)
    result = lw.md(begin, 250, list_rule="steps", replicas=replicas, devices=devices)
    assert result.steps.tolist() == log.steps.tolist() == list(range(0, 251, 10))
    for universe in range(replicas):
        assert apart(result.positions[universe], end.positions, end.box) < 1e-6 * 1.68
        np.testing.assert_allclose(result.velocities[universe], end.velocities, rtol=0, atol=1e-8)
        for found, name in (
            (result.potential, "E_pair"),
            (result.total, "TotEng"),
            (result.temperature, "Temp"),
            (result.pressure, "Press"),
        ):
            np.testing.assert_allclose(found[universe], log.columns[name], rtol=1e-9)
    assert result.builds.tolist() == [13] * replicas
    assert reference.verify(result, log).mismatches == 0
    careful = lw.md(begin, 250, devices=devices)
    assert reference.verify(careful, log).mismatches > 0, "without pairs that are missed"
    drifts = [abs(each.total[0, -1] - each.total[0, 0]) for each in (careful, result)]
    assert drifts[0] < drifts[1]


@needs_melt
@pytest.mark.parametrize(("devices", "replicas"), [("cpu:1", 1), ("cpu:2", 2)])
def test_the_command_meets_the_log(laneway: Run, tmp_path: Path, devices: str, replicas: int) -> None:
    words = ["md", INITIAL, "--steps", 250, "--dt", 0.005, "--cutoff", 2.5, "--devices", devices]
    words += ["--list-rule", "steps", "--replicas", replicas, "--verify", LOG, "--json", "r.json"]
    done = laneway(*words, "--output", "f.npz", "--energies", "e.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, against LAMMPS's log, which took 505 ms" in done.stdout
    work = tmp_path / "work"
    end, log = lw.read_atoms(FINAL), read_thermo(LOG)
    with np.load(work / "f.npz") as file:
        assert file["positions"].shape == file["velocities"].shape == file["forces"].shape == (replicas, 4000, 3)
        assert apart(file["positions"][-1], end.positions, file["box"]) < 1e-6 * 1.68
        assert file["ids"].tolist() == end.ids.tolist()
    with (work / "e.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(int(row["universe"]), int(row["step"])) for row in rows] == [
        (universe + 1, step) for universe in range(replicas) for step in range(0, 251, 10)
    ]
    for own, name in (("potential", "E_pair"), ("total", "TotEng"), ("temperature", "Temp"), ("pressure", "Press")):
        np.testing.assert_allclose([float(row[own]) for row in rows], np.tile(log.columns[name], replicas), rtol=1e-9)
    report = json.loads((work / "r.json").read_text())
    assert report["verified"]["mismatches"] == 0
    assert report["work"]["builds"] == [13] * replicas


@needs_melt
def test_a_log_that_differs_is_told(laneway: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "work" / "wrong.log"
    wrong.write_text(LOG.read_text().replace("1.66698827388", "1.66698837388"))
    done = laneway("md", INITIAL, "--steps", 20, "--list-rule", "steps", "--verify", wrong, "--json", "r.json")
    assert done.returncode == 1
    assert "Temp of universe 1 at step 20 is 1.66698837388, not 1.66698827" in done.stderr
    assert names(tmp_path / "work") == ["wrong.log"]


@pytest.mark.parametrize("devices", [*device_lists(), "checked:2"])
def test_universes_beside_each_other_are_those_one_by_one(devices: str) -> None:
    universes = [crystal(0.5 * seed, seed) for seed in range(1, 5)]
    together = lw.md(universes, 30, devices=devices)
    home = "cuda:0" if devices.startswith("cuda") else "cpu:1"
    for place, universe in enumerate(universes):
        alone = lw.md(universe, 30, devices=home)
        for name in ("positions", "velocities", "forces", "potential", "kinetic", "temperature", "pressure", "builds"):
            assert getattr(together, name)[place].tolist() == getattr(alone, name)[0].tolist(), name
    assert together.report.devices == lw.md(universes[0], 0, devices=devices).report.devices


def test_energies_and_the_way_on() -> None:
    begin = crystal(0.4, step=70)
    whole = lw.md(begin, 25, thermo=10, dt=0.002, devices="cpu:2")
    assert whole.steps.tolist() == [0, 10, 20, 25]
    assert whole.temperature[0, 0] == pytest.approx(0.4, rel=1e-12)
    n = len(begin)
    np.testing.assert_allclose(whole.kinetic * n, whole.temperature * (3 * n - 3) / 2, rtol=1e-14)
    np.testing.assert_allclose(whole.total, whole.potential + whole.kinetic, rtol=0)
    assert np.ptp(whole.total) < 1e-3
    assert ((whole.positions >= 0) & (whole.positions < 7.2)).all()
    half = lw.md(begin, 10, dt=0.002, devices="cpu:1").atoms()
    assert half.step == 80 and half.ids is begin.ids
    rest = lw.md(half, 15, thermo=15, dt=0.002, devices="cpu:1")
    assert rest.atoms().step == 95
    assert apart(rest.positions[0], whole.positions[0], begin.box) < 1e-9
    assert rest.total[0, -1] == pytest.approx(whole.total[0, -1], rel=1e-9)


def test_atoms_of_a_result_can_be_written(tmp_path: Path) -> None:
    result = lw.md(crystal(), 7, devices="cpu:1")
    lw.write_atoms(result.atoms(), tmp_path / "end.dump")
    again = lw.read_atoms(tmp_path / "end.dump")
    assert again.step == 7
    assert again.positions.tolist() == result.positions[0].tolist()


def test_rules_of_lists() -> None:
    hot = crystal(6.0)
    moved, often, never = (
        lw.md(hot, 60, devices="cpu:1", **rule)
        for rule in ({}, {"list_rule": "steps", "rebuild_every": 1}, {"list_rule": "steps", "rebuild_every": 1000})
    )
    assert often.builds.tolist() == [61] and never.builds.tolist() == [1]
    assert 3 < moved.builds[0] < 40
    assert apart(moved.positions[0], often.positions[0], hot.box) < 1e-8
    assert apart(moved.positions[0], never.positions[0], hot.box) > 1e-6
    assert lw.md(hot, 60, skin=0.1, devices="cpu:1").builds[0] > moved.builds[0]


def test_arguments_are_not_changed() -> None:
    begin = crystal()
    before = dataclasses.replace(begin, positions=begin.positions.copy(), velocities=begin.velocities.copy())
    lw.md(begin, 5, temperatures=2.0, devices="cpu:1")
    assert begin.positions.tolist() == before.positions.tolist()
    assert begin.velocities.tolist() == before.velocities.tolist()


def exchanged(devices: str = "cpu:2", **changes: Any) -> lw.MdResult:
    options = {"replicas": 5, "temperatures": (0.8, 1.2), "exchange_every": 6, "exchange_seed": 3, **changes}
    return lw.md(crystal(spacing=1.4, side=4), 120, devices=devices, **options)


def test_exchanges_follow_their_seed_alone() -> None:
    expected = exchanged()
    assert expected.temperatures == pytest.approx(0.8 * 1.5 ** (np.arange(5) / 4))
    assert expected.temperature[:, 0] == pytest.approx(expected.temperatures, rel=1e-9)
    assert expected.rungs.shape == (20, 5)
    assert expected.rungs[0].tolist() == [0, 1, 2, 3, 4]
    assert (np.sort(expected.rungs, axis=1) == np.arange(5)).all()
    assert np.abs(np.diff(expected.rungs.astype(int), axis=0)).max() == 1
    assert expected.pairs == 19 * 2
    assert 0 < expected.accepted == (np.diff(expected.rungs.astype(int), axis=0) != 0).sum() // 2 < 38
    for devices in ["cpu:1", "cpu:3", "checked:2"]:
        for seed in (1, 9):
            assert exchanged(devices, seed=seed) == expected
    assert exchanged(exchange_seed=4) != expected
    assert exchanged(exchange_every=None).rungs.shape == (0, 5)


def test_temperatures() -> None:
    begin = crystal()
    for given, replicas, expected in (
        (2, 1, [2]),
        (0.5, 2, [0.5, 0.5]),
        ([3, 1, 2], 3, [3, 1, 2]),
        ((1, 4), 2, [1, 4]),
        ((1, 4), 3, [1, 2, 4]),
    ):
        result = lw.md(begin, 0, temperatures=given, replicas=replicas, devices="cpu:1")
        assert result.temperatures == pytest.approx(expected)
        assert result.temperature[:, 0] == pytest.approx(expected)


def test_the_command_with_exchanges(laneway: Run, state: Path, tmp_path: Path) -> None:
    words = ["md", state, "--steps", 40, "--replicas", 4, "--temperatures", "0.9:1.1", "--exchange-every", 10]
    outputs = []
    for seed, devices in ((5, "cpu:1"), (5, "cpu:2"), (6, "cpu:2")):
        done = laneway(*words, "--seed", seed, "--devices", devices, "--output", "f.npz", "--json", "r.json")
        assert (done.returncode, done.stderr) == (0, "")
        assert "of 5 pairs accepted" in done.stdout
        with np.load(tmp_path / "work" / "f.npz") as file:
            outputs.append({name: file[name].tolist() for name in file.files})
    report = json.loads((tmp_path / "work" / "r.json").read_text())
    assert report["temperatures"] == pytest.approx(0.9 * (1.1 / 0.9) ** (np.arange(4) / 3))
    assert report["exchange_every"] == 10
    assert outputs[0] == outputs[1]
    assert len(outputs[2]["rungs"]) == 4


def test_a_short_summary(laneway: Run, state: Path, tmp_path: Path) -> None:
    done = laneway("md", state, "--steps", 20, "--devices", "cpu:2")
    assert (done.returncode, done.stderr) == (0, "")
    titles = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert titles[0] == f"md {state} for 20 steps"
    assert titles[1:8] == ["devices", "atoms", "steps", "temperature", "energy", "energy drift", "neighbour lists"]
    assert names(tmp_path / "work") == []


LOG_TEXT = """Step Temp TotEng
0 1 2
WARNING: slow
10 2 3
Loop time of 0.5 on 1 procs for 10 steps with 2 atoms
   Step TotEng Temp
0 5 4
10 7 6
"""


def test_logs(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(LOG_TEXT)
    table = read_thermo(file)
    assert table.steps.tolist() == [0, 10]
    assert {name: values.tolist() for name, values in table.columns.items()} == {"Temp": [4, 6], "TotEng": [5, 7]}
    assert table.seconds == 0, "of the last run, which goes on"
    file.write_text(LOG_TEXT[: LOG_TEXT.index("   Step")])
    assert read_thermo(file).seconds == 0.5
    file.write_text("Step Temp\n0 4\n10 5\n20 12")  # of 12.5, perhaps
    assert read_thermo(file).columns["Temp"].tolist() == [4, 5]
    for text, words in (
        ("", "has no table of energies"),
        ("Step Temp\n", "has no table of energies"),
        ("Step Temp\n0 1 2\n", ":2: the table has 2 columns, this row has 3"),
        ("Step Temp\n0 x\n", ":2: a row has other things than numbers"),
    ):
        file.write_text(text)
        with pytest.raises(lw.UsageError, match=words):
            read_thermo(file)


def test_logs_of_other_runs() -> None:
    result = lw.md(crystal(step=5), 5, devices="cpu:1")
    with pytest.raises(lw.UsageError, match="the log has none of the steps 5 to 10 at which energies are known"):
        reference.verify(result, ThermoTable(np.array([6, 9]), {"Temp": np.zeros(2)}, 0))
    with pytest.raises(lw.UsageError, match="the log has none of the columns Temp, "):
        reference.verify(result, ThermoTable(np.array([5, 10]), {}, 0))


ATOMS = crystal()
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"atoms": "state.dump"}, "atoms must be what read_atoms gives, or a list of that, not str"),
    ({"atoms": []}, "there are no universes"),
    ({"atoms": [ATOMS, 5]}, "atoms must be what read_atoms gives"),
    ({"atoms": [ATOMS, ATOMS], "replicas": 2}, "replicas = 2 are made of one universe, not of 2"),
    ({"atoms": [ATOMS, crystal(side=5, spacing=1.3)]}, "universe 2 has 125 atoms, universe 1 has 216"),
    ({"atoms": dataclasses.replace(ATOMS, positions=ATOMS.positions[:-1])}, r"positions must be numbers of the shape"),
    ({"atoms": dataclasses.replace(ATOMS, velocities=ATOMS.velocities * np.nan)}, "velocity of atom 1 along x is not"),
    ({"atoms": dataclasses.replace(ATOMS, box=ATOMS.box / 2)}, "the box is 3.6 long along x, not"),
    ({"atoms": [ATOMS, dataclasses.replace(ATOMS, box=ATOMS.box / 2)]}, "universe 2: the box is 3.6 long"),
    ({"steps": -1}, "steps must be a whole number from 0 to"),
    ({"steps": 2.5}, "steps must be a whole number"),
    ({"steps": None}, "steps must be a whole number"),
    ({"dt": 0}, "dt is 0, not finite and above 0"),
    ({"dt": "x"}, "dt must be a number, not 'x'"),
    ({"cutoff": float("nan")}, "cutoff is nan"),
    ({"cutoff": 9}, r"the box is 7.2 long along x, not finite and at least 2 \(cutoff \+ skin\) = 18.6"),
    ({"skin": -1}, "skin is -1, not finite and 0 or more"),
    ({"list_rule": "often"}, "list rule 'often' is none of moved, steps"),
    ({"rebuild_every": 0}, "rebuild_every must be a whole number from 1"),
    ({"thermo": 0}, "thermo must be a whole number from 1"),
    ({"replicas": 0}, "replicas must be a whole number from 1"),
    ({"temperatures": "warm"}, "temperatures must be a number, two, or one for each of 1 universes, not 'warm'"),
    ({"temperatures": 0}, "temperatures must be finite and above 0"),
    ({"temperatures": [1, 2, 3], "replicas": 2}, "one for each of 2 universes, not 3"),
    ({"exchange_every": 0}, "exchange_every must be a whole number from 1"),
    ({"exchange_every": 5}, "universes that exchange their temperatures need some"),
    ({"exchange_every": 5, "temperatures": 1}, "replica exchange needs two temperatures or more, not 1"),
    ({"exchange_every": 5, "temperatures": 1, "replicas": 2}, "is not above the one before"),
    ({"exchange_seed": -1}, "exchange_seed must be a whole number"),
    ({"devices": "tpu"}, "tpu"),
    ({"buffer_bytes": 1000}, "buffer_bytes = 1000 is too little"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), WRONG, ids=[f"{next(iter(each))}-{i}" for i, (each, _) in enumerate(WRONG)]
)
def test_wrong_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.UsageError, match=words) as refused:
        lw.md(**{"atoms": ATOMS, "steps": 3, "devices": "cpu:1", **arguments})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--steps", "-1"], "steps must be"),
        (["--dt", "nan"], "dt is nan"),
        (["--cutoff", "20"], "at least 2 (cutoff + skin) = 40.6"),
        (["--list-rule", "often"], "'often' is none of moved, steps"),
        (["--thermo", "0"], "thermo must be"),
        (["--replicas", "0"], "replicas must be"),
        (["--temperatures", "warm"], "--temperatures must be LOW:HIGH, such as 0.7:1.4, or one number, not warm"),
        (["--temperatures", "1:2:3", "--replicas", "3"], "not 1:2:3"),
        (["--temperatures", "2:1", "--replicas", "3"], "rise from LOW to HIGH, not 2:1"),
        (["--temperatures", "0:1", "--replicas", "3"], "must be above 0"),
        (["--temperatures", "1:2"], "--temperatures LOW:HIGH needs --replicas 2 or more"),
        (["--exchange-every", "5"], "need some"),
        (["--energies", "e.txt"], "e.txt: the name of --energies must end in .csv"),
        (["--energies", "nix/e.csv"], "nix/e.csv: cannot be written: no such file or directory"),
        (["--energies", "same.csv", "--json", "same.csv"], "same.csv: cannot be written"),
        (["--energies", "link.csv"], "link.csv: cannot be written: it is another file of this command"),
        (["--output", "e.csv"], "the result's name must end in .npz"),
        (["--verify", "nix.log"], "nix.log: no such file or directory"),
        (["--verify", ""], "--verify: the name is empty"),
        (["--verify", "empty.log"], "empty.log: has no table of energies"),
        (["--verify", "empty.log", "--temperatures", "1"], "--verify and --temperatures exclude each other"),
    ],
)
def test_wrong_options(laneway: Run, state: Path, tmp_path: Path, options: list[str], words: str) -> None:
    work = tmp_path / "work"
    (work / "empty.log").touch()
    (work / "link.csv").symlink_to(state)
    before = state.read_bytes()
    done = laneway("md", state, *(["--steps", 5] if options[0] != "--steps" else []), "--devices", "cpu:1", *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("laneway: ") and words in done.stderr
    assert names(work) == ["empty.log", "link.csv"]
    assert state.read_bytes() == before


def test_broken_states(laneway: Run, tmp_path: Path, state: Path) -> None:
    file = tmp_path / "work" / "s.dump"
    for text, words in (
        ("", "s.dump: is empty"),
        (state.read_text()[:3000], "the file ends within this line"),
        (state.read_text().replace(" vz", ""), "columns vz are missing"),
    ):
        file.write_text(text)
        done = laneway("md", file, "--steps", 5, "--devices", "cpu:1")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr


def test_failed_runs(laneway: Run, tmp_path: Path) -> None:
    fast = crystal()
    fast.velocities[7] = 1e6
    with pytest.raises(lw.DeviceFault, match=r"^universe 2: step [0-9]+: an atom moved further than the box"):
        lw.md([crystal(), fast], 10, devices="cpu:2")
    lw.write_atoms(fast, tmp_path / "fast.dump")
    done = laneway("md", tmp_path / "fast.dump", "--steps", 10, "--energies", "e.csv", "--devices", "cpu:1")
    assert (done.returncode, done.stderr.count("\n"), names(tmp_path / "work")) == (1, 1, [])
    with pytest.raises(lw.TimeoutError, match=r"^deadline passed: step 655360 of [0-9]+ was not reached by all"):
        lw.md(crystal(), 2**50, timeout=2, devices="cpu:2")


def test_setting_up_counts_for_the_deadline() -> None:
    few = lw.Atoms(0, np.array([[0.0, 6]] * 3), np.arange(1, 4), np.diag([1.0, 2, 3]), np.eye(3))
    with pytest.raises(lw.TimeoutError, match=r"^deadline passed: 262144 universes were not set up within 0.02 s"):
        lw.md(few, 1, replicas=2**18, timeout=0.02, devices="cpu:2")

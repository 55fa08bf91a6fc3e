"""Parameter sweeps: values at all points, what the command writes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import Run
from laneway.programs import sweep as program


def test_values_are_those_of_all_combinations() -> None:
    a, t = np.array([0.1, 0.5, 2.0]), np.linspace(-1, 3, 41)
    found = lw.sweep("exp(-a * t) + w * pow(t, 2)", a=a, w=-1.5, t=t, devices="cpu:2")
    expected = np.exp(-a[:, None, None] * t) - 1.5 * t**2
    assert found.values.shape == (3, 1, 41)
    assert np.allclose(found.values, expected, rtol=1e-14)
    assert list(found.axes) == ["a", "w", "t"]
    assert np.array_equal(found.axes["t"], t)


def test_statements_and_formulas_without_parameters() -> None:
    collatz = "int steps = 0; for (long m = n; m > 1; ++steps) m = m % 2 ? 3 * m + 1 : m / 2; return steps;"
    assert lw.sweep(collatz, n=[1, 2, 7, 27], devices="cpu:1").values.tolist() == [0, 1, 16, 111]
    assert lw.sweep("2 + 3", devices="cpu:1").values == 5


def test_sweeps_of_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "CHUNK", 1000)
    x = np.arange(70.0)
    found = lw.sweep("100 * x + y", x=x, y=x, devices="cpu:2")
    assert np.array_equal(found.values, 100 * x[:, None] + x)


@pytest.mark.parametrize(
    ("formula", "parameters", "words"),
    [
        ("", {"x": 1}, "not empty"),
        ("x +", {"x": 1}, "does not compile"),
        ("x + y", {"x": 1}, "y"),
        ("x", {"x": []}, "x: expected a value or a list"),
        ("x", {"x": [[1, 2]]}, "x: expected a value or a list"),
        ("x", {"x": "many"}, "x: expected numbers"),
        ("1", {"formula_": [0]}, None),
        ("1", {"class": [0]}, "cannot be called"),
        ("1", {"": [0]}, "cannot be called ''"),
        ("1", {"1x": [0]}, "cannot be called '1x'"),
        ("x + y + z", {"x": range(4000), "y": range(4000), "z": range(4000)}, "points at most"),
    ],
)
def test_wrong_sweeps(formula: str, parameters: dict[str, object], words: str | None) -> None:
    if words is None:
        assert lw.sweep(formula, devices="cpu:1", **parameters).values == 1  # type: ignore[arg-type]
        return
    with pytest.raises(lw.UsageError, match=words):
        lw.sweep(formula, devices="cpu:1", **parameters)  # type: ignore[arg-type]


def test_a_formula_that_throws_names_the_point() -> None:
    with pytest.raises(lw.TaskError, match="element 7"):
        lw.sweep('if (x == 7) throw std::domain_error("seven"); return x;', x=range(20), devices="cpu:2")


def test_the_command_writes_and_draws(laneway: Run, tmp_path: Path) -> None:
    options = ["--over", "a=0:2:21", "--over", "t=1,4,9", "--devices", "cpu:2", "--output", "s.npz", "--plot", "s.svg"]
    done = laneway("sweep", "a * sqrt(t)", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["points   63", "least    0 at a = 0, t = 1", "greatest 6 at a = 2, t = 9"]
    with np.load(tmp_path / "work" / "s.npz") as written:
        assert np.allclose(written["values"], np.linspace(0, 2, 21)[:, None] * [1, 2, 3])
        assert str(written["formula"]) == "a * sqrt(t)"
    assert "a * sqrt(t)" in (tmp_path / "work" / "s.svg").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["x", "--over", "x"], "expected NAME=FIRST:LAST:COUNT"),
        (["x", "--over", "x=1:2"], "expected NAME=FIRST:LAST:COUNT"),
        (["x", "--over", "x=1:2:0"], "--over x=1:2:0: COUNT must be from 1 to 4294967296, not 0"),
        (["x", "--over", "x=1:2:99999999999"], "COUNT must be from 1 to 4294967296, not 99999999999"),
        (["x", "--over", "x=0:inf:3"], "--over x=0:inf:3: FIRST and LAST must be finite"),
        (["x", "--over", "x=-1e308:1e308:3"], "FIRST and LAST must be finite, and their difference too"),
        (["1", "--over", "=1"], "a parameter cannot be called ''"),
        (["1", "--over", "a b=1"], "a parameter cannot be called 'a b'"),
        (["1", "--over", "formula=1"], "a parameter cannot be called 'formula'"),
        (["1", "--over", "timeout=1"], "a parameter of this command cannot be called 'timeout'"),
        (["1", "--over", "values=1", "--output", "s.npz"], "a parameter of this command cannot be called 'values'"),
        (["1", "--over", "file=1", "--output", "s.npz"], "a parameter of this command cannot be called 'file'"),
        (["x", "--over", "x=1,two"], "expected NAME=FIRST:LAST:COUNT"),
        (["x", "--over", "x=1", "--over", "x=2"], "given twice"),
        (["x y", "--over", "x=1"], "does not compile"),
        (["x", "--over", "x=1,2", "--output", "s.txt"], "must end in .npz"),
        (["x", "--over", "x=1", "--plot", "s.png"], "draws one or two parameters"),
        (["x", "--over", "x=1", "--devices", "cpu:x"], "cpu:x"),
    ],
)
def test_wrong_use_of_the_command(laneway: Run, tmp_path: Path, options: list[str], words: str) -> None:
    done = laneway("sweep", *(["--devices", "cpu:1"] if "--devices" not in options else []), *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list((tmp_path / "work").iterdir()), "nothing is left behind"

"""The walk-through is carried out cell by cell as in a notebook, and shows what it says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from test_pages import matches

PAGE = ROOT / "docs" / "guides" / "walkthrough.md"
RECORD = ROOT / "bench" / "results" / "2026-11-23-cpu-lyapunov.npz"
CELL = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def shown(code: str, names: dict[str, Any]) -> str:
    """What a notebook shows of a cell: what it prints, and the value of an expression at its end."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, str(PAGE), "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
    return printed.getvalue() + ("" if value is None else f"{value!r}\n")


def installs(command: str) -> None:
    """Looked at without compiling: test_wheel.py has the package built and installed."""
    assert command == "pip install .\n"
    words = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--no-build-isolation", "--quiet", "."]
    pytest.importorskip("scikit_build_core")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "walkthrough"}
    cells = CELL.findall(PAGE.read_text())
    assert len(cells) * 2 == PAGE.read_text().count("\n```") - 2 * sum(bool(output) for *_, output in cells)
    for language, code, output in cells:
        assert language in ("sh", "python")
        if language == "sh":
            installs(code)
        else:
            found = shown(code, names)
            assert matches(found, output), f"{code}\nshows\n{found}\nand not\n{output}"
    assert (tmp_path / "lyapunov.png").read_bytes().startswith(b"\x89PNG")
    with np.load(RECORD) as recorded:
        assert str(recorded["formula"]) == names["steps"]
        near = np.isclose(recorded["values"], names["found"].values, rtol=1e-5, atol=1e-5)
        assert near.mean() > 0.5, "where it is chaotic another mathematical library may have other digits"


def test_the_picture_is_that_of_the_record(tmp_path: Path) -> None:
    picture = tmp_path / "again.png"
    script = ROOT / "bench" / "plot_walkthrough.py"
    subprocess.run([sys.executable, script, RECORD, picture], check=True, timeout=120)
    kept = (ROOT / "docs" / "images" / "lyapunov.png").read_bytes()
    assert picture.read_bytes()[16:24] == kept[16:24], "width and height"
    assert len(picture.read_bytes()) == pytest.approx(len(kept), rel=0.3)

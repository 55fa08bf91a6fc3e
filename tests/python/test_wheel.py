"""A wheel of this build, installed where there is no compiler."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import laneway as lw
import pytest
from conftest import ROOT, SMALL_DISTANCES, alone

TREE = ROOT / "build" / "tree"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel; its other packages are those of this one."""
    if not (TREE / "CMakeInit.txt").exists():
        pytest.skip(f"{TREE} was not made by `make test`")
    folder = tmp_path_factory.mktemp("wheel")
    tool = ROOT / "tools" / "make_wheel.py"
    with alone("the build tree"):
        made = subprocess.run([sys.executable, tool, "--output", folder], capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, made.stdout + made.stderr
    wheel = Path(made.stdout.splitlines()[-1])
    assert wheel.parent == folder
    fresh = folder / "fresh"
    venv.create(fresh, with_pip=False, symlinks=True)
    python = fresh / "bin" / "python"
    pip = [sys.executable, "-m", "pip", f"--python={python}", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--quiet", "--disable-pip-version-check", str(wheel)], check=True, timeout=120)
    site = next((fresh / "lib").glob("python*/site-packages"))
    outer = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "outer.pth").write_text("\n".join(outer) + "\n")
    return fresh


def run(fresh: Path, *words: object) -> str:
    """What a program of the fresh environment prints; nothing else is on its path."""
    environment = {**os.environ, "PATH": str(fresh / "bin"), "PYTHONPATH": ""}
    command = [str(fresh / "bin" / str(words[0])), *(str(word) for word in words[1:])]
    done = subprocess.run(command, env=environment, cwd=fresh, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_works(installed: Path, small: Path) -> None:
    assert run(installed, "laneway", "--version").strip().endswith(lw.__version__)
    told = run(installed, "laneway", "sssp", small, "--source", 1, "--devices", "cpu:2", "--verify")
    assert "reached           4" in told
    assert "verified          yes" in told


def test_the_module_is_that_of_the_wheel(installed: Path, small: Path) -> None:
    program = (
        "import laneway as lw\n"
        "print(lw.__file__)\n"
        f"print(lw.sssp(lw.read_graph({str(small)!r}), 1, devices='cpu:2').distance.tolist())\n"
    )
    file, distances = run(installed, "python", "-c", program).splitlines()
    assert Path(file).is_relative_to(installed)
    assert distances == str(SMALL_DISTANCES)


def test_it_fits_many_linuxes(installed: Path) -> None:
    if importlib.util.find_spec("auditwheel") is None:
        pytest.skip("auditwheel is not installed")
    assert "manylinux" in next(installed.parent.glob("laneway-*.whl")).name
    assert list(installed.rglob("laneway.libs/liblzma*")), "libraries that not every Linux has are in it"


def test_only_python_sees_names_of_the_module(installed: Path) -> None:
    """Else a C++ library in it meets another version's in one process, and either crashes."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    module = next(installed.rglob("_core*.so"))
    told = subprocess.run([nm, "-D", "--defined-only", module], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in told.splitlines()] == ["PyInit__core"]


def test_gpu_code_is_in_it_where_this_build_has_some(installed: Path) -> None:
    module = next(installed.rglob("_core*.so"))
    has_cuda = not any("no CUDA support" in device.reason for device in lw.devices())
    assert (b".nv_fatbin" in module.read_bytes()) == has_cuda

"""Makes a wheel of the Python package from a build tree, and lets auditwheel repair it where that is installed.

The wheel needs no compiler where it is installed, and has GPU code where the tree was built with CUDA. Libraries that
not every Linux has, as liblzma, are copied into it by auditwheel, which also gives it its manylinux name.
Usage: make_wheel.py [--tree TREE] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = r"^(LANEWAY_(?:CUDA|DEPS|TESTS|STYLES|WERROR)|CMAKE_(?:CXX|CUDA)_COMPILER_LAUNCHER|Python_INCLUDE_DIR):\w+=(.+)$"
"""What the tree was configured with: another choice would build it anew."""
OF_OTHERS = ("libcuda.so.1", "libnccl.so.2")
"""Libraries that stay outside: they belong to the machine's driver or are large, and are found there."""


def make(tree: Path, folder: Path) -> Path:
    """The wheel of a build tree, as the compiler made it."""
    cache = tree / "CMakeCache.txt"
    if not cache.exists():
        sys.exit(f"{tree} is no build tree: `make demo` makes one")
    kept = re.findall(KEPT, cache.read_text(), re.MULTILINE)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", f"-Cbuild-dir={tree}", "-Cbuild.targets=python_package", f"--wheel-dir={folder}"]
    pip += [f"-Ccmake.define.{name}={value}" for name, value in kept]
    environment = {**os.environ, "CMAKE_GENERATOR": "Ninja"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    subprocess.run([*pip, str(ROOT)], check=True, env=environment)
    return next(folder.glob("laneway-*.whl"))


def repair(wheel: Path, output: Path) -> Path:
    """The wheel in `output`: repaired where auditwheel is installed, else as it is."""
    output.mkdir(parents=True, exist_ok=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    auditwheel = shutil.which("auditwheel", path=path)
    if auditwheel is None:
        print("auditwheel is not installed: the wheel is for this kind of Linux only", file=sys.stderr)
        return Path(shutil.copy2(wheel, output))
    with tempfile.TemporaryDirectory() as scratch:
        excluded = [word for library in OF_OTHERS for word in ("--exclude", library)]
        command = [auditwheel, "repair", *excluded, "-w", scratch, str(wheel)]
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"auditwheel failed: {(done.stderr or done.stdout).strip()}")
        return Path(shutil.copy2(next(Path(scratch).glob("*.whl")), output))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT / "build" / "tree")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(repair(make(arguments.tree.resolve(), Path(scratch)), arguments.output))


if __name__ == "__main__":
    main()

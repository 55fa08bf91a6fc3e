"""Runs the checks, the C++ tests and the Python tests of a finished build, and sums them up in one line.

GPU tests run where a GPU is visible. A check whose tool is not installed counts as skipped and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from machine import cores, gpu_answers

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
TREE = ROOT / "build" / "tree"


@dataclass
class Count:
    """Outcomes so far."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def sources(*endings: str) -> list[str]:
    folders = ("include", "src", "apps", "study", "styles", "examples", "tests", "bench", "python/src")
    return sorted(str(file) for folder in folders for end in endings for file in (ROOT / folder).rglob(f"*{end}"))


def checks() -> dict[str, list[str]]:
    """Name and command of each check of the sources."""
    return {
        "layers": [sys.executable, "tools/check_layers.py"],
        "ruff": ["ruff", "check", "python", "examples", "tests", "tools"],
        "ruff format": ["ruff", "format", "--check", "python", "examples", "tests", "tools"],
        "mypy": ["mypy", "--no-error-summary"],
        "codespell": ["codespell"],
        "clang-format": ["clang-format", "--dry-run", "-Werror", *sources(".hpp", ".cpp", ".cuh", ".cu")],
    }


def run_checks() -> Count:
    count = Count()
    for name, command in checks().items():
        tool = command[0] if command[0] == sys.executable else shutil.which(command[0], path=str(BIN))
        if tool is None:
            print(f"{name}: skipped, {command[0]} is not installed in .venv")
            count.skipped += 1
            continue
        start = time.monotonic()
        done = subprocess.run([tool, *command[1:]], cwd=ROOT)
        print(f"{name}: {'FAILED' if done.returncode else 'passed'} ({time.monotonic() - start:.1f} s)", flush=True)
        count += Count(failed=1) if done.returncode else Count(passed=1)
    return count


def ctest_of(tree: Path) -> str:
    """The ctest that came with the CMake that made the build tree."""
    for line in (tree / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("CMAKE_CTEST_COMMAND:"):
            return line.split("=", 1)[1]
    return "ctest"


def run_suite(name: str, command: list[str], report: Path) -> Count:
    """One test runner, counted from the JUnit file it writes; one that writes none has failed."""
    report.unlink(missing_ok=True)
    path = f"{BIN}:{os.environ['PATH']}"
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path})
    count = Count()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key) or 0) for key in ("tests", "failures", "errors", "skipped")}
            failed, skipped = number["failures"] + number["errors"], number["skipped"]
            count += Count(number["tests"] - failed - skipped, failed, skipped)
    if done.returncode and not count.failed:
        count.failed += 1
    print(f"{name}: {count}", flush=True)
    return count


def main() -> int:
    start = time.monotonic()
    count = run_checks()
    ctest, pytest = TREE / "ctest.xml", TREE / "pytest.xml"
    command = [ctest_of(TREE), "--test-dir", str(TREE), "--output-on-failure", "-j", str(cores())]
    command += ["--output-junit", str(ctest)]
    if sys.stdout.isatty():
        command.append("--progress")
    if not gpu_answers():
        print("no GPU is visible: tests that need one are left out")
        command += ["-LE", "cuda"]
    count += run_suite("C++ tests", command, ctest)
    count += run_suite("Python tests", [sys.executable, "-m", "pytest", f"--junitxml={pytest}"], pytest)
    print(f"{count} in {time.monotonic() - start:.0f} s")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())

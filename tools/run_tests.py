"""Runs the checks, the C++ tests and the Python tests of a finished build, and sums them up in one line.

GPU tests run where a GPU is visible. A check whose tool is not installed counts as skipped and says so. Python tests
run in several processes where pytest-xdist is installed, beside the C++ tests; but with GPUs and few cores after them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from machine import cores, gpu_answers

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
TREE = ROOT / "build" / "tree"

MAX_WORKERS = 8
"""Processes of Python tests: more would wait for the longest tests."""
CORES_FOR_BOTH = 16
"""So many, and C++ and Python tests run at the same time where there are GPUs as well."""


@dataclass
class Count:
    """Outcomes so far, and the names of what failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

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
        "documents": ["mkdocs", "build", "--strict"],
    }


def run_check(name: str, command: list[str]) -> tuple[str, Count]:
    """One check of the sources: what it has to say, and its outcome."""
    tool = command[0] if command[0] == sys.executable else shutil.which(command[0], path=str(BIN))
    if tool is None:
        return f"{name}: skipped, {command[0]} is not installed in .venv", Count(skipped=1)
    start = time.monotonic()
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [tool, *command[1:]], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    outcome = "FAILED" if done.returncode else "passed"
    text = f"{done.stdout}{name}: {outcome} ({time.monotonic() - start:.1f} s)"
    return text, Count(failed=1, failures=(name,)) if done.returncode else Count(passed=1)


def run_checks() -> Count:
    """All of them, as many at once as there are cores."""
    count = Count()
    with ThreadPoolExecutor(cores()) as pool:
        for text, one in pool.map(lambda check: run_check(*check), checks().items()):
            print(text, flush=True)
            count += one
    return count


def ctest_of(tree: Path) -> str:
    """The ctest that came with the CMake that made the build tree."""
    for line in (tree / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("CMAKE_CTEST_COMMAND:"):
            return line.split("=", 1)[1]
    return "ctest"


def is_failure(case: ElementTree.Element) -> bool:
    """Whether this test of a JUnit file failed or could not run."""
    return case.find("failure") is not None or case.find("error") is not None


def case_name(case: ElementTree.Element) -> str:
    """The test's name, with its file's where the runner tells it: ctest repeats the name there."""
    group, name = case.get("classname") or "", case.get("name") or ""
    return name if group in ("", name) else f"{group}: {name}"


class Suite:
    """One test runner, at work from the beginning; its outcomes are counted from the JUnit file that it writes."""

    def __init__(self, name: str, command: list[str], report: Path, output: Path | None = None) -> None:
        """`output` takes what it prints, for later."""
        report.unlink(missing_ok=True)
        self._name, self._report, self._output = name, report, output
        environment = {
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPYCACHEPREFIX": str(TREE / "pycache"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of interpreters start, and load the same packages
        with ExitStack() as stack:
            stream = None if output is None else stack.enter_context(output.open("w"))
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=stream, stderr=None if stream is None else subprocess.STDOUT
            )

    def finish(self) -> Count:
        """Waits for its end; one that writes no report has failed."""
        code = self._process.wait()
        if self._output is not None:
            print(self._output.read_text(), end="")
        count = Count()
        if self._report.exists():
            for suite in ElementTree.parse(self._report).getroot().iter("testsuite"):
                number = {key: int(suite.get(key) or 0) for key in ("tests", "failures", "errors", "skipped")}
                failed, skipped = number["failures"] + number["errors"], number["skipped"]
                failures = tuple(case_name(case) for case in suite.iter("testcase") if is_failure(case))
                count += Count(number["tests"] - failed - skipped, failed, skipped, failures)
        if code and not count.failed:
            count += Count(failed=1, failures=(f"{self._name} ended with exit status {code}",))
        print(f"{self._name}: {count}", flush=True)
        return count


def ctest_command(report: Path, jobs: int, gpus: bool) -> list[str]:
    """The C++ tests, so many at once."""
    command = [ctest_of(TREE), "--test-dir", str(TREE), "--output-on-failure", "-j", str(jobs)]
    command += ["--output-junit", str(report)]
    if sys.stdout.isatty():
        command.append("--progress")
    return command if gpus else [*command, "-LE", "cuda"]


def pytest_command(report: Path, workers: int) -> list[str]:
    """The Python tests; a worker that is through takes tests from those that are not."""
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}"]
    return [*command, "-n", str(workers), "--dist", "worksteal"] if workers > 1 else command


def are_together(gpus: bool) -> bool:
    """Whether C++ and Python tests run at the same time: not where GPU tests, with host threads for each device, take
    all cores."""
    return not gpus or cores() >= CORES_FOR_BOTH


def processes(gpus: bool) -> tuple[int, int]:
    """C++ tests at once, and processes of Python tests. Without GPUs more than there are cores, as many tests wait for
    a deadline or another process."""
    many = cores() + cores() // 2
    workers = min(many if gpus else cores(), MAX_WORKERS)
    if importlib.util.find_spec("xdist") is None:
        print("pytest-xdist is not installed in .venv: Python tests run one after another")
        workers = 1
    if not gpus:
        return many, workers
    return cores() - workers if are_together(gpus) else cores(), workers


def run_suites(gpus: bool) -> Count:
    """C++ and Python tests, which have runners of their own."""
    ctest, pytest = TREE / "ctest.xml", TREE / "pytest.xml"
    jobs, workers = processes(gpus)
    if are_together(gpus):
        python = Suite("Python tests", pytest_command(pytest, workers), pytest, TREE / "pytest.log")
        return Suite("C++ tests", ctest_command(ctest, jobs, gpus), ctest).finish() + python.finish()
    count = Suite("C++ tests", ctest_command(ctest, jobs, gpus), ctest).finish()
    return count + Suite("Python tests", pytest_command(pytest, workers), pytest).finish()


def main() -> int:
    start = time.monotonic()
    count = run_checks()
    gpus = gpu_answers()
    if not gpus:
        print("no GPU is visible: tests that need one are left out", flush=True)
    count += run_suites(gpus)
    for name in count.failures:  # once more, last: their messages may be thousands of lines above
        print(f"FAILED {name}")
    print(f"{count} in {time.monotonic() - start:.0f} s")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""What sets the project up: how many jobs, which GPU code, how far a build is, and what is told of one that fails."""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
bootstrap = importlib.import_module("bootstrap")
machine = importlib.import_module("machine")
run_tests = importlib.import_module("run_tests")
steps = importlib.import_module("steps")

GIGABYTE = 10**9


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_jobs_fit_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 64)
    assert machine.jobs(free=15 * GIGABYTE) == 10
    assert machine.jobs(free=0) == 1
    assert machine.jobs(free=1000 * GIGABYTE) == 64
    assert machine.jobs("3", free=0) == 3
    for wrong in ("0", "-1", "many", "2.5"):
        with pytest.raises(ValueError, match=f"above 0, not {wrong}"):
            machine.jobs(wrong)


def test_memory_of_a_container_counts(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    assert machine.free_memory(tmp_path) == 8000000 * 1024
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.current").write_text("1000000000\n")
    for limit, free in (("max", 8000000 * 1024), ("3000000000", 2000000000), ("500000000", 0)):
        (group / "memory.max").write_text(limit + "\n")
        assert machine.free_memory(tmp_path) == free


@pytest.mark.parametrize(
    ("cuda", "answers", "tests", "setting"),
    [
        ("", False, False, "OFF"),
        ("", False, True, "CHECK"),
        ("", True, False, "AUTO"),
        ("", True, True, "AUTO"),
        ("0", True, True, "OFF"),
        ("1", False, False, "ON"),
    ],
)
def test_gpu_code_is_built_where_it_can_run(
    monkeypatch: pytest.MonkeyPatch, cuda: str, answers: bool, tests: bool, setting: str
) -> None:
    monkeypatch.setattr(bootstrap, "gpu_answers", lambda: answers)
    assert bootstrap.gpu_code(bootstrap.wishes_of(tests, cuda, "")) == setting


@pytest.mark.parametrize("variables", [("yes", ""), ("2", ""), ("", "0"), ("", "x")])
def test_wrong_variables(variables: tuple[str, str]) -> None:
    with pytest.raises(bootstrap.SetupError, match="must be"):
        bootstrap.wishes_of(False, *variables)


def test_a_demo_asks_for_nothing_that_it_does_not_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bootstrap, "TREE", tmp_path)
    monkeypatch.delenv("CI", raising=False)
    demo = bootstrap.definitions(bootstrap.wishes_of(False, "0", ""))
    assert {demo[f"LANEWAY_{part}"] for part in ("TESTS", "STYLES", "CUDA", "WERROR", "CHECKED_PROGRAMS")} == {"OFF"}
    wheel = bootstrap.definitions(bootstrap.wishes_of(False, "0", "", whole=True))
    assert (wheel["LANEWAY_TESTS"], wheel["LANEWAY_CHECKED_PROGRAMS"]) == ("OFF", "ON")
    (tmp_path / "CMakeCache.txt").write_text("LANEWAY_CHECKED_PROGRAMS:STRING=ON\n")
    assert bootstrap.definitions(bootstrap.wishes_of(False, "0", ""))["LANEWAY_CHECKED_PROGRAMS"] == "ON"
    (tmp_path / "CMakeCache.txt").write_text("A:BOOL=ON\nLANEWAY_TESTS:STRING=ON\n")
    kept = bootstrap.definitions(bootstrap.wishes_of(False, "0", ""))
    assert kept["LANEWAY_TESTS"] == kept["LANEWAY_STYLES"] == "ON", "else each command would undo the other's build"
    monkeypatch.setenv("CI", "1")
    assert bootstrap.definitions(bootstrap.wishes_of(True, "0", ""))["LANEWAY_WERROR"] == "ON"


def test_packages_are_those_of_the_project() -> None:
    def names(groups: tuple[str, ...]) -> set[str]:
        return {re.split("[<>=]", requirement)[0] for requirement in bootstrap.declared(groups)}

    assert {"numpy", "typer"} <= names(bootstrap.PACKAGES)
    assert {"numpy", "pytest", "ruff", "pymetis"} <= names(bootstrap.TEST_PACKAGES)
    assert {"numpy", "mkdocs-material", "mkdocstrings-python"} <= names(bootstrap.DOCS_PACKAGES)
    assert "mkdocs-material" not in names(bootstrap.TEST_PACKAGES)


OUTPUT = [
    "Building wheel\n",
    "  [1/3] Building CXX object CMakeFiles/laneway.dir/src/comm/ring_set.cpp.o\n",
    "  [2/3] Linking CXX static library liblaneway.a\n",
    "  a note of [9/9] no step\n",
    "  [3/3] Linking CXX shared module python/_core.so\n",
]


def test_steps_are_rewritten_on_a_terminal() -> None:
    out = Terminal()
    shown = steps.Steps(out, width=24)
    for line in OUTPUT:
        shown.see(line)
    shown.close()
    lines = out.getvalue().split("\r\x1b[K")
    assert lines == ["", "   [1/3] src/comm/ring_", "   [2/3] liblaneway.a", "   [3/3] python/_core.so"[:23], ""]


def test_steps_are_few_elsewhere() -> None:
    out = io.StringIO()
    shown = steps.Steps(out)
    for line in OUTPUT:
        shown.see(line)
    shown.close()
    assert out.getvalue() == "   [3/3]\n"


def test_a_build_that_fails_says_where(tmp_path: Path) -> None:
    out = io.StringIO()
    script = "echo '[1/9] cc a.o'; echo 'FAILED: b.o'; echo 'b.cpp:3: error: no' >&2; echo '[2/9] cc c.o'; exit 3"
    status, written = steps.run_with_steps(["sh", "-c", script], tmp_path, dict(os.environ), out)
    assert status == 3
    told = bootstrap.what_failed(written)
    assert told.startswith("FAILED: b.o\n")
    assert "b.cpp:3: error: no" in told
    assert "[1/9]" not in told


@pytest.mark.parametrize(
    ("gpus", "cores", "jobs", "workers"),
    [(False, 1, 1, 1), (False, 2, 3, 2), (False, 64, 96, 8), (True, 2, 2, 3), (True, 15, 15, 8), (True, 64, 56, 8)],
)
def test_tests_run_in_some_processes(
    monkeypatch: pytest.MonkeyPatch, gpus: bool, cores: int, jobs: int, workers: int
) -> None:
    monkeypatch.setattr(run_tests, "cores", lambda: cores)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert run_tests.processes(gpus) == (jobs, workers)


def test_python_tests_run_in_one_process_without_xdist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_tests.pytest_command(tmp_path, 2)[-4:] == ["-n", "2", "--dist", "worksteal"]
    assert "-n" not in run_tests.pytest_command(tmp_path, 1)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run_tests.processes(gpus=False)[1] == 1
    assert "pytest-xdist is not installed" in capsys.readouterr().out


@pytest.mark.parametrize(("gpus", "cores", "beside"), [(False, 2, True), (True, 16, True), (True, 15, False)])
def test_runners_are_at_work_together_unless_gpu_tests_take_all_cores(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    gpus: bool,
    cores: int,
    beside: bool,
) -> None:
    junit = (
        '<testsuite tests="3" failures="1" errors="0" skipped="1"><testcase classname="group" name="good"/>'
        '<testcase classname="group" name="bad"><failure/></testcase></testsuite>'
    )
    meet = {"ctest": "echo go > fifo; ", "pytest": "read word < fifo; "} if beside else {"ctest": "", "pytest": ""}

    def command(report: Path, *_: object) -> list[str]:
        name = report.stem
        return ["sh", "-c", f"cd {tmp_path}; {meet[name]}echo {name} prints; echo '{junit}' > {report}; exit 1"]

    os.mkfifo(tmp_path / "fifo")  # each end waits for the other
    monkeypatch.setattr(run_tests, "TREE", tmp_path)
    monkeypatch.setattr(run_tests, "cores", lambda: cores)
    for runner in ("ctest_command", "pytest_command"):
        monkeypatch.setattr(run_tests, runner, command)
    count = run_tests.run_suites(gpus)
    assert str(count) == "2 passed, 2 failed, 2 skipped"
    assert count.failures == ("group: bad", "group: bad")
    lines = capfd.readouterr().out.splitlines()
    counts = "1 passed, 1 failed, 1 skipped"
    assert [line for line in lines if "pytest-xdist" not in line] == [
        "ctest prints",
        f"C++ tests: {counts}",
        "pytest prints",
        f"Python tests: {counts}",
    ]


def test_every_folder_with_sources_has_its_layout_checked() -> None:
    checked = run_tests.sources(".hpp", ".cpp", ".cuh", ".cu")
    assert len(checked) == len(set(checked)), "each file once"
    folders = {Path(file).relative_to(ROOT).parts[0] for file in checked}
    wanted = {
        path.relative_to(ROOT).parts[0]
        for path in ROOT.glob("*/**/*.[ch]pp")
        if path.relative_to(ROOT).parts[0] not in ("build", "dist")
    }
    assert folders == {folder for folder in wanted if not folder.startswith(".")}

"""The styles side by side: what the command prints and writes, and how lines are counted."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import laneway as lw
import pytest
from conftest import ROOT, Run
from laneway import _core
from laneway.programs.styles import PROGRAMS, STYLES


def test_every_program_in_every_style(laneway: Run, tmp_path: Path) -> None:
    options = ["--log2-messages", 10, "--runs", 2, "--devices", "cpu:2", "--json", "s.json", "--plot", "s.svg"]
    done = laneway("study", "styles", *options)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "work" / "s.json").read_text())
    assert report["devices"] == ["cpu:0", "cpu:1"]
    assert [(run["program"], run["style"]) for run in report["runs"]] == [(p, s) for p in PROGRAMS for s in STYLES]
    for run in report["runs"]:
        assert len(run["seconds"]) == 2
        assert run["messages_per_second"] > 0
        assert 1024 < run["messages"] <= 2048, "two devices"
        assert 10 < run["lines"] < 100
    lines = done.stdout.splitlines()
    assert len(lines) == 2 + len(report["runs"])
    assert all(style in line for style, line in zip(STYLES, lines[2:]))
    assert "coprocessor" in (tmp_path / "work" / "s.svg").read_text()


def test_names_are_those_of_the_module() -> None:
    assert tuple(_core.style_names()) == STYLES


def test_a_build_without_styles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_core, "open_style_study")
    with pytest.raises(lw.UsageError, match="this build of laneway has no styles"):
        lw.compare_styles()


def test_one_program() -> None:
    runs = lw.compare_styles(["pagerank"], log2_messages=9, runs=1, devices="cpu:1")
    assert [run.style for run in runs] == list(STYLES)
    by_style = {run.style: run for run in runs}
    assert by_style["direct"].support == 0
    assert by_style["coprocessor"].support > by_style["coalesced"].support > by_style["laneway"].support


@pytest.mark.parametrize(
    "options",
    [
        ["--program", "sssp"],
        ["--log2-messages", "7"],
        ["--log2-messages", "31"],
        ["--runs", "0"],
        ["--devices", "checked:2"],
        ["--devices", "nowhere"],
        ["--timeout", "0"],
        ["--buffer-bytes", "1000"],
        ["--plot", "styles.txt"],
        ["--plot", "same.svg", "--json", "same.svg"],
        ["--json", "missing/s.json"],
    ],
)
def test_wrong_use(laneway: Run, tmp_path: Path, options: list[str]) -> None:
    done = laneway("study", "styles", *(["--devices", "cpu:1"] if "--devices" not in options else []), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert list((tmp_path / "work").iterdir()) == []


def test_lines_are_those_with_code(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("count_lines", ROOT / "tools" / "count_lines.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    source = tmp_path / "a.cpp"
    source.write_text("// why\n\nint a;  // so\n    // more\n  \nint b() {\n}\n")
    assert tool.count(source) == 3
    counts = tool.count_styles(ROOT / "styles")
    assert list(counts) == list(PROGRAMS)
    assert all(sorted(styles) == sorted(STYLES) for styles in counts.values())
    assert {file.name for file in tool.support(ROOT / "styles" / "gups" / "coprocessor.cpp")} == {
        "exchange.hpp",
        "exchange.cpp",
        "exchange.cu",
    }

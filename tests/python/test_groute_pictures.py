"""The pictures of docs/groute.md are those of the records, and show what its tables say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

SCRIPT, RECORDS = ROOT / "bench" / "plot_groute.py", ROOT / "bench" / "results"
PAGE = (ROOT / "docs" / "groute.md").read_text()


@pytest.fixture(scope="module")
def plot() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plot_groute", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(line_start: str, after: str) -> list[str]:
    """The cells of the first row that starts so, in a table behind some words of the page."""
    row = next(line for line in PAGE.split(after, 1)[1].splitlines() if line.startswith(line_start))
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def test_the_pictures_are_those_of_the_records(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, RECORDS, tmp_path], check=True, timeout=120)
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert sorted(drawn) == sorted(re.findall(r"images/(groute-\w+\.svg)", PAGE))
    for name, text in drawn.items():
        kept = (ROOT / "docs" / "images" / name).read_text()
        labels = [re.findall(r"<text[^>]*>([^<]*)</text>", picture) for picture in (text, kept)]
        assert labels[0] == labels[1] and len(labels[0]) > 5, name
        assert len(kept) < 50_000, name


def test_every_line_has_points_up_to_four_gpus_or_two(plot: ModuleType) -> None:
    for one in [*plot.SEARCH, *plot.PATHS, *plot.RANKS, *plot.COMPONENTS]:
        found = list(plot.times(RECORDS, one))
        whole = [1, 2, 4] if one.record in (plot.PROGRAMS_X4, plot.GRAPHS_X4) else [1, 2]
        assert found == ([1] if one.record == plot.EIGHT_THREADS else whole), one.label


def test_pictures_and_tables_say_the_same(plot: ModuleType) -> None:
    for series, rows, after in (
        (plot.SEARCH[0], "| grid, 24 M vertices | search", "## Figure 10"),
        (plot.SEARCH[2], "| Kronecker, 180 M arcs | search", "## Figure 10"),
        (plot.PATHS[2], "| | shortest paths", "## Figure 10"),
    ):
        in_table = [float(cell.removesuffix(" ms")) for cell in cells(rows, after)[2:5]]
        assert in_table == pytest.approx(list(plot.times(RECORDS, series).values()), rel=0.005)
    for one, row in ((plot.COMPONENTS[3], "| Afforest"), (plot.COMPONENTS[1], "| `--method router`")):
        in_table = [float(cell.removesuffix(" ms")) for cell in cells(row, "## Figure 12")[1:4]]
        assert in_table == pytest.approx(list(plot.times(RECORDS, one).values()), rel=0.02)
    to_host, to_gpu = plot.transfers(RECORDS).values()
    for rates, after in ((to_host, "**2b, 2c.**"), (to_gpu, "Between two H200")):
        for key, size in (("64 KiB |", 65536), ("1 MiB |", 1048576)):
            row = [float(cell) for cell in cells(f"  | {key}", after)[1:4]]
            assert row == pytest.approx([rates["whole", way, size] for way in plot.WAYS], rel=0.01)
        row = [float(cell) for cell in cells("  | 1 MiB, rows", after)[1:4]]
        assert row == pytest.approx([rates["rows", way, 1048576] for way in plot.WAYS], rel=0.01)

"""Results as pandas data frames."""

from __future__ import annotations

import builtins
from typing import Any

import laneway as lw
import numpy as np
import pytest
from test_results import ATOMS

pandas = pytest.importorskip("pandas")


@pytest.fixture
def town() -> lw.Graph:
    return lw.Graph.from_edges([("mill", "inn"), ("inn", "gate"), (("far", 1), "inn")], [2.5, 0.5, 1])


def test_a_search(town: lw.Graph) -> None:
    result = lw.sssp(town, "mill", devices="cpu:2")
    frame = result.to_pandas()
    assert list(frame.columns) == ["distance", "length", "predecessor"]
    assert frame.index.name == "vertex" and list(frame.index) == ["mill", "inn", "gate", ("far", 1)]
    assert frame.distance.tolist() == [0, 25, 30, -1] and frame.length.tolist() == [0, 2.5, 3, np.inf]
    assert frame.predecessor.tolist() == [None, "mill", "inn", None]
    assert frame.length.gate == 3
    frame.loc["gate", "length"] = 0  # a copy
    assert result["gate"] == 3


def test_values_of_vertices(town: lw.Graph) -> None:
    numbered = lw.Graph.from_edges([(10, 70), (70, 30)])
    counts = lw.indegree(numbered, devices="cpu:1").to_pandas()
    assert counts.index.tolist() == [10, 30, 70] and counts.index.dtype == np.int64
    assert counts.in_degree.dtype == np.uint64 and counts.in_degree.to_dict() == {10: 0, 30: 1, 70: 1}
    ranks = lw.pagerank(town, devices="cpu:1")
    assert ranks.to_pandas()["rank"].to_dict() == ranks.to_dict()
    colors = lw.color(town, devices="cpu:1")
    assert colors.to_pandas().color.to_dict() == colors.to_dict()
    components = lw.connected_components(town, devices="cpu:1")
    assert components.to_pandas().component.to_dict() == dict.fromkeys(town.ids, 0)


def test_other_programs() -> None:
    result = lw.md([ATOMS, ATOMS], 4, thermo=2, devices="cpu:1")
    frame = result.to_pandas()
    assert frame.universe.tolist() == [0, 0, 0, 1, 1, 1] and frame.step.tolist() == [0, 2, 4] * 2
    assert frame[frame.universe == 1].kinetic.tolist() == result.kinetic[1].tolist()
    counts = lw.kmer("GATTACATTA", 3, lookup=False, devices="cpu:1")
    assert counts.to_pandas().multiplicity.tolist() == counts.multiplicity.tolist()
    assert (counts.to_pandas().kmers * counts.to_pandas().multiplicity).sum() == counts.total


def test_a_sweep() -> None:
    result = lw.programs.sweep.SweepResult(
        "a * b", {"a": np.array([1.0, 2]), "b": np.array([3.0, 4, 5])}, np.zeros((2, 3))
    )
    result.values[:] = np.outer(*result.axes.values())
    frame = result.to_pandas()
    assert (frame.a * frame.b == frame.value).all() and len(frame) == 6
    wrong = lw.programs.sweep.SweepResult("value", {"value": np.ones(1)}, np.ones(1))
    with pytest.raises(lw.UsageError, match="a parameter is called 'value'"):
        wrong.to_pandas()


def test_without_pandas(town: lw.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def none(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return found(name, *rest)

    result = lw.indegree(town, devices="cpu:1")
    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(ImportError, match=r"^data frames need pandas: pip install pandas$"):
        result.to_pandas()

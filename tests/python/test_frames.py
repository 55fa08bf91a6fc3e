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


@pytest.mark.parametrize("method", ["asynchronous", "levels"])
def test_levels(town: lw.Graph, method: str) -> None:
    """Distances are arcs, whatever the weights."""
    frame = lw.bfs(town, "mill", method=method, devices="cpu:2").to_pandas()
    assert list(frame.columns) == ["distance", "length", "predecessor"] and frame.index.name == "vertex"
    assert list(frame.index) == list(town.ids)
    assert frame.distance.tolist() == [0, 1, 2, -1] and frame.length.tolist() == [0, 1, 2, np.inf]
    assert frame.predecessor.tolist() == [None, "mill", "inn", None]


def test_structure() -> None:
    """A triangle with a tail, whose ids are neither places nor in the order of the edges."""
    graph = lw.Graph.from_edges([(70, 10), (10, 40), (40, 70), (70, 99)], directed=False)
    corners = lw.triangles(graph, devices="cpu:2").to_pandas()
    assert list(corners.columns) == ["triangles"] and corners.index.name == "vertex"
    assert corners.triangles.to_dict() == {10: 1, 40: 1, 70: 1, 99: 0}
    near = lw.local_clustering(graph, devices="cpu:2").to_pandas()
    assert list(near.columns) == ["coefficient"] and near.coefficient.dtype == np.float64
    assert near.coefficient.to_dict() == pytest.approx({10: 1, 40: 1, 70: 1 / 3, 99: 0})
    labels = lw.label_propagation(graph, rounds=1, devices="cpu:2").to_pandas()
    assert list(labels.columns) == ["label"]
    assert labels.label.to_dict() == {10: 40, 40: 10, 70: 10, 99: 70}


def test_labels_are_names(town: lw.Graph) -> None:
    result = lw.label_propagation(town, rounds=1, devices="cpu:1")
    assert result.to_pandas().label.tolist() == ["inn", "mill", "inn", "inn"]


def test_other_programs() -> None:
    result = lw.md([ATOMS, ATOMS], 4, thermo=2, devices="cpu:1")
    frame = result.to_pandas()
    assert frame.universe.tolist() == [0, 0, 0, 1, 1, 1] and frame.step.tolist() == [0, 2, 4] * 2
    assert frame[frame.universe == 1].kinetic.tolist() == result.kinetic[1].tolist()
    counts = lw.kmer("GATTACATTA", 3, lookup=False, devices="cpu:1")
    assert counts.to_pandas().multiplicity.tolist() == counts.multiplicity.tolist()
    assert (counts.to_pandas().kmers * counts.to_pandas().multiplicity).sum() == counts.total


@pytest.mark.parametrize("dtype", ["u1", "f2", "f8", "?", ">i4"])
def test_what_a_filter_keeps(dtype: str) -> None:
    values = np.array([3, 0, 7, 1, 0]).astype(dtype)
    result = lw.filter(values, "x > 0", devices="cpu:2")
    frame = result.to_pandas()
    assert list(frame.columns) == ["value"] and frame.index.tolist() == [0, 1, 2]
    assert frame["value"].dtype == np.dtype(dtype).newbyteorder("=")
    assert frame["value"].tolist() == values[values > 0].tolist() == result.values.tolist()
    frame.loc[0, "value"] = frame["value"].dtype.type(0)  # a copy
    assert result.values[0] != 0


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

"""Numbers of vertices for PageRank: mappings, pandas Series and arrays, by the rules of NetworkX."""

from __future__ import annotations

from typing import Any

import laneway as lw
import numpy as np
import pytest

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")

NAMES = ["personalization", "nstart", "dangling"]


def town() -> Any:
    return networkx.DiGraph([("mill", "inn"), ("inn", "gate"), ("gate", "mill"), ("mill", "well"), ("inn", "well")])


def ranks(**options: Any) -> lw.PageRankResult:
    return lw.pagerank(town(), devices="cpu:1", **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "numbers",
    [
        {"well": 3, "mill": 1.5},
        {"gate": 2, "nowhere": 5, 7: 1},
        {"gate": 2, "nowhere": -1},
        {"well": 1, "gate": 2, "inn": 3, "mill": 4},
    ],
)
def test_mappings_and_series_are_those_of_networkx(name: str, numbers: dict[Any, float]) -> None:
    result = ranks(**{name: numbers}, tol=1e-9)
    expected = networkx.pagerank(town(), **{name: numbers}, tol=1e-9)
    assert result.to_dict() == pytest.approx(expected, rel=1e-6)
    assert ranks(**{name: pandas.Series(numbers)}, tol=1e-9) == result


@pytest.mark.parametrize("name", NAMES)
def test_series_that_say_nothing_or_too_much(name: str) -> None:
    for numbers, message in (
        (pandas.Series([1, 2], index=["inn", "inn"]), f"{name} has vertex 'inn' twice in its index"),
        (pandas.Series([1.0, 2, 3, 4]), f"{name} names no vertex of the graph"),
        ({0: 1, 1: 2}, f"{name} names no vertex of the graph"),
        (pandas.Series([1, None], index=["inn", "mill"]), f"{name} of vertex mill must be finite"),
        (pandas.Series(["x"], index=["inn"]), f"{name} must map vertices to numbers"),
        (pandas.Series([0, 0], index=["inn", "mill"]), f"{name} is 0 for all vertices"),
    ):
        with pytest.raises(lw.UsageError, match=message):
            ranks(**{name: numbers})


@pytest.mark.parametrize("name", NAMES)
def test_series_of_numbered_vertices_go_by_their_index(name: str) -> None:
    graph = lw.Graph.from_edges([(10, 30), (30, 70), (10, 70)])
    for index in ([70, 30, 10], [70.0, 30.0, 10.0]):
        series = pandas.Series([3, 2, 1], index=index)
        by_index = lw.pagerank(graph, **{name: series}, rounds=2, devices="cpu:1")
        assert by_index == lw.pagerank(graph, **{name: np.array([1, 2, 3])}, rounds=2, devices="cpu:1")


def test_a_graph_without_vertices_has_no_ranks() -> None:
    nothing = networkx.DiGraph()
    assert networkx.pagerank(nothing) == lw.pagerank(nothing, devices="cpu:2").to_dict() == {}
    for options in ({"personalization": {}}, {"nstart": {"a": 1}}, {"dangling": []}, {"weight": None}):
        result = lw.pagerank(lw.Graph.from_edges([]), **options, devices="cpu:2")
        assert (len(result), result.rounds, result.converged, result.residual) == (0, 0, True, 0)
        assert (result.report.devices, result.report.posted) == (["cpu:0", "cpu:1"], 0)
    for program in (lw.color, lw.indegree):
        assert program(nothing, devices="cpu:2").to_dict() == {}
    with pytest.raises(lw.UsageError, match="alpha"):
        lw.pagerank(nothing, alpha=2)

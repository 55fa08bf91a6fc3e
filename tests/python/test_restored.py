"""Objects that were put together from parts, and parts that do not fit."""

from __future__ import annotations

import pickle
from typing import Any

import laneway as lw
import numpy as np
import pytest
from laneway import _core
from laneway.graph import Graph, _restored
from laneway.numbering import Numbering

OFFSETS = np.array([0, 2, 3, 3], dtype=np.uint64)
HEADS = np.array([1, 2, 2], dtype=np.uint32)
WEIGHTS = np.array([5, 1, 1], dtype=np.uint32)


def labels(*ids: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array(ids, dtype=np.uint64)


def test_a_graph_of_fitting_parts() -> None:
    graph = _restored(Graph, OFFSETS, HEADS, (WEIGHTS, 10, True), Numbering(3, 0, labels(4, 7, 9)))
    assert (graph.ids.tolist(), graph.weight_scale, graph.weights_rounded) == ([4, 7, 9], 10, True)
    assert lw.sssp(graph, 4, devices="cpu:1").distance.of(9) == 1


@pytest.mark.parametrize(
    ("scale", "numbering", "words"),
    [
        (0, Numbering(3), "the scale of weights must be a power of ten, not 0"),
        (3, Numbering(3), "the scale of weights must be a power of ten, not 3"),
        (1, Numbering(10), "10 ids for 3 vertices"),
        (1, Numbering(1), "1 ids for 3 vertices"),
        (1, Numbering(3, names=["a", "b"]), "2 ids for 3 vertices"),
        (1, Numbering(3, 0, labels(5, 4, 3)), "ids of the vertices do not rise"),
        (1, Numbering(3, 0, labels(5)), "not one a vertex"),
    ],
)
def test_a_graph_of_parts_that_do_not_fit(scale: int, numbering: Numbering, words: str) -> None:
    with pytest.raises(lw.UsageError, match=words):
        _restored(Graph, OFFSETS, HEADS, (WEIGHTS, scale, False), numbering)


def test_a_graph_is_taken_once() -> None:
    ends = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int64)
    data = _core.graph_from_csr(*ends, None, 0, labels(), False)
    assert _core.Graph(data).vertices == 1
    with pytest.raises(lw.UsageError, match="has been taken"):
        _core.Graph(data)


def test_a_report_of_numbers_that_do_not_fit() -> None:
    report = lw.bfs(lw.generate_grid(4, 4), 0, devices="cpu:2").report
    state: list[Any] = list(report.__getstate__())
    assert pickle.loads(pickle.dumps(report)).__getstate__() == tuple(state)
    for place, wrong in ((2, [1] * 5), (3, [1] * 9), (4, [1] * 4), (5, [1]), (6, [1])):
        forged = lw.Report.__new__(lw.Report)
        with pytest.raises(lw.UsageError, match="not that of a report"):
            forged.__setstate__((*state[:place], wrong, *state[place + 1 :]))


def test_nobody_can_let_values_of_vertices_be_written_to() -> None:
    result = lw.bfs(lw.generate_grid(4, 4), 0, devices="cpu:1")
    for values in (
        result.distance,
        result.distance.values,
        result.distance + 1,
        pickle.loads(pickle.dumps(result)).distance,
    ):
        with pytest.raises(ValueError, match="WRITEABLE"):
            values.flags.writeable = True
    copied = result.distance.values.copy()
    copied[0] = 7
    assert result.distance.values[0] == 0

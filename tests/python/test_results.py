"""Results of all programs compare and pickle."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest

POINTS = np.array([[0.0, 0], [0, 1], [5, 5], [5, 6], [9, 1]])
ATOMS = lw.Atoms(0, np.array([[0.0, 6]] * 3), np.arange(1, 4), np.diag([1.0, 2, 3]), np.eye(3))


def graph() -> lw.Graph:
    return lw.generate_grid(9, 7, seed=3)


# Each is called with devices and a number that changes the answer.
PROGRAMS: list[Callable[[str, int], Any]] = [
    lambda devices, other: lw.sssp(graph(), other, devices=devices),
    lambda devices, other: lw.bfs(graph(), other, devices=devices),
    lambda devices, other: lw.pagerank(graph(), rounds=4 + other, devices=devices),
    lambda devices, other: lw.color(graph(), order=1 + other, devices=devices),
    lambda devices, other: lw.indegree(graph() if other == 0 else lw.generate_grid(9, 7, seed=4), devices=devices),
    lambda devices, other: lw.connected_components(
        graph() if other == 0 else lw.Graph.from_csr([0, 0], []), devices=devices
    ),
    lambda devices, other: lw.triangles(lw.generate_kronecker(5, 150, seed=3 + other), devices=devices),
    lambda devices, other: lw.local_clustering(lw.generate_kronecker(5, 150, seed=3 + other), devices=devices),
    lambda devices, other: lw.label_propagation(graph(), rounds=1 + other, devices=devices),
    lambda devices, other: lw.kmeans(POINTS, 2 + other, init="first", devices=devices),
    lambda devices, other: lw.kmer(lw.simulate_reads(500, seed=1 + other), 11, lookup=False, devices=devices),
    lambda devices, other: lw.md(ATOMS, 2 + other, devices=devices),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_equal_that_give_the_same_answer(program: Callable[[str, int], Any]) -> None:
    one, same, other = program("cpu:1", 0), program("cpu:3", 0), program("cpu:1", 5 if program is PROGRAMS[2] else 1)
    assert one == same
    assert one != other
    assert one != 1 and one is not None
    for again in (copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))):
        twin = again(one)
        assert type(twin) is type(one)
        assert twin == one
        assert twin.report.run_seconds == one.report.run_seconds
        for field in dataclasses.fields(one):
            value = getattr(one, field.name)
            if isinstance(value, np.ndarray):
                assert np.array_equal(getattr(twin, field.name), value)
                assert getattr(twin, field.name).dtype == value.dtype


def test_a_table_of_updates_stays_where_it_is() -> None:
    result = lw.gups(log2_words=10, devices="cpu:2")
    twin = pickle.loads(pickle.dumps(result))
    assert twin == result
    assert twin.report.served == result.report.served
    with pytest.raises(lw.UsageError, match="the table stays on the devices"):
        twin.table()

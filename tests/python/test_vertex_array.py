"""Arrays of values of vertices: an index that could mean another vertex is refused, NumPy works as on any array."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Callable

import laneway as lw
import numpy as np
import pytest
from laneway.numbering import Numbering

VALUES = [0, 4, -1, 9]
SPARSE = Numbering.of([10, 30, 70, 1000000])
ONE_BASED = Numbering(4, first=1)
NAMED = Numbering.of(["a", ("b", 1), 3, None])
FROM_ZERO = Numbering(4)
NOT_PLACES = [SPARSE, ONE_BASED, NAMED]


def array(numbering: Numbering) -> lw.VertexArray[np.int64]:
    return lw.VertexArray(np.array(VALUES), numbering)


@pytest.mark.parametrize("numbering", NOT_PLACES)
@pytest.mark.parametrize("key", [1, -1, 30, np.int64(1), [0, 1], np.array([0, 1]), (1,), ([0, 1],), np.uint8(3)])
def test_whole_numbers_are_refused_where_vertices_are_not_places(numbering: Numbering, key: Any) -> None:
    given = array(numbering)
    for values in (given, given / 10, given.astype(float), given >= 0):
        with pytest.raises(
            lw.UsageError, match=r"\.of\(.*\) is the value by vertex, \.values\[.*\] the value by place"
        ):
            values[key]


def test_places_are_ids_where_vertices_count_from_0() -> None:
    values = array(FROM_ZERO)
    assert (values[1], values[-1], values[[1, 3]].tolist()) == (4, 9, [4, 9])
    assert values.of(1) == values[1]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "item": lambda a: a.__setitem__(0, 7),
    "mask": lambda a: a.__setitem__(a < 0, 7),
    "slice": lambda a: a.__setitem__(slice(None), a[::-1]),
    "values": lambda a: a.values.__setitem__(0, 7),
    "sort": lambda a: a.sort(),
    "partition": lambda a: a.partition(1),
    "fill": lambda a: a.fill(3),
    "put": lambda a: np.put(a, [0], 7),
    "byteswap": lambda a: a.byteswap(inplace=True),
    "add": lambda a: a.__iadd__(1),
    "out": lambda a: np.negative(a, out=a),
    "copyto": lambda a: np.copyto(a, a[::-1]),
    "shuffle": lambda a: np.random.default_rng(1).shuffle(a),
    "old shuffle": lambda a: np.random.RandomState(1).shuffle(a),
    "memory": lambda a: memoryview(a).__setitem__(0, 7),
    "flag": lambda a: a.setflags(write=True),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("numbering", [ONE_BASED, FROM_ZERO])
def test_no_value_comes_to_another_vertex(numbering: Numbering, change: str) -> None:
    values = array(numbering)
    for kept in (values, values.copy(), copy.copy(values), pickle.loads(pickle.dumps(values)), values + 0):
        with pytest.raises((ValueError, TypeError)):
            CHANGES[change](kept)
        assert dict(zip(kept.ids.tolist(), kept.tolist())) == dict(zip(numbering.ids.tolist(), VALUES))
    changed = values.values.copy()
    changed.sort()
    assert changed.tolist() == sorted(VALUES)


def test_results_are_read_only() -> None:
    graph = lw.Graph.from_edges([(10, 30), (30, 70)])
    found = lw.sssp(graph, 10, devices="cpu:1")
    for values in (
        found.distance,
        found.length,
        found.predecessor,
        lw.pagerank(graph, devices="cpu:1").rank,
        lw.color(graph, devices="cpu:1").color,
        lw.indegree(graph, devices="cpu:1").in_degree,
    ):
        with pytest.raises(ValueError, match="read-only"):
            values.sort()
        with pytest.raises(lw.UsageError, match=r"read only; array\.values\.copy\(\) can be changed"):
            values[:] = 0


def test_whoever_made_the_values_keeps_theirs() -> None:
    mine = np.array(VALUES)
    values = lw.VertexArray(mine, SPARSE)
    mine.sort()
    assert values.tolist() == VALUES
    out = np.zeros(4, dtype=np.int64)
    for given in (np.add(values, 1, out=out), np.clip(values, 0, 5, out), values.clip(0, 5, out=out)):
        assert given is out and out.flags.writeable
    with pytest.raises(lw.UsageError, match="no longer has a value for each vertex"):
        values.reshape(2, 2).of(30)


def test_which_of_the_elements_are_there_goes_with_the_elements() -> None:
    values, other = array(SPARSE), lw.VertexArray(VALUES[::-1], ONE_BASED)
    plain = np.array([9, 9, 0, 5])
    assert np.isin(values, other).ids.tolist() == SPARSE.ids.tolist()
    assert np.isin(element=values, test_elements=plain).ids.tolist() == SPARSE.ids.tolist()
    assert type(np.isin(plain, values)) is type(np.isin(test_elements=values, element=plain)) is np.ndarray
    assert np.isin(plain, values).tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("numbering", "vertex", "several"),
    [(SPARSE, 30, [1000000, 30]), (ONE_BASED, 2, [4, 2]), (NAMED, ("b", 1), [None, ("b", 1)]), (FROM_ZERO, 1, [3, 1])],
)
def test_values_by_vertex(numbering: Numbering, vertex: Any, several: list[Any]) -> None:
    values = array(numbering)
    assert values.of(vertex) == 4
    assert values.of(several).tolist() == [9, 4]
    assert dict(zip(values.ids.tolist(), values))[vertex] == 4
    assert values.values[1] == 4
    assert type(values.values) is np.ndarray


@pytest.mark.parametrize(
    ("numbering", "vertex", "message"),
    [
        (SPARSE, 1, "vertex 1 is none of the 4 in the graph, which lie in 10..1000000"),
        (ONE_BASED, 0, r"vertex 0 is outside 1\.\.4"),
        (ONE_BASED, 5, r"vertex 5 is outside 1\.\.4"),
        (ONE_BASED, -1, "must be a whole number from 0"),
        (ONE_BASED, 1.5, "must be a whole number"),
        (NAMED, "c", "no vertex is called 'c'"),
        (NAMED, {}, "no vertex is called {}"),
        (Numbering(0), 0, "a graph without vertices"),
    ],
)
def test_no_such_vertex(numbering: Numbering, vertex: Any, message: str) -> None:
    values = lw.VertexArray(np.zeros(numbering.count), numbering)
    with pytest.raises(lw.UsageError, match=message):
        values.of(vertex)


FUNCTIONS: list[Callable[[Any], Any]] = [
    np.max,
    np.mean,
    np.median,
    np.unique,
    np.sort,
    np.argsort,
    np.cumsum,
    np.diff,
    np.flatnonzero,
    np.std,
    lambda a: np.percentile(a, 30),
    lambda a: np.take(a, 2),
    lambda a: np.where(a < 0, 100, a),
    lambda a: np.concatenate([a, a]),
    lambda a: np.bincount(a[a >= 0]),
    lambda a: np.unique(a, return_inverse=True)[1],
    lambda a: np.add.accumulate(a),
    lambda a: np.histogram(a, bins=3)[0],
    lambda a: a[a >= 0],
    lambda a: a[1:3],
    lambda a: a[::-1],
    lambda a: a[a < 0].tolist(),
    lambda a: a * 2 + 1,
    lambda a: np.sqrt(np.abs(a)),
    lambda a: a.argmax(),
    lambda a: a.sum(),
    lambda a: a.clip(0, 5),
    lambda a: list(a),
    lambda a: sorted(a),
    lambda a: len(a),
    lambda a: np.divmod(a, 3)[1],
    lambda a: np.asarray(a)[1],
    lambda a: a.reshape(2, 2)[1, 1],
    lambda a: np.array_equal(a, VALUES),
    lambda a: 4 in a,
    lambda a: str(a),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("numbering", [*NOT_PLACES, FROM_ZERO])
def test_numpy_treats_it_as_any_array(numbering: Numbering, function: Callable[[Any], Any]) -> None:
    found, expected = function(array(numbering)), function(np.array(VALUES))
    assert np.array_equal(found, expected)
    assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)


def test_what_has_a_value_for_each_vertex_keeps_its_ids() -> None:
    values = array(SPARSE)
    for kept in (
        values / 2,
        -values,
        values >= 0,
        np.where(values < 0, 0, values),
        values.copy(),
        np.divmod(values, 2)[0],
    ):
        assert isinstance(kept, lw.VertexArray)
        assert kept.ids.tolist() == [10, 30, 70, 1000000]
    assert np.where(values < 0, 50, values + 1).of([10, 30, 70]).tolist() == [1, 5, 50]
    for loose in (
        np.sort(values),
        values.argsort(),
        values[1:],
        values[::-1],
        values.cumsum(),
        values + array(ONE_BASED),
    ):
        assert getattr(loose, "_numbering", None) is None
        loose[0]
    with pytest.raises(lw.UsageError, match="no longer has a value for each vertex"):
        values.argsort().of(30)


@pytest.mark.parametrize("numbering", [*NOT_PLACES, FROM_ZERO])
def test_copies_and_pickles(numbering: Numbering) -> None:
    for again in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each)), lambda each: each.copy()):
        twin = again(array(numbering))
        assert isinstance(twin, lw.VertexArray)
        assert (twin.tolist(), twin.ids.tolist()) == (VALUES, numbering.ids.tolist())
        assert twin.numbering == numbering
    assert pickle.loads(pickle.dumps(array(numbering).cumsum())).tolist() == [0, 4, 3, 12]


def test_it_shows_ids() -> None:
    assert repr(array(ONE_BASED)) == "VertexArray([ 0,  4, -1,  9], ids=[1, 2, 3, 4])"
    assert f"{array(ONE_BASED)}" == "[ 0  4 -1  9]"


def test_wrong_sizes() -> None:
    with pytest.raises(lw.UsageError, match=r"4 vertices need as many values, not an array of shape \(3,\)"):
        lw.VertexArray(np.zeros(3), ONE_BASED)
    with pytest.raises(lw.UsageError, match="two vertices are called 'a'"):
        Numbering.of(["a", "b", "a"])
    with pytest.raises(lw.UsageError, match="unhashable"):
        Numbering.of([[1], [2]])


def test_ids_of_64_bits() -> None:
    wide = Numbering.of([1, 2**63, 2**64 - 1])
    assert wide.ids.dtype == np.uint64
    assert wide.place(2**64 - 1) == 2
    assert wide.ids_at(np.array([2, -1, 1])).tolist() == [2**64 - 1, None, 2**63]
    assert SPARSE.ids_at(np.array([1, -1])).tolist() == [30, -1]
    assert Numbering(2, first=2**63).ids.tolist() == [2**63, 2**63 + 1]
    assert not SPARSE.ids.flags.writeable

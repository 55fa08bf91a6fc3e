"""Times as vertices: they keep their type and unit, and equal ones are one vertex."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import laneway as lw
import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

DAYS = ["2020-01-02", "2020-01-01", "2020-01-03"]
UNITS = ["s", "ms", "us", "ns"]


def frame(kind: str) -> Any:
    """Two edges, from the first to the second, from this to the third."""
    times = np.array(DAYS, dtype="datetime64[D]").astype(kind if kind[0] == "d" else "datetime64[D]")
    if kind[0] == "t":
        times = (times - np.datetime64("2020-01-01")).astype(kind)
    return pandas.DataFrame({"source": times[:2], "target": times[1:]})


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("span", [False, True])
def test_columns_of_times(unit: str, span: bool) -> None:
    given = frame(f"{'timedelta64' if span else 'datetime64'}[{unit}]")
    graph = lw.Graph.from_pandas(given)
    expected = [given.source[0], given.source[1], given.target[1]]
    assert graph.ids.dtype == given.source.dtype
    assert list(pandas.Series(graph.ids)) == expected, "in the order in which they come"
    result = lw.bfs(graph, given.source[0], devices="cpu:1")
    assert [result[vertex] for vertex in expected] == [0, 1, 2]
    assert list(pandas.Series(list(result))) == expected
    assert [time.dtype for time in result.to_dict()] == [graph.ids.dtype] * 3
    assert list(result.to_dict().values()) == [0, 1, 2]
    assert result.path_to(given.target[1]) == list(graph.ids)
    before = result.predecessor
    assert before.dtype == graph.ids.dtype and np.isnat(before.values[0]) and before.values[2] == graph.ids[1]
    twin = pickle.loads(pickle.dumps(result))
    assert twin == result and twin[given.source[1]] == 1
    assert lw.pagerank(graph, personalization={given.source[1]: 1}, rounds=0, devices="cpu:1").rank.size == 3


@pytest.mark.parametrize("unit", ["D", "h", *UNITS])
def test_one_time_is_one_vertex_in_all_its_forms(unit: str) -> None:
    pairs = np.array([DAYS[:2], DAYS[1:]], dtype="datetime64[D]").astype(f"datetime64[{unit}]")
    result = lw.bfs(lw.Graph.from_edges(pairs), pairs[0, 0], devices="cpu:1")
    assert result.ids.dtype == pairs.dtype
    for vertex in (
        *(np.datetime64("2020-01-01", other) for other in ("D", *UNITS)),
        pandas.Timestamp("2020-01-01"),
        datetime.datetime(2020, 1, 1),
        datetime.date(2020, 1, 1),
    ):
        assert vertex in result and result[vertex] == 1
    for other in (
        np.datetime64("2020-01-01T00:00:00.000000001"),
        pandas.Timestamp("2020-01-01", tz="UTC"),
        pandas.NaT,
        np.datetime64("NaT"),
        np.timedelta64(1, "D"),
        18262,
        "2020-01-01",
    ):
        assert other not in result


def test_times_beside_names() -> None:
    when, where = np.array(DAYS[:2], dtype="datetime64[ns]"), np.array(["inn", "mill"])
    graph = lw.Graph.from_pandas(pandas.DataFrame({"source": when, "target": where}))
    assert graph.ids.tolist() == [when[0], "inn", when[1], "mill"]
    assert lw.bfs(graph, pandas.Timestamp(DAYS[1]), devices="cpu:1")["mill"] == 1
    listed = lw.Graph.from_edges([(when[0], when[1])], vertices=when)
    assert (listed.ids.dtype, listed.arcs) == (when.dtype, 1)
    named = lw.Graph.from_csr([0, 1, 1], [1], names=pandas.Series(when))
    assert named == listed
    with pytest.raises(lw.UsageError, match="two vertices are called"):
        lw.Graph.from_csr([0, 0, 0], [], names=[when[0], when[0].astype("datetime64[s]")])
    with pytest.raises(lw.UsageError, match="not NaT, as in edge 1"):
        lw.Graph.from_edges(np.array([DAYS[:2], ["NaT", DAYS[0]]], dtype="datetime64[D]"))


def test_times_with_a_zone_stay_theirs() -> None:
    given = pandas.DataFrame({"source": pandas.to_datetime(DAYS, utc=True), "target": ["a", "b", "c"]})
    result = lw.bfs(lw.Graph.from_pandas(given), given.source[1], devices="cpu:1")
    assert result["b"] == 1 and pandas.Timestamp(DAYS[1]) not in result

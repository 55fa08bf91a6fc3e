"""Laneway as a backend of NetworkX: what is dispatched, converted, kept, and left to NetworkX."""

from __future__ import annotations

import functools
import gc
import inspect
import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import ROOT

nx = pytest.importorskip("networkx", minversion="3.5")
from laneway.networkx_backend import close, conversion, devices  # noqa: E402
from laneway.networkx_backend.interface import backend  # noqa: E402
from laneway.networkx_backend.table import OFFERED  # noqa: E402

Calls = list[str]


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    config = nx.config.backends.laneway
    for name, value in {"devices": "cpu:2", "timeout": None, "buffer_bytes": None, "kept_bytes": None}.items():
        monkeypatch.setattr(config, name, value)
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Names of the conversions and of the functions that run here."""
    told: Calls = []

    def tell(name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            told.append(name)
            return function(*args, **kwargs)

        call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return call

    for name in ("convert_from_nx", *OFFERED):
        monkeypatch.setitem(backend.__dict__, name, tell(name, getattr(backend, name)))
    return told


@pytest.fixture
def town() -> Any:
    graph = nx.Graph([("mill", "inn", {"weight": 2}), ("inn", "gate", {"weight": 1}), ("mill", "gate", {"weight": 5})])
    graph.add_node("far")
    return graph


def test_the_package_declares_itself() -> None:
    for group in ("networkx.backends", "networkx.backend_info"):
        assert [point.name for point in entry_points(group=group) if point.value.startswith("laneway.")] == ["laneway"]
    assert "2**-24" in nx.pagerank.__doc__


@pytest.mark.parametrize("name", OFFERED)
def test_arguments_are_those_of_networkx(name: str) -> None:
    function = getattr(nx, name, None) or getattr(nx.community, name)
    original = inspect.signature(inspect.unwrap(function.orig_func)).parameters
    own = inspect.signature(getattr(backend, name)).parameters
    assert [(each.name, each.default) for each in own.values()] == [
        (each.name, each.default) for each in original.values()
    ]


def test_networkx_loads_no_more_than_the_table() -> None:
    code = "import sys, networkx; print(*sorted(name for name in sys.modules if name.startswith(('laneway', 'numpy'))))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    names = "laneway laneway.networkx_backend laneway.networkx_backend.info laneway.networkx_backend.table"
    assert done.stdout.split() == names.split()


def test_a_call_by_name(town: Any, calls: Calls) -> None:
    lengths = nx.single_source_dijkstra_path_length(town, "mill", backend="laneway")
    assert lengths == {"mill": 0, "inn": 2, "gate": 3} and list(map(type, lengths.values())) == [int] * 3
    ranks = nx.pagerank(town, backend="laneway")
    assert ranks == pytest.approx(nx.pagerank(town), rel=1e-6) and set(map(type, ranks.values())) == {float}
    assert calls == ["convert_from_nx", "single_source_dijkstra_path_length", "pagerank"]


def test_a_graph_is_converted_again_when_it_has_changed(town: Any, calls: Calls) -> None:
    for _ in range(3):
        assert nx.shortest_path_length(town, "mill", "gate", weight="weight", backend="laneway") == 3
    assert nx.has_path(town, "mill", "gate", backend="laneway"), "weights do not hurt"
    assert calls.count("convert_from_nx") == 1
    town.add_edge("mill", "gate", weight=1)
    assert nx.shortest_path_length(town, "mill", "gate", weight="weight", backend="laneway") == 1
    assert calls.count("convert_from_nx") == 2
    nx.set_edge_attributes(town, 7, "toll")
    assert nx.dijkstra_path_length(town, "mill", "gate", weight="toll", backend="laneway") == 7
    assert calls.count("convert_from_nx") == 3, "another attribute"


def test_a_graph_stays_on_the_devices() -> None:
    close()
    graph = nx.gnm_random_graph(500, 3000, seed=1, directed=True)
    nx.single_source_shortest_path_length(graph, 0, backend="laneway")
    session = devices.session()
    copied = session.copied_bytes
    for source in range(20):
        nx.single_source_shortest_path_length(graph, source, backend="laneway")
    more = sum(session.copied_bytes) - sum(copied)
    assert more < 20 * 500 * 4, "not even the nodes, let alone the arcs, are copied for each call"
    assert len(session.graphs) == 1
    graph.add_edge(0, 500)
    gc.collect()
    assert session.graphs == [], "it goes where the graph changes"


def test_by_priority(town: Any, calls: Calls) -> None:
    with nx.config.backend_priority(algos=["laneway"]):
        assert nx.single_source_shortest_path_length(town, "inn") == {"inn": 0, "mill": 1, "gate": 1}
        assert nx.eccentricity(town.subgraph(["mill", "inn", "gate"]), "mill") == 1, "what NetworkX calls itself"
    ran = ["single_source_shortest_path_length", "shortest_path_length"]
    assert [name for name in calls if name != "convert_from_nx"] == ran


def test_one_pair_is_not_worth_a_conversion(town: Any, calls: Calls) -> None:
    with nx.config.backend_priority(algos=["laneway"]):
        assert nx.has_path(town, "mill", "gate") and calls == []
        nx.descendants(town, "mill")
        assert nx.has_path(town, "mill", "gate") and calls == ["convert_from_nx", "descendants", "has_path"]


REFUSED = {
    "weights must be whole numbers or floats, not str": {"weight": "2"},
    "weights must be whole numbers or floats, not NoneType": {"weight": None},
    "the weight of the edge from 'inn' to 'gate' is negative: -1": {"weight": -1},
    "the weight of the edge from 'inn' to 'gate', inf, is over the limit of 4294967295": {"weight": float("inf")},
    "a weight is over the limit of 4294967295": {"weight": 2**70},
    "the weights have more decimals than 32 bits hold together": {"weight": 0.1234567890123},
}


@pytest.mark.parametrize("why", REFUSED)
def test_weights_that_are_left_to_networkx(town: Any, why: str) -> None:
    town.add_edge("inn", "gate", **REFUSED[why])
    with pytest.raises(NotImplementedError, match="raised NotImplementedError when calling 'pagerank'") as error:
        nx.pagerank(town, backend="laneway")
    assert str(error.value.__cause__) == why
    assert nx.pagerank(town, weight=None, backend="laneway").keys() == set(town), "they do not count"
    if why.startswith("the weights"):
        with nx.config.backend_priority(algos=["laneway"]):
            assert nx.pagerank(town) == nx.pagerank(town.copy()), "NetworkX itself"


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "why"),
    [
        ("shortest_path", ("mill", "gate"), {}, "from both ends"),
        ("shortest_path", ("mill",), {"weight": "weight", "method": "bellman-ford"}, "'bellman-ford' is not offered"),
        ("dijkstra_path", ("mill", "gate"), {"weight": lambda *_: 1}, "weight is a function"),
        ("bfs_edges", ("mill",), {"sort_neighbors": sorted}, "sort_neighbors is a function"),
        ("pagerank", (), {"alpha": 1.5}, "alpha must be from 0 to 1, not 1.5"),
        ("pagerank", (), {"tol": -1}, "tol must be 0 or more, not -1"),
    ],
)
def test_calls_that_are_left_to_networkx(
    town: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], why: str
) -> None:
    assert why in str(backend.can_run(name, (town, *args), kwargs))
    assert backend.can_run(name, (town, args[0]) if name == "shortest_path" else (town, *args), {}) is True
    with pytest.raises(NotImplementedError, match="'laneway' backend"):
        getattr(nx, name)(town, *args, backend="laneway", **kwargs)


def test_ranks_that_do_not_settle(town: Any) -> None:
    with pytest.raises(nx.PowerIterationFailedConvergence, match="within 2 iterations"):
        nx.pagerank(town, max_iter=2, tol=1e-9, backend="laneway")
    with pytest.raises(nx.PowerIterationFailedConvergence, match="within 0 iterations"):
        nx.pagerank(town, max_iter=0, backend="laneway")
    with pytest.raises(ZeroDivisionError):
        nx.pagerank(town, personalization={"mill": 0}, backend="laneway")
    with pytest.raises(NotImplementedError) as error:
        nx.pagerank(town, nstart={"mill": -1}, backend="laneway")
    assert str(error.value.__cause__) == "nstart of vertex mill must be finite and 0 or more, not -1.0"
    with pytest.warns(RuntimeWarning, match="may never be met"), pytest.raises(NotImplementedError) as error:
        nx.pagerank(town, tol=0, backend="laneway")
    assert "shares of 24 bits cannot tell whether ranks change by less than tol 0" in str(error.value.__cause__)


def test_errors_are_those_of_networkx(town: Any) -> None:
    for function, args in (
        (nx.single_source_shortest_path_length, ("sea",)),
        (nx.single_source_dijkstra, ("sea",)),
        (nx.single_source_dijkstra, ("mill", "far")),
        (nx.shortest_path_length, ("mill", "far")),
        (nx.dijkstra_path_length, ("mill", "far")),
        (nx.descendants, ("sea",)),
        (nx.in_degree_centrality, ()),
        (nx.multi_source_dijkstra, ([],)),
    ):
        with pytest.raises(Exception) as expected:
            function(town, *args)
        with pytest.raises(type(expected.value)) as error:
            function(town, *args, backend="laneway")
        assert str(error.value) == str(expected.value)


def test_in_degrees() -> None:
    graph = nx.MultiDiGraph([(1, 2), (1, 2), (2, 2), (3, 1)])
    assert nx.in_degree_centrality(graph, backend="laneway") == nx.in_degree_centrality(graph) == {1: 0.5, 2: 1.5, 3: 0}
    assert nx.in_degree_centrality(nx.DiGraph([(1, 1)]), backend="laneway") == {1: 1}


def test_settings_open_another_session(town: Any) -> None:
    nx.descendants(town, "mill", backend="laneway")
    first = devices.session()
    assert first is devices.session() and first.devices == ("cpu:0", "cpu:1")
    nx.config.backends.laneway.devices = "cpu:1"
    assert nx.descendants(town, "mill", backend="laneway") == {"inn", "gate"}
    assert devices.session().devices == ("cpu:0",)
    with pytest.raises(lw.UsageError, match="closed"):
        first.indegree(lw.generate_grid(3, 3))
    nx.config.backends.laneway.devices = "gpu:7"
    with pytest.raises(lw.UsageError, match="gpu:7"):  # and not NetworkX's own result
        nx.descendants(town, "mill", backend="laneway")
    with nx.config.backend_priority(algos=["laneway"]), pytest.raises(lw.UsageError, match="gpu:7"):
        nx.descendants(town, "mill")
    nx.config.backends.laneway.devices = "cpu:2"
    close()
    close()
    assert nx.descendants(town, "mill", backend="laneway") == {"inn", "gate"}


def test_the_environment_chooses_devices() -> None:
    code = """if True:
        import networkx as nx
        from laneway.networkx_backend import devices
        print(nx.has_path(nx.path_graph(3), 0, 2, backend="laneway"), *devices.session().devices)"""
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": paths, "LANEWAY_NETWORKX_DEVICES": "cpu:3"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("True cpu:0 cpu:1 cpu:2\n", "")


def reached(graph: Any) -> list[Any]:
    return sorted(nx.descendants(graph, "mill", backend="laneway"))


def test_a_forked_process_opens_its_own(town: Any) -> None:
    assert reached(town) == ["gate", "inn"]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(reached, (town,)).get(timeout=60) == ["gate", "inn"]
    assert reached(town) == ["gate", "inn"]


def test_graphs_of_files_and_arrays(small: Path, calls: Calls) -> None:
    from laneway.networkx_backend import Graph

    roads = Graph(lw.read_graph(small), multigraph=True)
    assert nx.single_source_dijkstra_path_length(roads, 1) == {1: 0, 2: 4, 3: 4, 4: 14}
    assert nx.dijkstra_path(roads, 1, 4) == [1, 2, 4]
    assert nx.single_target_shortest_path_length(roads, 3) == {3: 0, 2: 1, 1: 2}
    assert (len(roads), roads.number_of_edges(), 7 in roads, list(roads)) == (6, 8, False, [1, 2, 3, 4, 5, 6])
    assert calls == ["single_source_dijkstra_path_length", "dijkstra_path", "single_target_shortest_path_length"]
    assert repr(roads) == "<laneway MultiDiGraph of NetworkX: 6 nodes, 8 edges>"
    assert nx.shortest_path(roads, 1, 4) == [1, 4]
    assert nx.shortest_path(roads, 1, 4, weight="weight") == [1, 2, 4]
    with pytest.raises(nx.NetworkXNoPath, match=r"No path between 1 and 5\."):
        nx.shortest_path(roads, 1, 5)
    with pytest.raises(nx.NodeNotFound, match="Target 9 is not in G"):
        nx.shortest_path(roads, 1, 9, weight="weight")
    with pytest.raises(NotImplementedError) as error:
        nx.dijkstra_path(roads, 1, 4, weight="toll", backend="laneway")
    assert str(error.value.__cause__) == "this graph has 'weight' of its edges, not 'toll'"
    with pytest.raises(lw.UsageError, match=r"graph must be a laneway\.Graph, not dict"):
        Graph({})
    for offsets, heads in (([0, 2, 2], [1, 1]), ([0, 3, 3], [1, 0, 1])):
        twice = lw.Graph.from_csr(offsets, heads)
        with pytest.raises(lw.UsageError, match="several arcs lead from 0 to 1: say multigraph=True"):
            Graph(twice)
        assert Graph(twice, multigraph=True).number_of_edges() == len(heads)
    assert Graph(lw.Graph.from_csr([0, 0, 2, 2], [1, 0])).number_of_edges() == 2
    edges = lw.Graph.from_edges(np.array([[0, 1], [1, 2]]), [0.5, 0.25], directed=False)
    square = Graph(edges, directed=False, attribute="toll")
    assert nx.single_source_dijkstra_path_length(square, 2, weight="toll") == {2: 0, 1: 0.25, 0: 0.75}
    assert square.number_of_edges() == 2 and not square.is_directed()


def test_ranks_that_rounding_alone_changes_are_left_to_networkx() -> None:
    graph = nx.Graph([(0, 5), (1, 6), (1, 2), (2, 5), (2, 3), (3, 6), (4, 4)])
    how = {"alpha": 1, "tol": 1e-12, "weight": None, "max_iter": 1000}
    with pytest.raises(NotImplementedError, match="raised NotImplementedError"):
        nx.pagerank(graph, backend="laneway", **how)


def test_functions_that_are_not_offered_take_a_graph_back(small: Path) -> None:
    from laneway.networkx_backend import Graph

    roads = Graph(lw.read_graph(small), multigraph=True)
    with pytest.raises(NotImplementedError, match="strongly_connected"):
        list(nx.strongly_connected_components(roads))
    with nx.config(fallback_to_nx=True):
        assert sorted(map(len, nx.strongly_connected_components(roads))) == [1, 1, 1, 3]
        assert nx.shortest_path(roads, 1, 4) == [1, 4]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_there_and_back(kind: Any) -> None:
    graph = kind(name="there")
    graph.add_weighted_edges_from([("b", "a", 2), ("a", "e", 0.5), ("c", "c", 1), ("c", "a", 3), ("d", "b", 4)])
    graph.add_edge("b", "a", weight=7)
    graph.add_node("alone")
    there = conversion.convert_from_nx(graph, {"weight": 1}, preserve_graph_attrs=True)
    assert there.number_of_edges() == graph.number_of_edges() and there.is_multigraph() == graph.is_multigraph()
    back = conversion.convert_to_nx(there)
    assert type(back) is kind and back.graph == {"name": "there"} and list(back) == list(graph)
    weights = lambda edges: sorted((*sorted(edge[:2]), edge[2]) for edge in edges.edges(data="weight"))  # noqa: E731
    if graph.is_directed():
        assert sorted(back.edges(data="weight")) == sorted(graph.edges(data="weight"))
    assert weights(back) == weights(graph)
    assert {type(weight) for *_, weight in weights(back)} == {int, float}
    bare = conversion.convert_to_nx(conversion.convert_from_nx(graph))
    assert nx.is_isomorphic(bare, graph) and not any(data for *_, data in bare.edges(data=True))
    for asked in ({"preserve_edge_attrs": True}, {"node_attrs": {"x": 0}}, {"edge_attrs": {"a": 1, "b": 1}}):
        with pytest.raises(NotImplementedError, match="only one edge attribute"):
            conversion.convert_from_nx(graph, **asked)


def test_the_guide(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/guides/networkx.md").read_text(), re.M | re.S)
    monkeypatch.setattr(nx.config.backend_priority, "algos", [])
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)  # the settings stand in the last one
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == blocks[0].split("# ")[1].strip()
    assert eval(second) == {"inn", "gate"}
    assert int(third) == lw.sssp(lw.read_graph("data/USA-road-d.NY.gr.gz"), 1, devices="cpu:2")[4]
    assert sum(names["ranks"].values()) == pytest.approx(1)
    assert (len(blocks), nx.config.backends.laneway.timeout) == (4, 100)


def test_the_guide_names_what_is_offered() -> None:
    table = (ROOT / "docs/guides/networkx.md").read_text().split("## What is offered")[1].split("\n\n")[1]
    named = set()
    for row in table.splitlines():
        groups = [re.findall(r"`(\w+)`", part) for part in row.split("; ")]
        for group, part in zip(groups, row.split("; ")):
            named |= set(group) | ({f"{name}_length" for name in group} if "each also with" in part else set())
    assert named - {"_length"} - {"_length_length"} == set(OFFERED)


def test_a_failed_run_is_no_reason_to_run_elsewhere() -> None:
    graph = nx.gnm_random_graph(3000, 20000, seed=2)
    nx.config.backends.laneway.timeout = 1e-6
    with nx.config.backend_priority(algos=["laneway"]), pytest.raises(lw.TimeoutError):
        nx.pagerank(graph)
    nx.config.backends.laneway.timeout = None
    assert len(nx.pagerank(graph, backend="laneway")) == 3000


def test_calls_of_several_threads() -> None:
    graphs = [nx.gnm_random_graph(300, 1500, seed=seed) for seed in range(6)]
    expected = [nx.single_source_shortest_path_length(graph, 0) for graph in graphs]
    with ThreadPoolExecutor(6) as threads:
        for _ in range(3):
            run = functools.partial(nx.single_source_shortest_path_length, source=0, backend="laneway")
            assert list(threads.map(run, graphs)) == expected

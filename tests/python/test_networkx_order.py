"""Results of the backend are those of NetworkX: values, types and orders, on random graphs of every kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

nx = pytest.importorskip("networkx", minversion="3.6")  # whose orders these are

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
WEIGHTS = {
    "one": lambda chance: 1,
    "whole": lambda chance: chance.randrange(1, 6),
    "zeros": lambda chance: chance.randrange(3),
    "floats": lambda chance: float(chance.randrange(4)),
    "mixed": lambda chance: chance.choice([1, 2.0, 3, 0, 0.0]),
    "decimals": lambda chance: chance.randrange(12) / 10,
    "lacking": lambda chance: None,
}


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    nx.config.backends.laneway.devices = "cpu:2"
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})


def exact(value: Any) -> Any:
    """A value with its types and orders, which == does not look at; iterators with all that they give."""
    if isinstance(value, dict):
        return dict, [(exact(key), exact(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [exact(each) for each in value]
    if isinstance(value, Iterator):
        return Iterator, [exact(each) for each in value]
    return type(value), value


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return exact(function(*args, **kwargs))
    except (nx.NetworkXException, ValueError) as error:
        return type(error), str(error)


def graph_of(chance: random.Random, weights: str) -> Any:
    count = chance.randrange(1, 25)
    names = chance.choice(
        [
            list(range(count)),
            [f"n{i}" for i in range(count)],
            chance.sample(range(99), count),
            [(i,) for i in range(count)],
        ]
    )
    graph = chance.choice(KINDS)()
    graph.add_nodes_from(names if chance.random() < 0.7 else names[:1])
    for _ in range(chance.randrange(4 * count)):
        weight = WEIGHTS[weights](chance)
        lacks = weight is None or (weights == "mixed" and chance.random() < 0.2)
        graph.add_edge(chance.choice(names), chance.choice(names), **({} if lacks else {"weight": weight}))
    gone = list(graph.edges())[:2]
    graph.remove_edges_from(gone)
    graph.add_edges_from((tail, head) for head, tail in gone)  # rows are not in the order of nodes
    return graph


def searches(chance: random.Random, graph: Any) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls of all functions that search."""
    nodes = list(graph)
    source, target = (chance.choice([*nodes, "nowhere"] if chance.random() < 0.1 else nodes) for _ in range(2))
    cutoff = chance.choice([None, None, 0, 1, 2, 2.5, -1, 4])
    several = chance.sample(nodes, min(len(nodes), 3))
    for name in (
        "single_source_shortest_path_length",
        "single_target_shortest_path_length",
        "single_source_shortest_path",
        "single_target_shortest_path",
        "predecessor",
    ):
        yield name, (source,), {"cutoff": cutoff}
    yield "predecessor", (source,), {"return_seen": True}
    yield "predecessor", (source, target), {"return_seen": True}
    yield "all_pairs_shortest_path_length", (), {"cutoff": cutoff}
    yield "all_pairs_shortest_path", (), {}
    yield "has_path", (source, target), {}
    for weight in ("weight", None):
        yield "shortest_path_length", (source, target), {"weight": weight}
        for name in ("shortest_path", "shortest_path_length"):
            yield name, (source,), {"weight": weight}
            yield name, (None, target), {"weight": weight}
            yield name, (), {"weight": weight}
    for name in ("bfs_edges", "bfs_predecessors", "bfs_successors"):
        yield name, (source,), {"depth_limit": cutoff}
    yield "bfs_edges", (source,), {"reverse": True}
    yield "bfs_layers", (several,), {}
    yield "bfs_layers", (source,), {}
    yield "descendants_at_distance", (source, chance.randrange(-1, 4)), {}
    yield "descendants", (source,), {}
    yield "ancestors", (source,), {}
    for weight in ("weight", None, "price"):
        bounds = {"cutoff": cutoff, "weight": weight}
        for name in ("single_source_dijkstra", "single_source_dijkstra_path", "single_source_dijkstra_path_length"):
            yield name, (source,), bounds
        for name in ("multi_source_dijkstra", "multi_source_dijkstra_path", "multi_source_dijkstra_path_length"):
            yield name, (chance.choice([several, set(several)]),), bounds
        for name in ("all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length"):
            yield name, (), bounds
        yield "dijkstra_predecessor_and_distance", (source,), bounds
        yield "single_source_dijkstra", (source, target), bounds
        yield "dijkstra_path", (source, target), {"weight": weight}
        yield "dijkstra_path_length", (source, target), {"weight": weight}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(5))
def test_searches_are_those_of_networkx(seed: int, weights: str) -> None:
    chance = random.Random(f"{seed} {weights}")
    graph = graph_of(chance, weights)
    for name, args, kwargs in searches(chance, graph):
        function = getattr(nx, name)
        expected = outcome(function, graph, *args, **kwargs)
        assert outcome(function, graph, *args, backend="laneway", **kwargs) == expected, (name, args, kwargs)


def test_many_of_one_distance() -> None:
    """Levels of more nodes than Python's own sorting takes, and rows that are not sorted."""
    chance = random.Random(5)
    graph = nx.DiGraph()
    graph.add_edges_from((chance.randrange(3000), chance.randrange(3000)) for _ in range(30000))
    for edge in graph.edges:
        graph.edges[edge]["weight"] = chance.randrange(4)
    for name in ("single_source_shortest_path", "single_target_shortest_path_length", "predecessor"):
        assert outcome(getattr(nx, name), graph, 7, backend="laneway") == outcome(getattr(nx, name), graph, 7), name
    expected = outcome(nx.single_source_dijkstra, graph, 7)
    assert outcome(nx.single_source_dijkstra, graph, 7, backend="laneway") == expected


def test_sums_of_decimals_are_rounded_as_networkx_rounds_them() -> None:
    graph = nx.Graph()
    nx.add_path(graph, "abcd", weight=0.1)
    nx.add_path(graph, "aefd", weight=0.1)
    graph.edges["e", "f"]["weight"], graph.edges["f", "d"]["weight"] = 0.15, 0.05
    lengths = nx.single_source_dijkstra_path_length(graph, "a", backend="laneway")
    assert lengths == nx.single_source_dijkstra_path_length(graph, "a")
    assert lengths["d"] == min(0.1 + 0.1 + 0.1, 0.1 + 0.15 + 0.05) != 0.1 + 0.1 + 0.1


@pytest.mark.parametrize("seed", range(20))
def test_structure_is_that_of_networkx(seed: int) -> None:
    chance = random.Random(f"structure {seed}")
    graph = graph_of(chance, "one")
    nodes = list(graph)
    weakly = "weakly_" if graph.is_directed() else ""
    calls: list[tuple[str, dict[str, Any]]] = [
        (f"{weakly}connected_components", {}),
        (f"number_{weakly}connected_components", {}),
        (f"is_{weakly}connected", {}),
    ]
    if not graph.is_directed():
        calls += [("node_connected_component", {"n": nodes[-1]}), ("triangles", {}), ("transitivity", {})]
        for chosen in (None, nodes[0], chance.sample(nodes, len(nodes) // 2), [*nodes[:1], "nowhere"], [[]], 10**6):
            calls += [("triangles", {"nodes": chosen}), ("clustering", {"nodes": chosen})]
        calls += [("average_clustering", {}), ("average_clustering", {"count_zeros": False})]
    for name, kwargs in calls:
        function = getattr(nx, name)
        try:
            expected = outcome(function, graph, **kwargs)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                function(graph, backend="laneway", **kwargs)
            continue
        assert outcome(function, graph, backend="laneway", **kwargs) == expected, (name, kwargs)


def communities(graph: Any, **options: Any) -> Any:
    found = nx.community.label_propagation_communities(graph, **options)
    return type(found), [list(nodes) for nodes in found]


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:2", "cpu:3", "cpu:4", "checked:2"])
def test_communities_are_those_of_networkx(devices: str) -> None:
    nx.config.backends.laneway.devices = devices
    for seed in range(25 if devices.startswith("checked") else 100):
        graph = graph_of(random.Random(f"communities {seed}"), "one")
        assert outcome(communities, graph, backend="laneway") == outcome(communities, graph), seed


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_communities_of_large_graphs(kind: Any) -> None:
    """Hubs, many classes, labels that travel far, and loops at every tenth node."""
    graphs = [nx.barabasi_albert_graph(1500, 4, seed=1), nx.random_internet_as_graph(800, seed=2)]
    graphs += [nx.gnp_random_graph(300, 0.1, seed=3), nx.path_graph(2000), nx.grid_2d_graph(30, 40)]
    graphs += [nx.powerlaw_cluster_graph(1000, 6, 0.7, seed=4), nx.complete_graph(40), nx.star_graph(3000)]
    for drawn in graphs:
        graph = kind(drawn)
        graph.add_edges_from([(node, node) for node in list(graph)[::10]])
        graph.add_edges_from(list(drawn.edges)[::3])
        assert communities(graph, backend="laneway") == communities(graph), drawn

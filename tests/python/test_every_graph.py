"""Every graph program on every graph that is at hand, equal to SciPy or to one core, on any devices.

What the package compares with one core of its own is also compared with SciPy and NumPy, on small graphs and on shapes:
`independent_answers` and `corners`.

What takes more than some four seconds of a core waits for LANEWAY_LONG=1, and a smaller one of its kind, or fewer
devices, stand for it: see `takes_long`, SHAPES, FEW_DEVICES and LONG_SHAPES. On a path of 10^6 vertices nothing is done
side by side: a level is a round, which has barriers where there are several devices, and by other methods a device
waits until the search comes to its part. Ranks of a star swing between hub and leaves for many rounds. A
complete graph of 3,000 vertices has 4.5 billion triangles, and ranks by residual push are compared anew for each list
of devices.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import independent_answers
import laneway as lw
import numpy as np
import pytest
from conftest import GPUS, ROOT
from laneway.references import cc, cdlp, color, pagerank, paths, triangles
from laneway.verification import Verification

FOLDER = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "graphs"
LONG = bool(os.environ.get("LANEWAY_LONG"))
TIMEOUT = 1800.0 if LONG else 60.0  # of a run, in seconds
DEVICES = ["cpu:1", "cpu:3"] + [f"cuda:0-{last}" for last in range(GPUS)] + (["cuda:0,cpu:2"] if GPUS else [])
SMALL = ["4elt.graph.gz", "bcsstk13.mtx.gz", "bremen_dist.gr.gz", "facebook_combined.txt.gz", "wiki-Vote.txt.gz"]
LARGE = [
    *("USA-road-d.NY.gr.gz", "copter2.graph.gz", "pace16-NW.gr.xz", "pace16-NY.gr.xz", "soc-Slashdot0902.txt.gz"),
]
QUICK_ON_NW = ("bfs", "bfs by levels", "sssp by near-far", "cc", "cc by router")
OTHER_FILES = {"USA-road-d.NY.co.gz"}  # coordinates
ROUNDS = 4  # of label propagation

Answer = tuple["np.ndarray[Any, Any]", Callable[[], Verification]]
"""One value a vertex, and a comparison with a reference."""


def searched(program: Callable[..., Any], method: str, unit: bool) -> Callable[[lw.Graph, str], Answer]:
    def run(graph: lw.Graph, devices: str) -> Answer:
        source = graph.id_of(0)
        found = program(graph, source, method=method, devices=devices, timeout=TIMEOUT).distance.values
        return found, lambda: paths.verify(graph, [source], found, unit)

    return run


def ranked(method: str) -> Callable[[lw.Graph, str], Answer]:
    def run(graph: lw.Graph, devices: str) -> Answer:
        result = lw.pagerank(graph, method=method, tol=1e-3 / graph.vertices, devices=devices, timeout=TIMEOUT)
        return result.rank.values, lambda: pagerank.verify(graph, result)

    return run


def joined(method: str) -> Callable[[lw.Graph, str], Answer]:
    def run(graph: lw.Graph, devices: str) -> Answer:
        result = lw.connected_components(graph, method=method, devices=devices, timeout=TIMEOUT)
        return result.component.values, lambda: cc.verify(graph, result)

    return run


def counted(graph: lw.Graph, devices: str) -> Answer:
    result = lw.triangles(graph, devices=devices, timeout=TIMEOUT)
    return result.triangles.values, lambda: triangles.verify_triangles(graph, result)


def clustered(graph: lw.Graph, devices: str) -> Answer:
    result = lw.local_clustering(graph, devices=devices, timeout=TIMEOUT)
    return result.coefficient.values, lambda: triangles.verify_clustering(graph, result)


def labelled(graph: lw.Graph, devices: str) -> Answer:
    result = lw.label_propagation(graph, rounds=ROUNDS, devices=devices, timeout=TIMEOUT)
    return result.label.values, lambda: cdlp.verify(graph, result, ROUNDS)


def coloured(graph: lw.Graph, devices: str) -> Answer:
    result = lw.color(graph, devices=devices, timeout=TIMEOUT)
    return result.color.values, lambda: color.verify(graph, result)


PROGRAMS = {
    "bfs": searched(lw.bfs, "asynchronous", True),
    "bfs by levels": searched(lw.bfs, "levels", True),
    "sssp": searched(lw.sssp, "asynchronous", False),
    "sssp by near-far": searched(lw.sssp, "near-far", False),
    "cc": joined("afforest"),
    "cc by router": joined("router"),
    "pagerank": ranked("pull"),
    "pagerank by push": ranked("push"),
    "triangles": counted,
    "lcc": clustered,
    "cdlp": labelled,
    "color": coloured,
}


def check(
    name: str, graph: lw.Graph, expected: np.ndarray[Any, Any] | None = None, lists: list[str] = DEVICES
) -> np.ndarray[Any, Any] | None:
    """The answer, the same on all devices, and that of the reference; ranks that are pushed are near it on each."""
    first = expected
    for devices in lists:
        values, verify = PROGRAMS[name](graph, devices)
        if first is None or name == "pagerank by push":
            checked = verify()
            assert (checked.mismatches, checked.first_mismatch) == (0, ""), devices
            first = values
        else:
            assert np.array_equal(values, first), devices
    return first


INDEPENDENT = {
    "cc": independent_answers.components,
    "cc by router": independent_answers.components,
    "triangles": independent_answers.triangles,
    "lcc": independent_answers.clustering,
    "cdlp": lambda graph: independent_answers.labels(graph, ROUNDS),
}


def check_independently(name: str, graph: lw.Graph, values: np.ndarray[Any, Any]) -> None:
    """Equal to what this library's core has no part in."""
    if name in INDEPENDENT:
        assert np.allclose(values, INDEPENDENT[name](graph), rtol=0, atol=1e-15)
    elif name == "color":
        tails, heads = independent_answers.matrix_of(graph).nonzero()
        assert (values[tails] != values[heads]).all()


@lru_cache(maxsize=1)
def read(name: str) -> lw.Graph:
    return lw.read_graph(FOLDER / name, unweighted=name.startswith("bcsstk13"))  # whose entries are no lengths


@pytest.mark.skipif(not FOLDER.exists(), reason="shared data not at hand")
def test_all_graphs_are_named() -> None:
    assert {path.name for path in FOLDER.iterdir()} - OTHER_FILES == {*SMALL, *LARGE}


def takes_long(name: str, program: str) -> bool:
    if name not in LARGE:
        return False
    return program == "pagerank by push" or (name == "pace16-NW.gr.xz" and program not in QUICK_ON_NW)


def pair(name: str, program: str) -> Any:
    skip = pytest.mark.skipif(takes_long(name, program) and not LONG, reason="long: LANEWAY_LONG=1 runs it")
    return pytest.param(name, program, marks=skip)


@pytest.mark.skipif(not FOLDER.exists(), reason="shared data not at hand")
@pytest.mark.parametrize(("name", "program"), [pair(name, program) for name in SMALL + LARGE for program in PROGRAMS])
def test_graphs(name: str, program: str) -> None:
    values = check(program, read(name))
    if name in SMALL:
        check_independently(program, read(name), values)


def star(leaves: int) -> lw.Graph:
    """The hub is in the middle of the numbers."""
    ends = np.delete(np.arange(leaves + 1), leaves // 2)
    return lw.Graph.from_edges(np.column_stack([np.full(leaves, leaves // 2), ends]), directed=False)


def path(vertices: int) -> lw.Graph:
    ends = np.arange(vertices)
    return lw.Graph.from_edges(np.column_stack([ends[:-1], ends[1:]]), directed=False)


def complete(vertices: int) -> lw.Graph:
    heads = np.tile(np.arange(vertices), (vertices, 1))[~np.eye(vertices, dtype=bool)]
    return lw.Graph.from_csr(np.arange(vertices + 1) * (vertices - 1), heads)


@lru_cache(maxsize=1)
def shape(name: str) -> lw.Graph:
    make, size = {"star": star, "path": path, "complete": complete}[name.split()[0]], int(name.split()[1])
    return make(size)


def corners(name: str, program: str, vertices: int) -> np.ndarray[Any, Any] | None:
    """Triangles and coefficients, which the references find by looking at all pairs of neighbours."""
    if program not in ("triangles", "lcc"):
        return None
    each = (vertices - 1) * (vertices - 2) // 2 if name.startswith("complete") else 0
    return np.full(vertices, each if program == "triangles" else float(each > 0))


SLOW = ("bfs", "sssp", "sssp by near-far", "pagerank by push")
SHAPES = {
    "star 1000000": [name for name in PROGRAMS if not name.startswith("pagerank")],
    "star 100000": ["pagerank", "pagerank by push"],
    "path 1000000": [name for name in PROGRAMS if name not in (*SLOW, "bfs by levels")],
    "path 100000": [*SLOW],
    "path 5000": ["bfs by levels"],
    "complete 3000": [name for name in PROGRAMS if name not in ("triangles", "lcc", "pagerank by push")],
    "complete 500": ["triangles", "lcc", "pagerank by push"],
}
FEW_DEVICES = {
    "star 1000000": {"pagerank": ["cpu:2"], "pagerank by push": ["cpu:1", "cpu:2"]},
    "path 1000000": {**{program: ["cpu:1", "cpu:2"] for program in SLOW}, "bfs by levels": ["cpu:1"]},
}
LONG_SHAPES = {
    "star 1000000": ["pagerank", "pagerank by push"],
    "path 1000000": [*SLOW, "bfs by levels"],
    "complete 3000": ["triangles", "lcc", "pagerank by push"],
}


@pytest.mark.parametrize(("name", "program"), [(name, program) for name, some in SHAPES.items() for program in some])
def test_shapes(name: str, program: str) -> None:
    graph = shape(name)
    wanted = corners(name, program, graph.vertices)
    values = check(program, graph, wanted)
    if wanted is None and program != "cdlp":  # whose labels take NumPy half a minute to count
        check_independently(program, graph, values)


@pytest.mark.parametrize(
    ("name", "program"), [(name, program) for name, some in FEW_DEVICES.items() for program in some]
)
def test_larger_shapes_on_few_devices(name: str, program: str) -> None:
    check(program, shape(name), lists=FEW_DEVICES[name][program])


@pytest.mark.skipif(not LONG, reason="long: LANEWAY_LONG=1 runs it")
@pytest.mark.parametrize(
    ("name", "program"), [(name, program) for name, some in LONG_SHAPES.items() for program in some]
)
def test_larger_shapes(name: str, program: str) -> None:
    test_shapes(name, program)

"""Every graph program on every graph that is at hand, equal to SciPy or to one core, on any devices.

What takes long waits for LANEWAY_LONG, and a smaller one of its kind stands for it: see LARGE and SHAPES. Not run at
all are levels and colours on a path of 10^6 vertices: each level is a round, and so is each link of a chain of vertices
that wait for each other; a round has barriers, so that one of 10^5 takes ten seconds of two cores as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS, ROOT
from laneway.references import cc, cdlp, color, pagerank, paths, triangles
from laneway.verification import Verification

FOLDER = Path(os.environ.get("LANEWAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "graphs"
LONG = bool(os.environ.get("LANEWAY_LONG"))
DEVICES = ["cpu:1", "cpu:3"] + [f"cuda:0-{last}" for last in range(GPUS)] + (["cuda:0,cpu:2"] if GPUS else [])
SMALL = ["4elt.graph.gz", "bcsstk13.mtx.gz", "bremen_dist.gr.gz", "facebook_combined.txt.gz", "wiki-Vote.txt.gz"]
LARGE = [
    *("USA-road-d.NY.gr.gz", "copter2.graph.gz", "pace16-NW.gr.xz", "pace16-NY.gr.xz", "soc-Slashdot0902.txt.gz"),
]
OTHER_FILES = {"USA-road-d.NY.co.gz"}  # coordinates
ROUNDS = 4  # of label propagation

Answer = tuple["np.ndarray[Any, Any]", Callable[[], Verification]]
"""One value a vertex, and a comparison with a reference."""


def searched(program: Callable[..., Any], method: str, unit: bool) -> Callable[[lw.Graph, str], Answer]:
    def run(graph: lw.Graph, devices: str) -> Answer:
        source = graph.id_of(0)
        found = program(graph, source, method=method, devices=devices).distance.values
        return found, lambda: paths.verify(graph, [source], found, unit)

    return run


def ranked(method: str) -> Callable[[lw.Graph, str], Answer]:
    def run(graph: lw.Graph, devices: str) -> Answer:
        result = lw.pagerank(graph, method=method, tol=1e-3 / graph.vertices, devices=devices)
        return result.rank.values, lambda: pagerank.verify(graph, result)

    return run


def joined(method: str) -> Callable[[lw.Graph, str], Answer]:
    def run(graph: lw.Graph, devices: str) -> Answer:
        result = lw.connected_components(graph, method=method, devices=devices)
        return result.component.values, lambda: cc.verify(graph, result)

    return run


def counted(graph: lw.Graph, devices: str) -> Answer:
    result = lw.triangles(graph, devices=devices)
    return result.triangles.values, lambda: triangles.verify_triangles(graph, result)


def clustered(graph: lw.Graph, devices: str) -> Answer:
    result = lw.local_clustering(graph, devices=devices)
    return result.coefficient.values, lambda: triangles.verify_clustering(graph, result)


def labelled(graph: lw.Graph, devices: str) -> Answer:
    result = lw.label_propagation(graph, rounds=ROUNDS, devices=devices)
    return result.label.values, lambda: cdlp.verify(graph, result, ROUNDS)


def coloured(graph: lw.Graph, devices: str) -> Answer:
    result = lw.color(graph, devices=devices)
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


def check(name: str, graph: lw.Graph, expected: np.ndarray[Any, Any] | None = None) -> None:
    """The same answer on all devices, and that of the reference; ranks that are pushed are near it on each."""
    first = expected
    for devices in DEVICES:
        values, verify = PROGRAMS[name](graph, devices)
        if first is None or name == "pagerank by push":
            checked = verify()
            assert (checked.mismatches, checked.first_mismatch) == (0, ""), devices
            first = values
        else:
            assert np.array_equal(values, first), devices


@lru_cache(maxsize=1)
def read(name: str) -> lw.Graph:
    return lw.read_graph(FOLDER / name, unweighted=name.startswith("bcsstk13"))  # whose entries are no lengths


@pytest.mark.skipif(not FOLDER.exists(), reason="shared data not at hand")
def test_all_graphs_are_named() -> None:
    assert {path.name for path in FOLDER.iterdir()} - OTHER_FILES == {*SMALL, *LARGE}


@pytest.mark.skipif(not FOLDER.exists(), reason="shared data not at hand")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "name", SMALL + [pytest.param(n, marks=pytest.mark.skipif(not LONG, reason="long")) for n in LARGE]
)
def test_graphs(name: str, program: str) -> None:
    check(program, read(name))


def star(leaves: int) -> lw.Graph:
    """The hub is in the middle of the numbers."""
    ends = np.delete(np.arange(leaves + 1), leaves // 2)
    return lw.Graph.from_edges(np.column_stack([np.full(leaves, leaves // 2), ends]), directed=False)


def path(vertices: int) -> lw.Graph:
    ends = np.arange(vertices)
    return lw.Graph.from_edges(np.column_stack([ends[:-1], ends[1:]]), directed=False)


def complete(vertices: int) -> lw.Graph:
    every = np.arange(vertices)
    tails, heads = np.repeat(every, vertices), np.tile(every, vertices)
    return lw.Graph.from_edges(np.column_stack([tails, heads])[tails != heads])


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


SLOW = ("color", "sssp", "sssp by near-far", "pagerank by push")
SHAPES = {
    "star 1000000": [name for name in PROGRAMS if not name.startswith("pagerank")],
    "star 100000": ["pagerank", "pagerank by push"],
    "path 1000000": [name for name in PROGRAMS if name not in (*SLOW, "bfs by levels")],
    "path 100000": [*SLOW],
    "path 20000": ["bfs by levels"],
    "complete 3000": [name for name in PROGRAMS if name not in ("triangles", "lcc", "pagerank by push")],
    "complete 1000": ["triangles", "lcc", "pagerank by push"],
}
LONG_SHAPES = {
    "star 1000000": ["pagerank", "pagerank by push"],
    "path 1000000": ["sssp", "sssp by near-far", "pagerank by push"],
    "path 100000": ["bfs by levels"],
    "complete 3000": ["triangles", "lcc", "pagerank by push"],
}


@pytest.mark.parametrize(("name", "program"), [(name, program) for name, some in SHAPES.items() for program in some])
def test_shapes(name: str, program: str) -> None:
    graph = shape(name)
    check(program, graph, corners(name, program, graph.vertices))


@pytest.mark.skipif(not LONG, reason="long")
@pytest.mark.parametrize(
    ("name", "program"), [(name, program) for name, some in LONG_SHAPES.items() for program in some]
)
def test_larger_shapes(name: str, program: str) -> None:
    test_shapes(name, program)

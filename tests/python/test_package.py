"""The Python calls: arrays, arguments, errors."""

from __future__ import annotations

import gc
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import laneway as lw
import numpy as np
import pytest
from conftest import SMALL_DISTANCES, SMALL_LEVELS, divisions
from laneway import api
from laneway.public_names import MODULES
from programs import run_program


def test_each_name_is_found_in_its_module() -> None:
    assert set(MODULES) == set(api.__all__) - {"__version__", "devices", "flow"}
    for name, module in MODULES.items():
        assert getattr(import_module(module), name) is getattr(api, name) is getattr(lw, name)


def test_scripts_load_what_they_use() -> None:
    program = "import sys, laneway as lw; lw.sssp, lw.read_graph; print(*sys.modules)"
    done = run_program([sys.executable, "-c", program])
    assert (done.returncode, done.stderr) == (0, "")
    loaded = [name for name in done.stdout.split() if name.startswith("laneway.")]
    assert "laneway.programs.paths" in loaded
    assert [name for name in loaded if name.startswith(("laneway.api", "laneway.traces", "laneway.task_pool"))] == []


@pytest.fixture
def graph(small: Path) -> lw.Graph:
    return lw.read_graph(small)


def test_graph_views(graph: lw.Graph) -> None:
    assert (graph.vertices, graph.arcs, graph.weighted) == (6, 8, True)
    assert graph.offsets.tolist() == [0, 3, 5, 7, 7, 8, 8]
    assert graph.heads.tolist() == [1, 1, 3, 2, 3, 2, 0, 5]
    assert graph.weights.tolist() == [7, 4, 100, 0, 10, 5, 2, 1]
    assert graph.heads.dtype == np.uint32
    assert not graph.heads.flags.writeable
    assert (graph.index_of(1), graph.id_of(5)) == (0, 6)


def test_views_keep_the_graph_alive(small: Path) -> None:
    heads = lw.read_graph(small).heads
    gc.collect()
    assert heads.tolist() == [1, 1, 3, 2, 3, 2, 0, 5]


def test_wide_ids(small: Path) -> None:
    graph = lw.read_graph(small, ids=64)
    assert graph.heads.dtype == np.uint64
    assert lw.sssp(graph, 1, devices="cpu:2").distance.tolist() == SMALL_DISTANCES


def test_directions(small: Path, tmp_path: Path) -> None:
    both_ways = lw.read_graph(small, directed=False)
    assert both_ways.arcs == 2 * 8 - 1  # a self-loop is one arc
    assert lw.read_graph(small, directed=True).arcs == lw.read_graph(small).arcs == 8
    for directed, arcs in ((False, 15), (True, 8), (None, 8)):  # a cache entry is of one kind
        assert lw.read_graph(small, directed=directed, cache=tmp_path / "cache").arcs == arcs


@pytest.mark.parametrize("ids", [0, 33, -32, 2**70, 32.0, "32"])
def test_wrong_width(small: Path, ids: int) -> None:
    with pytest.raises(lw.UsageError, match="32 or 64"):
        lw.read_graph(small, ids=ids)


def test_a_path_is_no_graph(small: Path) -> None:
    with pytest.raises(lw.UsageError, match="read_graph"):
        lw.sssp(str(small), 1)


def test_places_and_numbers(tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    path.write_text("# ids with gaps\n10 1000000\n1000000 70\n")
    graph = lw.read_graph(path)
    assert [graph.id_of(place) for place in range(3)] == [10, 70, 1000000]
    assert repr(graph) == "<laneway.Graph: 3 vertices, 2 arcs>"
    with pytest.raises(lw.UsageError, match="place 3 is outside a graph of 3 vertices"):
        graph.id_of(3)


def test_results_outlive_everything_else(graph: lw.Graph) -> None:
    result = lw.sssp(graph, source=1, devices="cpu:2")
    report = result.report
    matrix = report.messages
    del result, report, graph
    gc.collect()
    assert matrix.shape == (2, 2)


@pytest.mark.parametrize("partition", [None, *divisions(), [0, 1, 0, 1, 1, 0], np.array([1, 1, 1, 1, 1, 1])])
def test_partitions(graph: lw.Graph, partition: object) -> None:
    assert lw.sssp(graph, 1, devices="cpu:2", partition=partition).distance.tolist() == SMALL_DISTANCES
    assert lw.bfs(graph, 1, devices="cpu:2", partition=partition).distance.tolist() == SMALL_LEVELS, partition


@pytest.mark.parametrize("delta", [1, 3, 10**6])
def test_any_delta_gives_the_same_answer(graph: lw.Graph, delta: int) -> None:
    result = lw.sssp(graph, 1, devices="cpu:2", delta=delta)
    assert result.distance.tolist() == SMALL_DISTANCES
    assert result.delta == delta
    assert result.reached == 4
    assert result.checksum == 2 * 4 + 3 * 4 + 4 * 14


def test_audit(new_york: Path) -> None:
    report = lw.sssp(lw.read_graph(new_york), 1, devices="cpu:3", progress=True).report
    assert report.devices == ["cpu:0", "cpu:1", "cpu:2"]
    assert report.posted == report.direct + report.carried
    assert report.carried == report.served == report.messages.sum() > 0
    assert (np.diag(report.messages) == 0).all()
    assert (report.bytes >= report.messages * 4).all()
    assert report.progress.shape[1] == 3
    assert len(report.buffer_bytes) == 3
    assert 3 * 64 * 8192 / 2 < max(report.buffer_bytes) <= 2**28, "rings from two devices"


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": 0},
        {"source": 7},
        {"source": -1},
        {"source": 2**70},
        {"source": 1.5},
        {"source": "1"},
        {"devices": None},
        {"devices": ["cpu:1", "cpu:2"]},
        {"delta": 2.5},
        {"seed": None},
        {"devices": "tpu"},
        {"delta": 0},
        {"seed": -1},
        {"timeout": 0},
        {"timeout": "60"},
        {"timeout": float("nan")},
        {"buffer_bytes": 0},
        {"buffer_bytes": 1e6},
        {"buffer_bytes": 1000},
        {"partition": "fair"},
        {"partition": [0, 1]},
        {"partition": [0, 0, 0, 0, 0, 5]},
        {"partition": [0.5] * 6},
        {"partition": [-1] * 6},
    ],
)
def test_wrong_arguments(graph: lw.Graph, arguments: dict[str, object]) -> None:
    with pytest.raises(lw.UsageError) as caught:
        lw.sssp(graph, **{"source": 1, "devices": "cpu:2", **arguments})
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_no_run_is_without_a_deadline(graph: lw.Graph) -> None:
    with pytest.raises(lw.UsageError, match=r"^timeout must be .* below 1e9, not None: every run has a deadline$"):
        lw.sssp(graph, 1, devices="cpu:1", timeout=None)
    for timeout in (np.float32(20), np.int64(20), 20):
        assert lw.sssp(graph, 1, devices="cpu:1", timeout=timeout).reached == 4


def test_deadline(new_york: Path) -> None:
    with pytest.raises(lw.TimeoutError) as caught:
        lw.sssp(lw.read_graph(new_york), 1, devices="cpu:2", timeout=1e-6)
    assert isinstance(caught.value, TimeoutError)


def test_one_vertex_and_no_arcs(tmp_path: Path) -> None:
    path = tmp_path / "one.gr"
    path.write_text("p sp 1 0\n")
    assert lw.sssp(lw.read_graph(path), 1, devices="cpu:3").distance.tolist() == [0]


def test_distances_over_32_bits(tmp_path: Path) -> None:
    path = tmp_path / "far.gr"
    n, weight = 50, 2**32 - 1
    path.write_text(f"p sp {n} {n - 1}\n" + "".join(f"a {i} {i + 1} {weight}\n" for i in range(1, n)))
    distance = lw.sssp(lw.read_graph(path), 1, devices="cpu:2").distance
    assert distance.tolist() == [i * weight for i in range(n)]


def test_devices_are_listed_with_reasons() -> None:
    found = lw.devices()
    assert repr(found[-1]).startswith("Device(name='checked', description='CPU devices")
    assert any(device.name == "cpu" and device.usable for device in found)
    assert all(device.usable != bool(device.reason) for device in found)


@pytest.mark.parametrize(
    "module", ["points", "atoms", "references.kmeans", "references.md", "pending_file", "job", "cluster"]
)
def test_any_module_may_be_loaded_first(module: str) -> None:
    words = [sys.executable, "-c", f"import laneway.{module}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")

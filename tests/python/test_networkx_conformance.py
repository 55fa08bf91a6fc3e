"""NetworkX's own tests of the functions that the backend offers, run by NetworkX with Laneway in their place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

networkx = pytest.importorskip("networkx", minversion="3.2")
from laneway.networkx_backend.table import OFFERED  # noqa: E402
from laneway.networkx_backend.versions import older_than  # noqa: E402

SUITES = (
    "shortest_paths.tests.test_generic",
    "shortest_paths.tests.test_unweighted",
    "shortest_paths.tests.test_weighted",
    "link_analysis.tests.test_pagerank",
    "centrality.tests.test_degree_centrality",
    "traversal.tests.test_bfs",
    "components.tests.test_connected",
    "components.tests.test_weakly_connected",
    "coloring.tests.test_coloring",
    "community.tests.test_label_propagation",
    "tests.test_cluster",
    "tests.test_dag",
)
LEFT = {
    "shortest_path": 0.6,
    "shortest_path_length": 0.2,
    "single_source_dijkstra": 0.3,
    "multi_source_dijkstra": 0.5,
    "dijkstra_path_length": 0.2,
    "bfs_edges": 0.1,
    "greedy_color": 0.9,
    "clustering": 0.8,
    "average_clustering": 0.65,
}
"""Of the calls of these functions, the share that `can_run` may leave to NetworkX: functions as weights, strategies
that choose as they go, triangles of directed or weighted graphs. Of all others it may leave none."""

if any(find_spec(f"networkx.algorithms.{suite}") is None for suite in SUITES):
    pytest.skip("this NetworkX does not carry its tests", allow_module_level=True)


def test_the_tests_of_networkx(tmp_path: Path) -> None:
    calls = tmp_path / "calls.json"
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "NETWORKX_TEST_BACKEND": "laneway",
        "NETWORKX_FALLBACK_TO_NX": "True",
        "LANEWAY_NETWORKX_DEVICES": "cpu:2",
        "LANEWAY_TEST_CALLS": str(calls),
    }
    words = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "networkx_conformance"]
    words += ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "--tb=short", "--pyargs"]
    words += [f"networkx.algorithms.{suite}" for suite in SUITES]
    if older_than("3.4"):  # whose tests do not convert graphs of another backend
        words += ["-k", "not test_connected_components"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert passed is not None and int(passed.group(1)) > 200, done.stdout[-2000:]
    told = json.loads(calls.read_text())
    ran, refused = told["ran"], told["refused"]
    assert set(OFFERED) - set(ran) == set(), "offered, and never run"
    assert sum(refused.values()) <= sum(ran.values()) // 50, refused
    check_what_is_left(ran, told["left"])


def check_what_is_left(ran: dict[str, int], left: dict[str, dict[str, int]]) -> None:
    """Calls that `can_run` leaves to NetworkX run there, and would pass whatever the backend does."""
    for name, reasons in left.items():
        count = sum(reasons.values())
        assert count <= LEFT.get(name, 0) * (count + ran.get(name, 0)), (name, reasons)
        assert older_than("3.3") or "False" not in reasons, f"{name}: arguments that the function does not take"

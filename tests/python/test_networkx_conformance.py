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
    "tests.test_cluster",
    "tests.test_dag",
)
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

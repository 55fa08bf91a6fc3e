"""Python ends while daemon threads are in compiled calls: no abort, and nothing on standard error."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALLS = """
import sys, threading
import numpy as np
import laneway as lw

graph = lw.generate_kronecker(10, arcs=20000)
points = np.random.default_rng(1).random((20000, 4))
session = lw.Session(devices="cpu:2")
begun = threading.Barrier(2)

def for_ever():
    begun.wait(60)
    while True:
        %s

threading.Thread(target=for_ever, daemon=True).start()
begun.wait(60)
threading.Event().wait(0.3)
print("end", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        'lw.sssp(graph, 0, devices="cpu:2")',
        "session.bfs(graph, 0)",
        "lw.generate_kronecker(12, arcs=50000)",
        'lw.kmeans(points, 8, devices="cpu:2")',
    ],
)
def test_python_ends_amid_a_call(call: str) -> None:
    done = subprocess.run([sys.executable, "-c", CALLS % call], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")

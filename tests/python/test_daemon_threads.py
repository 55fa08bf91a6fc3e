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


BATCHES = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import laneway as lw

source = "#include <unistd.h>\\ndouble nap(double s) { usleep(unsigned(s * 1e6)); return s; }"
lw.run_batch(source, np.array([0.0]), name="nap", devices="cpu:1")
threads = ThreadPoolExecutor(1)
for _ in range(3):
    threads.submit(lw.run_batch, source, np.array([0.2]), name="nap", devices="cpu:1")
print("end", flush=True)
"""


def test_python_ends_though_batches_are_queued() -> None:
    """The executor begins what is queued behind the end of all pools: it opens no other one, which nobody would end."""
    done = subprocess.run([sys.executable, "-c", BATCHES], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr

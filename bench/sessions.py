"""Searches in a session beside as many single calls: what opening devices and setting up a graph cost each call.

Both go from the same sources by turns; every distance is compared. Prints a JSON line with the ratios of their times
and of what is left of these without the runs, each with its spread, and the machine, commit and parameters.

    .venv/bin/python bench/sessions.py --devices cpu:2
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Callable

import laneway as lw
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from measure import commit, machine
from measured_sets import NEW_YORK, ROOT


def seconds_of(searches: Callable[[], list[lw.Result]], expected: list[lw.Result]) -> tuple[float, float]:
    """Elapsed, and without the runs."""
    start = time.perf_counter()
    found = searches()
    elapsed = time.perf_counter() - start
    if found != expected:
        sys.exit("sessions.py: distances differ")
    return elapsed, elapsed - sum(result.report.run_seconds for result in found)


def spread_of(ratios: list[float]) -> dict[str, float]:
    return {name: round(of(ratios), 3) for name, of in (("median", statistics.median), ("min", min), ("max", max))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default=str(ROOT / NEW_YORK))
    parser.add_argument("--devices", default="")
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    graph = lw.read_graph(given.graph)
    sources = np.random.default_rng(1).choice(graph.ids, given.calls).tolist()

    def alone() -> list[lw.Result]:
        return [lw.sssp(graph, source, devices=given.devices) for source in sources]

    def together() -> list[lw.Result]:
        with lw.Session(devices=given.devices) as session:
            return [session.sssp(graph, source) for source in sources]

    expected = alone()  # which warms up
    pairs = [(seconds_of(together, expected), seconds_of(alone, expected)) for _ in range(given.runs)]
    row = {
        "session_over_single_calls": spread_of([inside[0] / outside[0] for inside, outside in pairs]),
        "without_runs": spread_of([inside[1] / outside[1] for inside, outside in pairs]),
        **vars(given),
        "graph": Path(given.graph).name,
        "machine": machine(),
        "commit": commit(),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()

"""Shortest paths on the New York road network, over the devices that are named.

Usage: shortest_paths.py [GRAPH [SOURCE [DEVICES]]]     DEVICES as "cpu:4" or "cuda"; empty: every GPU,
else one CPU device a core.
"""

from __future__ import annotations

import sys
from pathlib import Path

import laneway as lw
import numpy as np

NEW_YORK = Path(__file__).resolve().parent.parent / "data" / "USA-road-d.NY.gr.gz"


def main(path: str = str(NEW_YORK), source: str = "1", devices: str = "") -> None:
    graph = lw.read_graph(path)
    result = lw.sssp(graph, int(source), devices=devices)

    distance = result.distance  # int64, one entry a vertex, -1 where unreachable
    reached = distance[distance >= 0]
    print(f"{graph.vertices:,} vertices, {graph.arcs:,} arcs, {result.reached:,} reached")
    print(f"median distance {int(np.median(reached)):,}, farthest {reached.max():,}, sum {reached.sum():,}")

    report = result.report
    print(f"{', '.join(report.devices)}: {report.posted:,} messages posted, {report.carried:,} carried and served")
    print(f"least expansions {result.min_items:,}, done {result.items:,}, in {report.run_seconds * 1e3:.1f} ms")

    hops = lw.bfs(graph, int(source), devices=devices).distance
    print(f"farthest by number of arcs: {hops.max():,}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except ValueError as error:  # lw.UsageError is one
        sys.exit(f"shortest_paths.py: {error}")

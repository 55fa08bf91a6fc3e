"""What a device holds of a graph: its part, so that one that does not fit one device fits several."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import laneway as lw
import pytest

PROGRAMS: dict[str, Callable[[lw.Graph, str], Any]] = {
    "bfs": lambda graph, devices: lw.bfs(graph, 0, devices=devices),
    "bfs by levels": lambda graph, devices: lw.bfs(graph, 0, method="levels", devices=devices),
    "sssp": lambda graph, devices: lw.sssp(graph, 0, devices=devices),
    "sssp by near-far": lambda graph, devices: lw.sssp(graph, 0, method="near-far", devices=devices),
    "pagerank": lambda graph, devices: lw.pagerank(graph, devices=devices),
    "pagerank by push": lambda graph, devices: lw.pagerank(graph, method="push", devices=devices),
    "cc": lambda graph, devices: lw.connected_components(graph, devices=devices),
    "triangles": lambda graph, devices: lw.triangles(graph, devices=devices),
    "lcc": lambda graph, devices: lw.local_clustering(graph, devices=devices),
    "cdlp": lambda graph, devices: lw.label_propagation(graph, devices=devices),
    "color": lambda graph, devices: lw.color(graph, devices=devices),
}


@lru_cache(1)
def graph() -> lw.Graph:
    return lw.generate_kronecker(14, 1 << 19, seed=3)


def held_bytes(program: str, devices: str) -> int:
    """The most that a device has held, but for its message buffers, which take more the more devices there are."""
    report = PROGRAMS[program](graph(), devices).report
    return max(held - buffers for held, buffers in zip(report.device_bytes, report.buffer_bytes, strict=True))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_device_of_four_holds_less_than_half_of_what_one_holds_alone(program: str) -> None:
    alone = held_bytes(program, "cpu:1")
    assert alone > 1 << 20
    assert 0 < held_bytes(program, "cpu:4") < alone // 2

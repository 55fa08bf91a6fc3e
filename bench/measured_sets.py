"""What bench/measure.py measures: sets of calls of the benchmark programs, each with its full inputs and with small
ones that show on CPU devices within minutes that all works."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NEW_YORK = "data/USA-road-d.NY.gr.gz"


class Call(NamedTuple):
    """One run of a benchmark of the build, or of a peer's program (bench/peers), which counts GPUs by `--pes`."""

    program: str
    arguments: dict[str, str]
    peer: bool = False


class Choice(NamedTuple):
    """What the user chose for all sets."""

    lists: list[str]  # of devices
    runs: int
    small: bool
    programs: str  # of bench_graphs

    @property
    def devices(self) -> str:
        return ";".join(self.lists)

    @property
    def pes(self) -> str:
        """Numbers of GPUs of the lists."""
        return ";".join(str(devices_of(one)) for one in self.lists if one.startswith("cuda:"))

    @property
    def teams(self) -> list[str]:
        """The lists of several devices."""
        return [one for one in self.lists if devices_of(one) > 1]


class Input(NamedTuple):
    """A graph: a file, or how to make it; where searches start; a small one in its place."""

    graph: str
    source: str
    small: str


GRAPHS = {
    "new-york": Input(NEW_YORK, "0", NEW_YORK),
    "north-west": Input("../shared/data/graphs/pace16-NW.gr.xz", "0", NEW_YORK),
    "grid": Input("grid:6000:4000:59500000", "busiest", "grid:60:40:5950"),
    "kronecker-21": Input("kronecker:21:180000000", "busiest", "kronecker:10:16384"),
    "kronecker-24": Input("kronecker:24:268435456", "busiest", "kronecker:12:32768"),
    "uniform-24": Input("uniform:24:268435456", "busiest", "uniform:12:32768"),
}
# bench_shortest_paths measures searches, beside Dijkstra's.
PROGRAMS = "sssp-near-far;bfs-levels;bfs-push;cc;cc-router;pagerank;pagerank-push;color;triangles;lcc;cdlp"


def devices_of(one: str) -> int:
    """Number of devices that a list like cuda:0-3, cuda:0-1,cpu:1 or cpu:2 names; ValueError where it is none."""
    count, kind = 0, ""
    for part in one.split(","):
        named, colon, numbers = part.partition(":")
        kind, numbers = (named, numbers or "1") if colon or not named.isdigit() else (kind, named)
        first, _, last = numbers.partition("-")
        count += int(last) - int(first) + 1 if last else 1 if kind == "cuda" else int(first)
    return count


def graph_calls(name: str, chosen: Choice) -> list[Call]:
    one = GRAPHS[name]
    graph = one.small if chosen.small else one.graph
    shared = {"graph": graph, "source": one.source, "devices": chosen.devices, "runs": str(chosen.runs)}
    if "/" in graph and not (ROOT / graph).is_file():
        print(f"measure.py: {name}: left out, there is no file {graph}", file=sys.stderr)
        return []
    return [
        Call("bench_shortest_paths", {**shared, "timeout": "60"}),
        Call("bench_graphs", {**shared, "programs": chosen.programs, "timeout": "600"}),
    ]


def update_calls(chosen: Choice) -> list[Call]:
    sizes = {"table-log2": "29", "updates-log2": "31"}
    ours = {"devices": chosen.devices, "runs": str(chosen.runs)}
    if chosen.small:
        return [Call("bench_gups", ours)]
    calls = [Call("bench_gups", {**ours, **sizes, "hpcc-updates-log2": "27"})]
    peers = {"pes": chosen.pes, **sizes, "runs": str(chosen.runs)}
    return [*calls, *(Call(program, peers, peer=True) for program in ("nvshmem_updates", "nccl_updates"))]


def kmer_calls(chosen: Choice) -> list[Call]:
    shared = {"devices": chosen.devices, "runs": str(chosen.runs)}
    genome = {"genome": "20000" if chosen.small else "100000000"}
    return [Call("bench_kmer", {"k": k, **shared, **genome}) for k in ("21", "31", "51")]


def program_calls(chosen: Choice) -> list[Call]:
    sizes = {"scale": "24", "arcs-log2": "28", "grid-side": "2048", "points-log2": "24", "table-log2": "29"}
    shared = {"devices": chosen.devices, "runs": str(chosen.runs)}
    return [Call("bench_programs", shared if chosen.small else {**shared, **sizes, "genome": "100000000"})]


def message_calls(chosen: Choice) -> list[Call]:
    rounds = {"rounds": "10" if chosen.small else "2000"}
    ours = [Call("bench_round_trip", {"devices": one, **rounds}) for one in chosen.teams]
    return [*ours, Call("nvshmem_round_trip", {"pes": chosen.pes, **rounds}, peer=True)]


def collective_calls(chosen: Choice) -> list[Call]:
    small = {"rounds": "10" if chosen.small else "2000"}
    teams = ";".join(chosen.teams)
    large = {"mib": "1" if chosen.small else "1;16;256;1024"}
    return [
        Call("bench_collectives", {"devices": teams, **small}),
        Call("bench_symmetric_collectives", {"devices": teams, **large}),
        Call("nccl_collectives", {"pes": chosen.pes, **large}, peer=True),
    ]


def empty_calls(chosen: Choice) -> list[Call]:
    return [Call("bench_empty_run", {"devices": chosen.devices, "rounds": "20" if chosen.small else "1000"})]


def work_item_calls(chosen: Choice) -> list[Call]:
    side = "40" if chosen.small else "1000"
    return [Call("bench_item_worklist", {"devices": chosen.devices, "side": side, "repeats": str(chosen.runs)})]


def dataflow_calls(chosen: Choice) -> list[Call]:
    bytes_of = {"bytes": "1000000" if chosen.small else "250000000"}
    mixed = [f"{one},cpu:1" for one in chosen.lists[:1]]
    sizes = "65536" if chosen.small else "1048576;67108864"
    rounds = {"rounds": str(chosen.runs)}
    links = {"bytes": "1048576" if chosen.small else "67108864", **rounds}
    return [
        Call("bench_filter", {"devices": ";".join(mixed + chosen.lists), **bytes_of, **rounds}),
        Call("bench_link_copies", {"devices": ";".join(chosen.lists[:2]), **links}),
        Call("bench_group_collectives", {"devices": ";".join(chosen.teams), "bytes": sizes, **rounds}),
    ]


SETS = {
    "updates": update_calls,
    "kmer": kmer_calls,
    "programs": program_calls,
    "messages": message_calls,
    "collectives": collective_calls,
    "empty-run": empty_calls,
    "work-items": work_item_calls,
    "dataflow": dataflow_calls,
}


def calls_of(name: str, chosen: Choice) -> list[Call]:
    """The calls of a set; those of peers only where there are GPUs for them."""
    found = graph_calls(name, chosen) if name in GRAPHS else SETS[name](chosen)
    return [call for call in found if call.arguments["pes" if call.peer else "devices"]]

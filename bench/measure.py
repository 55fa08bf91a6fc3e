"""Measures everything that the documents quote, and writes it down with machine, commit, date and command.

Runs the benchmark programs of a build made with LANEWAY_BENCH=ON, on one device and on growing numbers of them, beside
SciPy's Dijkstra and what of bench/peers has been built, and prints a table: the time or rate, its spread, the most
memory that a device and the host have held, and the ratio to another build. Every benchmark checks its own results.

    .venv/bin/python bench/measure.py --tree build/tree --out bench/results/h200-x4.json
    .venv/bin/python bench/measure.py --sets kronecker-24,uniform-24 --programs "pagerank-push;cc" --out new.json
    .venv/bin/python bench/measure.py --beside ../before/build/tree --out change.json
    .venv/bin/python bench/measure.py --small --devices "cpu:1;cpu:2" --out try.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from measured_sets import GRAPHS, NEW_YORK, PROGRAMS, ROOT, SETS, Call, Choice, calls_of, devices_of

Row = dict[str, object]

MAX_SECONDS = 3600
"""Of one benchmark program: one that hangs must not hold up all others."""


class Figure(NamedTuple):
    """What a row is read for: its key, and how it is shown."""

    key: str
    unit: str
    scale: float
    is_rate: bool
    spread: tuple[str, ...] = ()


FIGURES = [
    Figure("g_updates_per_s", "G/s", 1, True),
    Figure("g_kmers_per_s_per_pe", "G/s a PE", 1, True),
    Figure("bus_bytes_per_s", "GB/s", 1e-9, True),
    Figure("work_per_s", "/s", 1, True),
    Figure("median_s", "ms", 1e3, False, ("min_s", "max_s", "least_s", "most_s")),
    Figure("seconds", "ms", 1e3, False, ("least_seconds", "most_seconds")),
    Figure("median_us", "us", 1, False, ("least_us", "most_us")),
    Figure("median_ns", "us", 1e-3, False),
]


def gpus() -> list[str]:
    """Names of the visible GPUs."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    names = [line for line in done.stdout.splitlines() if line.startswith("GPU ")]
    return [line.split(": ", 1)[1].split(" (UUID")[0] for line in names] if done.returncode == 0 else []


def device_lists(count: int) -> list[str]:
    """1, 2, 4, 8 GPUs as far as there are so many; CPU devices where there is none."""
    return ["cuda:0" if n == 1 else f"cuda:0-{n - 1}" for n in (1, 2, 4, 8) if n <= count] or ["cpu:1", "cpu:2"]


def run(program: Path, call: Call) -> tuple[list[Row], bool]:
    """One benchmark program; its rows, each with the command that made it, and whether it has come to its end."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "rows.json"
        words = [word for name, value in call.arguments.items() for word in (f"--{name}", value)]
        command = " ".join([call.program, *(f'"{word}"' if ";" in word else word for word in words)])
        print(f"measure.py: {command}", file=sys.stderr, flush=True)
        try:
            whole = [str(program), *words, "--json", str(lines)]
            ended = subprocess.run(whole, cwd=ROOT, stdout=sys.stderr, timeout=MAX_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            ended = False
        text = lines.read_text() if lines.is_file() else ""
        rows: list[Row] = [{**json.loads(line), "command": command} for line in text.splitlines()]
        if not ended:
            print(f"measure.py: failed: {command}", file=sys.stderr)
        return rows, ended


def scipy_dijkstra(runs: int) -> list[Row]:
    """SciPy's Dijkstra on New York from vertex 1, for the same table."""
    import laneway
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    graph = laneway.read_graph(ROOT / NEW_YORK)
    matrix = csr_matrix((graph.weights, graph.heads, graph.offsets), shape=(graph.vertices, graph.vertices))
    rows: list[Row] = []
    for kind in ("sssp", "bfs"):
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            dijkstra(matrix, indices=0, unweighted=kind == "bfs")
            seconds.append(time.perf_counter() - start)
        found: Row = {"graph": NEW_YORK, "kind": kind, "devices": "SciPy dijkstra, one core"}
        spread: Row = {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds)}
        rows.append({**found, **spread, "runs": runs, "command": "scipy.sparse.csgraph.dijkstra"})
    return rows


def figure_of(row: Row) -> Figure | None:
    return next((figure for figure in FIGURES if figure.key in row), None)


def name_of(row: Row) -> str:
    """What tells a row from others besides its devices: its words, and the size of arrays where there are several."""
    words = [str(value) for key, value in row.items() if isinstance(value, str) and key not in ("devices", "command")]
    return " ".join(
        [*words, *(f"{row[key]} {key}" for key in ("mib", "bytes", "packet_bytes", "row_bytes") if key in row)]
    )


def compare(rows: list[Row], before: list[Row]) -> None:
    """Writes into each row how many times as fast it is as the same row of the other build, where that has as many of
    its name."""
    named: dict[tuple[str, object], tuple[list[Row], list[Row]]] = {}
    for of_build, all_of_it in enumerate((rows, before)):
        for row in all_of_it:
            named.setdefault((name_of(row), row.get("devices")), ([], []))[of_build].append(row)
    for ours, others in named.values():
        if len(ours) != len(others):
            continue
        for row, other in zip(ours, others):
            figure = figure_of(row)
            if figure is None or not row[figure.key] or not other.get(figure.key):
                continue
            ratio = float(str(row[figure.key])) / float(str(other[figure.key]))
            row["beside"] = other[figure.key]
            row["times_as_fast"] = ratio if figure.is_rate else 1 / ratio


def measure(call: Call, trees: list[Path], peers: Path) -> tuple[list[Row], bool]:
    """One call by each build, the other one first; a program that has not been built is left out."""
    folders = [peers] if call.peer else [tree / "bench" for tree in trees]
    found: list[list[Row]] = []
    whole = True
    for folder in folders:
        if not (folder / call.program).is_file():
            print(f"measure.py: {call.program}: left out, not built in {folder}", file=sys.stderr)
            found.append([])
            whole = whole and call.peer
            continue
        rows, ended = run(folder / call.program, call)
        found.append(rows)
        whole = whole and ended
    if len(found) == 2:
        compare(found[1], found[0])
    return found[-1], whole


def show(rows: list[Row]) -> None:
    print(f"{'what':<58} {'devices':<12} {'median':>19}   {'least to most':<22} {'a device':>12} {'host':>12}   ratio")
    for row in rows:
        figure = figure_of(row)
        if figure is None:
            continue
        value = f"{float(str(row[figure.key])) * figure.scale:.4g} {figure.unit}"
        spread = [f"{float(str(row[key])) * figure.scale:.4g}" for key in figure.spread if key in row]
        memory = [
            f"{float(str(row[key])) / 2**20:.4g} MiB" if key in row else ""
            for key in ("device_peak_bytes", "host_peak_bytes")
        ]
        ratio = f"{float(str(row['times_as_fast'])):.3f}" if "times_as_fast" in row else ""
        line = f"{name_of(row)[:58]:<58} {row.get('devices', '')!s:<12} {value:>19}   {' to '.join(spread):<22}"
        print(f"{line} {memory[0]:>12} {memory[1]:>12}   {ratio}".rstrip())


def machine() -> str:
    found = gpus()
    return f"{len(found)} {found[0]}" if found else f"no GPU, {os.cpu_count()} cores {platform.machine()}"


def commit(folder: Path = ROOT) -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() or os.environ.get("LANEWAY_COMMIT", "unknown")


def sources_of(tree: Path) -> Path:
    """The sources that a build folder was made from."""
    home = "CMAKE_HOME_DIRECTORY:INTERNAL="
    cache = tree / "CMakeCache.txt"
    lines = cache.read_text().splitlines() if cache.is_file() else []
    found = next((Path(line.removeprefix(home)) for line in lines if line.startswith(home)), tree)
    return found if found.is_dir() else tree


def write_record(out: Path, words: list[str], rows: list[Row], sources: Path, **more: object) -> None:
    """A record of bench/results, of a build from these sources."""
    record = {"machine": machine(), "date": datetime.date.today().isoformat(), "commit": commit(sources), **more}
    record |= {"command": f"python bench/{' '.join(words)}", "rows": rows}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")


def parse(words: list[str]) -> argparse.Namespace:
    known = [*GRAPHS, *SETS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT / "build" / "tree", help="build folder")
    parser.add_argument("--beside", type=Path, help="build folder of another commit that knows the same options")
    parser.add_argument("--peers", type=Path, default=ROOT / "build" / "peers", help="what bench/peers/build.py built")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--sets", default=",".join(known), help=f"what to measure, of {', '.join(known)}")
    parser.add_argument("--programs", default=PROGRAMS, help="of bench_graphs, on each graph")
    parser.add_argument("--devices", default=";".join(device_lists(len(gpus()))), help="lists of devices")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each case")
    parser.add_argument("--small", action="store_true", help="small inputs, which show that all works")
    args = parser.parse_args(words)
    unknown = [name for name in args.sets.split(",") if name not in known]
    if unknown:
        parser.error(f"there is no set {unknown[0]}; there are {', '.join(known)}")
    for tree in (args.tree, args.beside):
        if tree is not None and not (tree / "bench").is_dir():
            parser.error(f"{tree} is no build folder with benchmarks (-DLANEWAY_BENCH=ON)")
    for one in args.devices.split(";"):
        try:
            devices_of(one)
        except ValueError:
            parser.error(f"{one!r} is no list of devices")
    return args


def main() -> int:
    args = parse(sys.argv[1:])
    chosen = Choice([one for one in args.devices.split(";") if one], args.runs, args.small, args.programs)
    trees = [args.beside, args.tree] if args.beside else [args.tree]
    beside = {"beside": commit(sources_of(args.beside))} if args.beside else {}
    rows: list[Row] = []
    failed = []
    words = ["measure.py", "--sets", args.sets, "--devices", f'"{args.devices}"', "--runs", str(args.runs)]
    words += ["--programs", f'"{args.programs}"', *(["--small"] if args.small else [])]
    for name in args.sets.split(","):
        for call in calls_of(name, chosen):
            found, whole = measure(call, trees, args.peers)
            rows += found
            failed += [] if whole else [call.program]
        if name == "new-york" and not args.small:
            rows += scipy_dijkstra(args.runs)
        write_record(
            args.out, words, rows, sources_of(args.tree), **beside
        )  # what has been measured stays, whatever comes
    show(rows)
    if failed:
        print(f"measure.py: not whole: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

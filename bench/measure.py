"""Measures everything that the documents quote, and writes it down with machine, commit, date and command.

Runs the benchmark programs of a build made with LANEWAY_BENCH=ON, on one GPU and on growing numbers of them, SciPy's
Dijkstra beside them, and prints a table. Every benchmark checks its own results.

    .venv/bin/python bench/measure.py --tree build/tree --out bench/results/h200-x4.json
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

ROOT = Path(__file__).resolve().parent.parent
NEW_YORK = "data/USA-road-d.NY.gr.gz"
GRAPHS = {
    "new-york": [NEW_YORK, "0", "cpu:2"],
    "kronecker": ["kronecker:21:180000000", "busiest", ""],
    "grid": ["grid:6000:4000:59500000", "busiest", ""],
}

Row = dict[str, object]


def gpus() -> list[str]:
    """Names of the visible GPUs."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    names = [line for line in done.stdout.splitlines() if line.startswith("GPU ")]
    return [line.split(": ", 1)[1].split(" (UUID")[0] for line in names] if done.returncode == 0 else []


def device_lists(count: int) -> list[str]:
    """1, 2, 4, 8 GPUs as far as there are so many."""
    return ["cuda:0" if n == 1 else f"cuda:0-{n - 1}" for n in (1, 2, 4, 8) if n <= count]


def run(program: Path, arguments: dict[str, str]) -> list[Row]:
    """One benchmark program; its rows, each with the command that made it."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "rows.json"
        words = [word for name, value in arguments.items() for word in (f"--{name}", value)]
        command = f"{program.name} {' '.join(words)}"
        done = subprocess.run([str(program), *words, "--json", str(lines)], cwd=ROOT)
        if done.returncode:
            sys.exit(f"measure.py: failed: {command}")
        return [{**json.loads(line), "command": command} for line in lines.read_text().splitlines()]


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


def measure(tree: Path, sets: list[str], runs: int) -> list[Row]:
    lists = device_lists(len(gpus()))
    rows: list[Row] = []
    for name in sets:
        if name == "updates":
            wanted = {"devices": ";".join(lists) or "cpu:1;cpu:2", "runs": str(runs)}
            if lists:
                wanted |= {"table-log2": "29", "updates-log2": "31", "hpcc-updates-log2": "27"}
            rows += run(tree / "bench" / "bench_gups", wanted)
            continue
        if name == "kmer":
            wanted = {"devices": ";".join(lists) or "cpu:1;cpu:2", "runs": str(runs)}
            if lists:
                wanted |= {"genome": "100000000"}
            for k in ("21", "31", "51"):
                rows += run(tree / "bench" / "bench_kmer", {"k": k, **wanted})
            continue
        graph, source, extra = GRAPHS[name]
        devices = ";".join([*lists, *([extra] if extra or not lists else [])]) or "cpu:2"
        wanted = {"graph": graph, "source": source, "devices": devices, "runs": str(runs)}
        rows += run(tree / "bench" / "bench_shortest_paths", wanted)
        if name == "new-york":
            rows += scipy_dijkstra(runs)
    return rows


def show(rows: list[Row]) -> None:
    print(f"{'what':<34} {'devices':<26} {'median':>12}   least to most")
    for row in rows:
        what = f"{row['kind']} {row['graph']}" if "kind" in row else f"{row['bench']}, {row['style']}"
        if "g_updates_per_s" in row:
            print(f"{what[:34]:<34} {row['devices']!s:<26} {row['g_updates_per_s']:>8.2f} G/s")
            continue
        if "g_kmers_per_s_per_pe" in row:
            print(f"{what[:34]:<34} {row['devices']!s:<26} {row['g_kmers_per_s_per_pe']:>8.2f} G/s a PE")
            continue
        times = [float(str(row.get(key, row["median_s"]))) * 1e3 for key in ("median_s", "min_s", "max_s")]
        print(f"{what[:34]:<34} {row['devices']!s:<26} {times[0]:>9.3f} ms   {times[1]:.3f} to {times[2]:.3f}")


def machine() -> str:
    found = gpus()
    return f"{len(found)} {found[0]}" if found else f"no GPU, {os.cpu_count()} cores {platform.machine()}"


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or os.environ.get("LANEWAY_COMMIT", "unknown")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT / "build" / "tree", help="build folder")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--sets", default="new-york,kronecker,grid,updates,kmer", help="what to measure")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each case")
    args = parser.parse_args()
    rows = measure(args.tree, args.sets.split(","), args.runs)
    record = {
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "command": f"python bench/measure.py --sets {args.sets} --runs {args.runs}",
        "rows": rows,
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(record, indent=1) + "\n")
    show(rows)


if __name__ == "__main__":
    main()

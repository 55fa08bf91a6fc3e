"""Tasks in bundles beside tasks one by one, in Parsl programs: on a LanewayExecutor of this process, and on a worker of
Parsl's HighThroughputExecutor.

Both ways run the same body by turns, and every result is compared. Prints a JSON line with the ratios of their rates,
each with its spread, and the machine, commit and parameters; no rate, as it would be that of one machine.

    .venv/bin/python bench/parsl_bundles.py --devices cpu:2
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import laneway as lw
import numpy as np
import parsl
from laneway.parsl import LanewayExecutor, body_app
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

sys.path.insert(0, str(Path(__file__).parent))
from measure import commit, machine

SQUARE = "double square(double x) { return x * x; }"
Run = Callable[[], None]


def require(found: Any, expected: Any) -> None:
    if not np.array_equal(found, expected):
        sys.exit("parsl_bundles.py: results differ")


def one_by_one(app: Callable[..., Any], count: int) -> Run:
    def run() -> None:
        require([future.result() for future in [app(float(i)) for i in range(count)]], np.arange(float(count)) ** 2)

    return run


def in_bundles(executor: str, devices: str, bundles: int, size: int) -> Run:
    batch = parsl.python_app(lw.run_batch, executors=[executor])
    parts = [np.arange(size * i, size * (i + 1), dtype=np.float64) for i in range(bundles)]

    def run() -> None:
        for part, future in zip(parts, [batch(SQUARE, part, devices=devices) for part in parts]):
            require(future.result(), part**2)

    return run


def rate(run: Run, tasks: int) -> float:
    start = time.perf_counter()
    run()
    return tasks / (time.perf_counter() - start)


def ratios(bundled: Run, bundled_tasks: int, single: Run, single_tasks: int, runs: int) -> dict[str, float]:
    found = []
    for turn in range(runs + 1):
        pair = rate(bundled, bundled_tasks) / rate(single, single_tasks)
        if turn > 0:  # the first warms up
            found.append(pair)
    return {name: round(of(found), 1) for name, of in (("median", statistics.median), ("min", min), ("max", max))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cpu:2")
    parser.add_argument("--single", type=int, default=2000, help="Tasks one by one.")
    parser.add_argument("--bundles", type=int, default=10)
    parser.add_argument("--size", type=int, default=500_000, help="Tasks of a bundle.")
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    htex = HighThroughputExecutor(
        label="htex", address="127.0.0.1", max_workers_per_node=1, encrypted=False, provider=LocalProvider()
    )
    executors = [LanewayExecutor(devices=given.devices), htex]
    tasks = given.bundles * given.size
    row: dict[str, Any] = {"benchmark": "parsl_bundles"}
    with (
        tempfile.TemporaryDirectory() as folder,
        parsl.load(parsl.Config(executors=executors, run_dir=folder, usage_tracking=0)),
    ):
        singles = {
            "laneway": body_app(lw.TaskBody(SQUARE), executors=["laneway"]),
            "htex": parsl.python_app(lambda x: x * x, executors=["htex"]),
        }
        for name, app in singles.items():
            bundled, single = in_bundles(name, given.devices, given.bundles, given.size), one_by_one(app, given.single)
            row[f"{name}_bundles_over_single_tasks"] = ratios(bundled, tasks, single, given.single, given.runs)
    print(json.dumps({**row, **vars(given), "machine": machine(), "commit": commit()}))


if __name__ == "__main__":
    main()

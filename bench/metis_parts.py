"""Writes partitions of a graph by METIS as `gpmetis` does, for `bench_graphs --partition PREFIX`.

python bench/metis_parts.py --graph ../shared/data/graphs/USA-road-d.NY.gr.gz --parts 2 4 --prefix ny
python bench/metis_parts.py --graph kronecker:21:180000000 --parts 2 4 --prefix k21
python bench/metis_parts.py --graph uniform:24:268435456 --parts 2 4 --prefix u24
"""

from __future__ import annotations

import argparse

import laneway as lw
import numpy as np
from laneway.partition import metis_parts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graph", required=True, help="as bench_graphs takes it")
    options.add_argument("--parts", nargs="+", type=int, required=True)
    options.add_argument("--prefix", required=True, help="PREFIX.part.2 is for two devices")
    given = options.parse_args()
    graph = graph_of(given.graph)
    for count in given.parts:
        np.savetxt(f"{given.prefix}.part.{count}", metis_parts(graph, count), fmt="%d")


def graph_of(text: str) -> lw.Graph:
    """The graph that bench_graphs makes of the same words, or reads."""
    kind, *numbers = text.split(":")
    if kind == "kronecker":
        return lw.generate_kronecker(int(numbers[0]), int(numbers[1]), seed=1)
    if kind == "uniform":
        return lw.generate_uniform(1 << int(numbers[0]), int(numbers[1]), seed=1)
    if kind == "grid":
        return lw.generate_grid(int(numbers[0]), int(numbers[1]), arcs=int(numbers[2]), seed=1)
    return lw.read_graph(text)


if __name__ == "__main__":
    main()

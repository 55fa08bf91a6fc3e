"""Writes partitions of a graph by METIS as `gpmetis` does, for `bench_graphs --partition PREFIX`.

python bench/metis_parts.py --file ../shared/data/graphs/USA-road-d.NY.gr.gz --parts 2 4 --prefix ny
python bench/metis_parts.py --kronecker 21 180000000 --parts 2 4 --prefix k21
python bench/metis_parts.py --uniform 16777216 268435456 --parts 2 4 --prefix u24
"""

from __future__ import annotations

import argparse

import laneway as lw
import numpy as np
from laneway.partition import metis_parts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    graph = options.add_mutually_exclusive_group(required=True)
    graph.add_argument("--file", help="any file that laneway reads")
    graph.add_argument("--kronecker", nargs=2, type=int, metavar=("SCALE", "ARCS"), help="as bench_graphs makes it")
    graph.add_argument("--uniform", nargs=2, type=int, metavar=("VERTICES", "ARCS"), help="as bench_graphs makes it")
    options.add_argument("--parts", nargs="+", type=int, required=True)
    options.add_argument("--prefix", required=True, help="PREFIX.part.2 is for two devices")
    given = options.parse_args()
    read = read_graph(given)
    for count in given.parts:
        np.savetxt(f"{given.prefix}.part.{count}", metis_parts(read, count), fmt="%d")


def read_graph(given: argparse.Namespace) -> lw.Graph:
    """The graph of the options, of the seed that bench_graphs takes."""
    if given.file:
        return lw.read_graph(given.file)
    if given.kronecker:
        return lw.generate_kronecker(*given.kronecker, seed=1)
    return lw.generate_uniform(*given.uniform, seed=1)


if __name__ == "__main__":
    main()

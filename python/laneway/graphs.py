"""Reading, generating and writing graphs."""

from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path
from typing import IO, Union, cast

from laneway import _core
from laneway._core import Graph
from laneway.arguments import require_whole
from laneway.errors import UsageError
from laneway.pending_file import PendingFile

PathLike = Union[str, "os.PathLike[str]"]


def read_graph(
    path: PathLike,
    format: str | None = None,
    ids: int | None = None,
    cache: PathLike | None = None,
    directed: bool | None = None,
) -> Graph:
    """Read a graph from a plain, gzip or xz file.

    `format` is one of dimacs, edge_list, snap, matrix_market, metis, ldbc; guessed from the content where it is None.
    `ids` is the width of vertex numbers in memory, 32 or 64 bits; None takes 32 where they suffice. `cache` is a folder
    that keeps the graph in binary form, so that a second read takes no parsing. `directed` says whether a line of the
    file is one arc (True) or one each way (False); None does what the format says. METIS files that list each edge
    from both ends stay as they are.

    Decimal weights become whole numbers: the weight of an arc in the file is `weights[arc] / graph.weight_scale`.

    Raises UsageError for a file that is missing or broken, naming its line.
    """
    return _core.read_graph(*_arguments(path, format, ids, cache, directed))


def graph_files(
    path: PathLike, format: str | None, ids: int | None, cache: PathLike | None, directed: bool | None
) -> list[Path]:
    """Every file that `read_graph` reads with these arguments; it raises what that raises for them."""
    return _core.input_files(*_arguments(path, format, ids, cache, directed))


def _arguments(
    path: PathLike, format: str | None, ids: int | None, cache: PathLike | None, directed: bool | None
) -> tuple[Path, str | None, int | None, Path | None, bool | None]:
    if not os.fspath(path):
        raise UsageError("the graph's file name is empty")
    if cache is not None and not os.fspath(cache):
        raise UsageError("the name of the cache's folder is empty")
    if ids not in (None, 32, 64) or isinstance(ids, float):
        raise UsageError(f"ids must be 32 or 64 bits wide, not {ids!r}")
    if directed not in (None, False, True):
        raise UsageError(f"directed must be None, False or True, not {directed!r}")
    both_ways = None if directed is None else bool(directed)
    return Path(path), format, ids, None if cache is None else Path(cache), both_ways


def require_graph(graph: Graph) -> None:
    """UsageError for an argument that is no graph."""
    if not isinstance(graph, Graph):
        raise UsageError(f"graph must be what read_graph gives, not {type(graph).__name__}")


def generate_grid(
    width: int, height: int, *, keep: float = 0.62, arcs: int = 0, max_weight: int = 10_000, seed: int = 1
) -> Graph:
    """Road-like graph: a grid of 4 neighbours that keeps a share `keep` of its edges, or exactly `arcs` arcs.

    Symmetric; weights are uniform over 1..max_weight; vertex y * width + x. Raises UsageError for impossible sizes.
    """
    for name, number in (("width", width), ("height", height), ("arcs", arcs), ("seed", seed)):
        require_whole(name, number)
    require_whole("max_weight", max_weight, bits=32)
    return _core.generate_grid(width, height, keep, arcs, max_weight, seed)


def generate_kronecker(scale: int, arcs: int, *, symmetric: bool = True, max_weight: int = 255, seed: int = 1) -> Graph:
    """Power-law graph of 2**scale vertices with Graph500's probabilities; weights are uniform over 1..max_weight.

    Raises UsageError for a scale over 31 or an odd number of symmetric arcs.
    """
    for name, number in (("arcs", arcs), ("seed", seed)):
        require_whole(name, number)
    for name, number in (("scale", scale), ("max_weight", max_weight)):
        require_whole(name, number, bits=32)
    return _core.generate_kronecker(scale, arcs, symmetric, max_weight, seed)


def write_graph(graph: Graph, path: PathLike) -> None:
    """Write a graph as DIMACS `.gr` text with ids from 1; compressed if the name ends in .gz or .xz.

    The file appears complete or not at all. Raises UsageError where it cannot be written.
    """
    require_graph(graph)
    if not os.fspath(path):
        raise UsageError("the graph's file name is empty")
    with PendingFile(Path(path)) as file:
        write_pending_graph(graph, file)
        file.commit()


def write_pending_graph(graph: Graph, pending: PendingFile) -> None:
    """Write a graph to a file that is open and not yet in its place, whose name decides the compression."""

    def write(file: Path) -> None:
        with _open_for(file, pending.path.name) as stream:
            stream.write(f"p sp {graph.vertices} {graph.arcs}\n".encode())
            # Rows in pieces of about a million arcs bound the memory that the text takes.
            step = max(1, 1_000_000 * graph.vertices // max(graph.arcs, 1))
            for first in range(0, graph.vertices, step):
                stream.write(graph.dimacs_lines(first, min(first + step, graph.vertices)))

    pending.fill(write)


def _open_for(path: Path, name: str) -> IO[bytes]:
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path, "wb", compresslevel=6))
    if name.endswith(".xz"):
        return cast("IO[bytes]", lzma.open(path, "wb", preset=1))
    return path.open("wb")

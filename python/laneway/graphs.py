"""Reading, generating and writing graphs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from laneway import _core
from laneway.arguments import require_real, require_switch, require_whole
from laneway.compressed import open_for
from laneway.errors import UsageError
from laneway.file_names import PathLike, as_path
from laneway.graph import Graph, GraphLike, as_graph
from laneway.pending_file import PendingFile


def read_graph(
    path: PathLike,
    format: str | None = None,
    ids: int | None = None,
    cache: PathLike | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
) -> Graph:
    """Read a graph from a plain, gzip or xz file.

    `format` is one of dimacs, edge_list, snap, matrix_market, metis, ldbc; guessed from the content where it is None.
    `ids` is the width of vertex numbers in memory, 32 or 64 bits; None takes 32 where they suffice. `cache` is a folder
    that keeps the graph in binary form, so that a second read takes no parsing; a RuntimeWarning tells where it cannot
    keep it. `directed` says whether a line of the
    file is one arc (True) or one each way (False); None does what the format says. METIS files that list each edge
    from both ends stay as they are. `unweighted` takes the arcs alone, also of a file whose weights no graph can hold.

    Decimal weights become whole numbers: the weight of an arc in the file is `weights[arc] / graph.weight_scale`, but
    for what was rounded where 32 bits do not hold all decimals (`graph.weights_rounded`). Weights of vertices, which
    METIS files may have, are not kept.

    Raises UsageError for a file that is missing or broken, and for a weight that is negative or over 2**32 - 1 or that
    rounding would leave less than two digits of, naming the line.
    """
    return GraphFile(path, format, ids, cache, directed, unweighted).read()


@dataclass(frozen=True)
class GraphFile:
    """A graph in a file, and how it is to be read: the arguments of `read_graph`. UsageError where one is wrong."""

    path: PathLike
    format: str | None
    ids: int | None
    cache: PathLike | None
    directed: bool | None
    unweighted: bool

    def __post_init__(self) -> None:
        self._compiled()
        if not isinstance(self.format, (str, type(None))):
            raise UsageError(f"format must be a name such as 'metis', not {self.format!r}")
        if self.ids not in (None, 32, 64) or isinstance(self.ids, float):
            raise UsageError(f"ids must be 32 or 64 bits wide, not {self.ids!r}")
        if self.directed not in (None, False, True):
            raise UsageError(f"directed must be None, False or True, not {self.directed!r}")
        require_switch("unweighted", self.unweighted)

    def read(self) -> Graph:
        """The graph; UsageError as `read_graph` raises it."""
        return Graph(_core.read_graph(*self._compiled(), _warn))

    def files(self) -> list[Path]:
        """Every file that `read` reads; it raises what that raises for them."""
        return _core.input_files(*self._compiled())

    def _compiled(self) -> tuple[str, str | None, int | None, str | None, bool | None, bool]:
        """What the compiled part takes. Names of files are strings: the methods of a path are Python's, in which Ctrl-C
        may come while arguments are converted, which would be a TypeError.
        """
        cache = None if self.cache is None else str(as_path(self.cache, "the name of the cache's folder"))
        directed = None if self.directed is None else bool(self.directed)
        path = str(as_path(self.path, "the graph's file name"))
        return path, self.format, self.ids, cache, directed, bool(self.unweighted)


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)  # of who called read_graph


def generate_grid(
    width: int, height: int, *, keep: float = 0.62, arcs: int = 0, max_weight: int = 10_000, seed: int = 1
) -> Graph:
    """Road-like graph: a grid of 4 neighbours that keeps a share `keep` of its edges, or exactly `arcs` arcs.

    Symmetric; weights are uniform over 1..max_weight; vertex y * width + x. Raises UsageError for impossible sizes.
    """
    for name, number in (("width", width), ("height", height), ("arcs", arcs), ("seed", seed)):
        require_whole(name, number)
    require_whole("max_weight", max_weight, bits=32)
    require_real("keep", keep)
    return Graph(_core.generate_grid(width, height, keep, arcs, max_weight, seed))


def generate_kronecker(scale: int, arcs: int, *, symmetric: bool = True, max_weight: int = 255, seed: int = 1) -> Graph:
    """Power-law graph of 2**scale vertices with Graph500's probabilities; weights are uniform over 1..max_weight.

    Raises UsageError for a scale over 31 or an odd number of symmetric arcs.
    """
    for name, number in (("arcs", arcs), ("seed", seed)):
        require_whole(name, number)
    for name, number in (("scale", scale), ("max_weight", max_weight)):
        require_whole(name, number, bits=32)
    require_switch("symmetric", symmetric)
    return Graph(_core.generate_kronecker(scale, arcs, bool(symmetric), max_weight, seed))


def generate_uniform(
    vertices: int, arcs: int, *, symmetric: bool = True, max_weight: int = 255, seed: int = 1
) -> Graph:
    """Random graph whose arcs go from any vertex to any with the same probability; weights are uniform over
    1..max_weight. Self-loops and parallel arcs stay.

    Raises UsageError for no vertices, more than 2**32 - 1 of them, or an odd number of symmetric arcs.
    """
    for name, number in (("vertices", vertices), ("arcs", arcs), ("seed", seed)):
        require_whole(name, number)
    require_whole("max_weight", max_weight, bits=32)
    require_switch("symmetric", symmetric)
    return Graph(_core.generate_uniform(vertices, arcs, bool(symmetric), max_weight, seed))


def write_graph(graph: GraphLike, path: PathLike) -> None:
    """Write a graph as DIMACS `.gr` text with ids from 1 in the order of its arrays; compressed if the name ends in .gz
    or .xz. Weights are written as they are in memory, whole; a comment names `weight_scale` where it is not 1.

    The file appears complete or not at all. Raises UsageError where it cannot be written.
    """
    graph = as_graph(graph)
    with PendingFile(as_path(path, "the graph's file name")) as file:
        write_pending_graph(graph, file)
        file.commit()


def write_pending_graph(graph: Graph, pending: PendingFile) -> None:
    """Write a graph to a file that is open and not yet in its place, whose name decides the compression."""

    def write(file: Path) -> None:
        with open_for(file, pending.path.name) as stream:
            if graph.weight_scale != 1:
                stream.write(f"c weights are multiplied by {graph.weight_scale}\n".encode())
            stream.write(f"p sp {graph.vertices} {graph.arcs}\n".encode())
            # Rows in pieces of about a million arcs bound the memory that the text takes.
            step = max(1, 1_000_000 * graph.vertices // max(graph.arcs, 1))
            for first in range(0, graph.vertices, step):
                stream.write(graph.dimacs_lines(first, min(first + step, graph.vertices)))

    pending.fill(write)

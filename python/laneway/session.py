"""Devices that stay open over many calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from laneway.arguments import BUFFER_BYTES
from laneway.errors import UsageError
from laneway.graph import Graph, GraphLike
from laneway.partition import Partition
from laneway.programs.cc import ComponentsResult, find_components
from laneway.programs.cdlp import LabelsResult, spread_labels
from laneway.programs.color import ColorResult, find_colors
from laneway.programs.filter import BUFFERS, FilterResult, filter_values
from laneway.programs.gups import GupsResult, update_table
from laneway.programs.indegree import InDegreeResult, count_arcs
from laneway.programs.kmeans import MAX_ITER as MAX_ROUNDS
from laneway.programs.kmeans import TOL as TOLERANCE
from laneway.programs.kmeans import KmeansResult, find_clusters
from laneway.programs.kmeans_init import RandomState
from laneway.programs.kmer import GREATEST, MEMORY_GIB, KmerCounts, KmerSource, count_kmers
from laneway.programs.lcc import ClusteringResult, find_clustering
from laneway.programs.md import (
    CUTOFF,
    DT,
    LIST_RULE,
    REBUILD_EVERY,
    SKIN,
    THERMO,
    MdResult,
    Universes,
    advance_universes,
)
from laneway.programs.pagerank import MAX_ITER, TOL, PageRankResult, find_ranks
from laneway.programs.paths import Result, find_distances, find_levels
from laneway.programs.proportions import VertexNumbers
from laneway.programs.recursion import (
    MEMORY_BYTES,
    FibonacciResult,
    ProductResult,
    QuadratureResult,
    QueensResult,
    SortResult,
    TreeResult,
    count_nodes,
    find_fibonacci,
    integrate_peaks,
    multiply_matrices,
    place_queens,
    sort_keys,
)
from laneway.programs.triangles import TrianglesResult, count_triangles
from laneway.workspace import KEPT_BYTES, Workspace


class Session:
    """The programs of the package on devices that stay open, with buffers and the graphs that they were given: ten
    calls on one graph set it up once.

        with lw.Session(devices="cuda:0-3", timeout=60) as session:
            for source in sources:
                result = session.sssp(graph, source)

    Its methods take the arguments of the functions of the same names but for those that are given here, and give the
    same results. `timeout` is the deadline of each run, and `seed` starts anew with each. Between calls all that the
    session has on a device takes `kept_bytes` at most: else what was used least recently goes. A graph goes with the
    object, or by `forget`; SciPy matrices and NetworkX graphs, which may change, are set up for each call, unless a
    `Graph` is made of them first.

    Calls of several threads wait for each other. A call that fails, or that Ctrl-C ends, leaves the session as it was.
    After `close`, in a process that was forked off, and where the devices are lost, calls raise UsageError.
    """

    def __init__(
        self,
        devices: str = "",
        *,
        seed: int = 1,
        timeout: float = 60.0,
        buffer_bytes: int = BUFFER_BYTES,
        progress: bool = False,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._workspace = Workspace(devices, seed, timeout, progress, buffer_bytes, kept_bytes)
        self._workspace.core.open()
        self._devices = tuple(self._workspace.devices)
        self._closed = False

    @property
    def devices(self) -> tuple[str, ...]:
        """One name a device."""
        return self._devices

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of which something is on the devices."""
        return self._workspace.graphs()

    @property
    def held_bytes(self) -> list[int]:
        """What is allocated on each device: graphs, buffers, tables of results."""
        return self._workspace.core.held_bytes()

    @property
    def copied_bytes(self) -> list[int]:
        """What has been copied to each device since the session began."""
        return self._workspace.core.copied_bytes()

    def forget(self, graph: Graph) -> None:
        """Drop all that is kept of a graph; where nothing is kept of it, nothing changes."""
        if not isinstance(graph, Graph):
            raise UsageError(f"graph must be a Graph, not {type(graph).__name__}")
        self._workspace.forget(graph)

    def close(self) -> None:
        """End the session, behind the call that goes on, and free everything, tables of results too. More than once is
        no error."""
        self._workspace.close()
        self._closed = True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<laneway.Session: {'closed' if self._closed else ', '.join(self._devices)}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError("a session cannot be pickled or copied: its devices are open in this process only")

    def sssp(
        self,
        graph: GraphLike,
        source: Any = None,
        *,
        sources: Iterable[Any] | None = None,
        method: str = "asynchronous",
        delta: int | None = None,
        priorities: bool = True,
        fused: bool = True,
        partition: Partition = None,
    ) -> Result:
        """As `laneway.sssp`."""
        return find_distances(self._workspace, graph, source, sources, method, delta, partition, priorities, fused)

    def bfs(
        self,
        graph: GraphLike,
        source: Any = None,
        *,
        sources: Iterable[Any] | None = None,
        weight: str | None = "weight",
        method: str = "auto",
        delta: int | None = None,
        priorities: bool = True,
        fused: bool = True,
        partition: Partition = None,
    ) -> Result:
        """As `laneway.bfs`."""
        return find_levels(self._workspace, graph, weight, source, sources, method, delta, partition, priorities, fused)

    def pagerank(
        self,
        graph: GraphLike,
        alpha: float = 0.85,
        personalization: VertexNumbers = None,
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        nstart: VertexNumbers = None,
        weight: str | None = "weight",
        dangling: VertexNumbers = None,
        *,
        method: str = "pull",
        rounds: int | None = None,
        priorities: bool = True,
        fused: bool = True,
        partition: Partition = None,
    ) -> PageRankResult:
        """As `laneway.pagerank`."""
        return find_ranks(
            self._workspace,
            graph,
            alpha,
            personalization,
            max_iter,
            tol,
            nstart,
            weight,
            dangling,
            method,
            rounds,
            partition,
            priorities,
            fused,
        )

    def color(
        self,
        graph: GraphLike,
        *,
        weight: str | None = "weight",
        order: int | Iterable[Any] = 1,
        partition: Partition = None,
    ) -> ColorResult:
        """As `laneway.color`."""
        return find_colors(self._workspace, graph, weight, order, partition)

    def connected_components(
        self,
        graph: GraphLike,
        *,
        weight: str | None = "weight",
        method: str = "afforest",
        partition: Partition = None,
    ) -> ComponentsResult:
        """As `laneway.connected_components`."""
        return find_components(self._workspace, graph, weight, method, partition)

    def label_propagation(
        self,
        graph: GraphLike,
        *,
        rounds: int = 10,
        classes: ArrayLike | None = None,
        weight: str | None = "weight",
        partition: Partition = None,
    ) -> LabelsResult:
        """As `laneway.label_propagation`."""
        return spread_labels(self._workspace, graph, weight, rounds, classes, partition)

    def triangles(self, graph: GraphLike, *, weight: str | None = "weight") -> TrianglesResult:
        """As `laneway.triangles`."""
        return count_triangles(self._workspace, graph, weight)

    def local_clustering(self, graph: GraphLike, *, weight: str | None = "weight") -> ClusteringResult:
        """As `laneway.local_clustering`."""
        return find_clustering(self._workspace, graph, weight)

    def indegree(self, graph: GraphLike, *, weight: str | None = "weight", walk: str = "lists") -> InDegreeResult:
        """As `laneway.indegree`."""
        return count_arcs(self._workspace, graph, weight, walk)

    def filter(
        self,
        values: ArrayLike,
        condition: str,
        *,
        policy: str = "available",
        packet_bytes: int | None = None,
        buffers: int = BUFFERS,
    ) -> FilterResult:
        """As `laneway.filter`. The array is copied for each call, as it may change."""
        return filter_values(self._workspace, values, condition, policy, packet_bytes, buffers)

    def kmeans(
        self,
        points: ArrayLike,
        n_clusters: int,
        *,
        sample_weight: ArrayLike | None = None,
        init: str | ArrayLike = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = MAX_ROUNDS,
        tol: float = TOLERANCE,
        random_state: RandomState = 0,
    ) -> KmeansResult:
        """As `laneway.kmeans`. Points are copied for each call, as arrays may change."""
        return find_clusters(
            self._workspace, points, n_clusters, sample_weight, init, n_init, max_iter, tol, random_state
        )

    def kmer(
        self,
        source: KmerSource,
        k: int,
        *,
        canonical: bool = True,
        greatest: int = GREATEST,
        distinct: int | None = None,
        memory_gib: float = MEMORY_GIB,
        lookup: bool = True,
    ) -> KmerCounts:
        """As `laneway.kmer`. Counts can be looked up as long as the session is open."""
        return count_kmers(self._workspace, source, k, canonical, greatest, distinct, memory_gib, lookup)

    def md(
        self,
        atoms: Universes,
        steps: int,
        *,
        dt: float = DT,
        cutoff: float = CUTOFF,
        skin: float = SKIN,
        list_rule: str = LIST_RULE,
        rebuild_every: int = REBUILD_EVERY,
        thermo: int = THERMO,
        replicas: int = 1,
        temperatures: ArrayLike | None = None,
        exchange_every: int | None = None,
        exchange_seed: int = 1,
    ) -> MdResult:
        """As `laneway.md`."""
        return advance_universes(
            self._workspace,
            atoms,
            steps,
            dt,
            cutoff,
            skin,
            list_rule,
            rebuild_every,
            thermo,
            replicas,
            temperatures,
            exchange_every,
            exchange_seed,
        )

    def gups(
        self,
        *,
        mode: str = "free",
        log2_words: int | None = None,
        size: int | None = None,
        updates: int | None = None,
        look_ahead: int = 1024,
        region_bytes: int = 2**21,
        round_updates: int | None = None,
    ) -> GupsResult:
        """As `laneway.gups`. The table is there as long as the session is open."""
        return update_table(self._workspace, mode, log2_words, size, updates, look_ahead, region_bytes, round_updates)

    def fibonacci(
        self, n: int, *, grain: int = 1, width: int = 0, memory_bytes: int = MEMORY_BYTES, scheduler: str = "each"
    ) -> FibonacciResult:
        """As `laneway.fibonacci`. Memory for channels is taken for each call, as with all recursive programs."""
        return find_fibonacci(self._workspace, n, grain, width, memory_bytes, scheduler)

    def queens(
        self, n: int, *, grain: int = 0, width: int = 0, memory_bytes: int = MEMORY_BYTES, scheduler: str = "each"
    ) -> QueensResult:
        """As `laneway.queens`."""
        return place_queens(self._workspace, n, grain, width, memory_bytes, scheduler)

    def quadrature(
        self,
        start: float = 0.0,
        end: float = 1.0,
        *,
        tolerance: float = 1e-6,
        width: int = 0,
        memory_bytes: int = MEMORY_BYTES,
        scheduler: str = "each",
    ) -> QuadratureResult:
        """As `laneway.quadrature`."""
        return integrate_peaks(self._workspace, start, end, tolerance, width, memory_bytes, scheduler)

    def merge_sort(
        self,
        keys: ArrayLike,
        *,
        grain: int = 0,
        width: int = 0,
        memory_bytes: int = MEMORY_BYTES,
        scheduler: str = "each",
    ) -> SortResult:
        """As `laneway.merge_sort`. Keys are copied for each call, as arrays may change."""
        return sort_keys(self._workspace, keys, grain, width, memory_bytes, scheduler)

    def strassen(
        self,
        a: ArrayLike,
        b: ArrayLike,
        *,
        grain: int = 0,
        width: int = 0,
        memory_bytes: int = MEMORY_BYTES,
        scheduler: str = "each",
    ) -> ProductResult:
        """As `laneway.strassen`. Matrices are copied for each call, as arrays may change."""
        return multiply_matrices(self._workspace, a, b, grain, width, memory_bytes, scheduler)

    def uts(
        self, tree: str = "T1", *, width: int = 0, memory_bytes: int = MEMORY_BYTES, scheduler: str = "each"
    ) -> TreeResult:
        """As `laneway.uts`."""
        return count_nodes(self._workspace, tree, width, memory_bytes, scheduler)

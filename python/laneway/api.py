"""Everything that the package offers; `laneway` itself has the same names."""

from laneway import _core, flow
from laneway._core import Device, Report, Sequences, SimulatedReads, TaskStatistics
from laneway.atoms import Atoms, read_atoms, write_atoms
from laneway.batch import run_batch
from laneway.errors import (
    CudaError,
    DeviceFault,
    Error,
    PoolClosedError,
    PoolFullError,
    ProcessError,
    SystemError,
    TaskBodyError,
    TaskError,
    TaskWorkerDied,
    TimeoutError,
    UsageError,
)
from laneway.graph import Graph
from laneway.graphs import generate_grid, generate_kronecker, generate_uniform, read_graph, write_graph
from laneway.points import generate_blobs, read_points, write_points
from laneway.programs.cc import ComponentsResult, connected_components
from laneway.programs.cdlp import LabelsResult, label_propagation
from laneway.programs.color import ColorResult, color
from laneway.programs.filter import FilterResult, filter
from laneway.programs.forkjoin_study import ForkJoinRun, study_forkjoin
from laneway.programs.gups import GupsResult, gups
from laneway.programs.indegree import InDegreeResult, indegree
from laneway.programs.kmeans import KmeansResult, kmeans
from laneway.programs.kmer import KmerCounts, kmer, read_sequences, simulate_reads
from laneway.programs.lcc import ClusteringResult, local_clustering
from laneway.programs.matching import ANY_SOURCE, ANY_TAG, MatchResult, match_messages
from laneway.programs.md import MdResult, md
from laneway.programs.messaging_study import MessagingRun, study_messaging
from laneway.programs.pagerank import PageRankResult, pagerank
from laneway.programs.paths import Result, bfs, sssp
from laneway.programs.recursion import (
    ChannelWork,
    FibonacciResult,
    LevelWork,
    OneChannelWork,
    ProductResult,
    QuadratureResult,
    QueensResult,
    SortResult,
    TreeResult,
    fibonacci,
    merge_sort,
    quadrature,
    queens,
    strassen,
    uts,
)
from laneway.programs.service_study import ServiceRun, study_service
from laneway.programs.styles import StyleRun, compare_styles
from laneway.programs.sweep import SweepResult, sweep
from laneway.programs.task_rates import TaskRates, measure_tasks
from laneway.programs.triangles import TrianglesResult, triangles
from laneway.recording import timeline
from laneway.session import Session
from laneway.task_body import TaskBody
from laneway.task_pool import TaskPool
from laneway.traces.analysis import analyse_trace
from laneway.traces.device_replay import TraceReplay, replay_trace
from laneway.traces.files import find_traces, read_trace
from laneway.traces.result import TraceAnalysis
from laneway.traces.trace import Trace
from laneway.vertex_array import VertexArray

__version__: str = _core.version


def devices() -> list[Device]:
    """Everything that was looked for on this host: devices that runs can use, and why others cannot be used."""
    return _core.find_devices()


__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "Atoms",
    "ChannelWork",
    "ClusteringResult",
    "ColorResult",
    "ComponentsResult",
    "CudaError",
    "Device",
    "DeviceFault",
    "Error",
    "FibonacciResult",
    "FilterResult",
    "ForkJoinRun",
    "Graph",
    "GupsResult",
    "InDegreeResult",
    "KmeansResult",
    "KmerCounts",
    "LabelsResult",
    "LevelWork",
    "MatchResult",
    "MdResult",
    "MessagingRun",
    "OneChannelWork",
    "PageRankResult",
    "PoolClosedError",
    "PoolFullError",
    "ProcessError",
    "ProductResult",
    "QuadratureResult",
    "QueensResult",
    "Report",
    "Result",
    "Sequences",
    "ServiceRun",
    "Session",
    "SimulatedReads",
    "SortResult",
    "StyleRun",
    "SweepResult",
    "SystemError",
    "TaskBody",
    "TaskBodyError",
    "TaskError",
    "TaskPool",
    "TaskRates",
    "TaskStatistics",
    "TaskWorkerDied",
    "TimeoutError",
    "Trace",
    "TraceAnalysis",
    "TraceReplay",
    "TreeResult",
    "TrianglesResult",
    "UsageError",
    "VertexArray",
    "__version__",
    "analyse_trace",
    "bfs",
    "color",
    "compare_styles",
    "connected_components",
    "devices",
    "fibonacci",
    "filter",
    "find_traces",
    "flow",
    "generate_blobs",
    "generate_grid",
    "generate_kronecker",
    "generate_uniform",
    "gups",
    "indegree",
    "kmeans",
    "kmer",
    "label_propagation",
    "local_clustering",
    "match_messages",
    "md",
    "measure_tasks",
    "merge_sort",
    "pagerank",
    "quadrature",
    "queens",
    "read_atoms",
    "read_graph",
    "read_points",
    "read_sequences",
    "read_trace",
    "replay_trace",
    "run_batch",
    "simulate_reads",
    "sssp",
    "strassen",
    "study_forkjoin",
    "study_messaging",
    "study_service",
    "sweep",
    "timeline",
    "triangles",
    "uts",
    "write_atoms",
    "write_graph",
    "write_points",
]

"""The module of each public name, so that the first use of a name loads that module alone: all of `laneway.api` takes
as long to load as NumPy."""

_NAMES = {
    "_core": "Device Report Sequences SimulatedReads TaskStatistics",
    "atoms": "Atoms read_atoms write_atoms",
    "batch": "run_batch",
    "errors": (
        "CudaError DeviceFault Error PoolClosedError PoolFullError ProcessError SystemError "
        "TaskBodyError TaskError TaskWorkerDied TimeoutError UsageError"
    ),
    "graph": "Graph",
    "graphs": "generate_grid generate_kronecker generate_uniform read_graph write_graph",
    "points": "generate_blobs read_points write_points",
    "programs.cc": "ComponentsResult connected_components",
    "programs.cdlp": "LabelsResult label_propagation",
    "programs.color": "ColorResult color",
    "programs.filter": "FilterResult filter",
    "programs.forkjoin_study": "ForkJoinRun study_forkjoin",
    "programs.gups": "GupsResult gups",
    "programs.indegree": "InDegreeResult indegree",
    "programs.kmeans": "KmeansResult kmeans",
    "programs.kmer": "KmerCounts kmer read_sequences simulate_reads",
    "programs.lcc": "ClusteringResult local_clustering",
    "programs.matching": "ANY_SOURCE ANY_TAG MatchResult match_messages",
    "programs.md": "MdResult md",
    "programs.messaging_study": "MessagingRun study_messaging",
    "programs.pagerank": "PageRankResult pagerank",
    "programs.paths": "Result bfs sssp",
    "programs.recursion": (
        "ChannelWork FibonacciResult LevelWork OneChannelWork ProductResult QuadratureResult QueensResult SortResult "
        "TreeResult fibonacci merge_sort quadrature queens strassen uts"
    ),
    "programs.service_study": "ServiceRun study_service",
    "programs.styles": "StyleRun compare_styles",
    "programs.sweep": "SweepResult sweep",
    "programs.task_rates": "TaskRates measure_tasks",
    "programs.triangles": "TrianglesResult triangles",
    "recording": "timeline",
    "session": "Session",
    "task_body": "TaskBody",
    "task_pool": "TaskPool",
    "traces.analysis": "analyse_trace",
    "traces.device_replay": "TraceReplay replay_trace",
    "traces.files": "find_traces read_trace",
    "traces.result": "TraceAnalysis",
    "traces.trace": "Trace",
    "vertex_array": "VertexArray",
}

MODULES = {name: f"laneway.{module}" for module, names in _NAMES.items() for name in names.split()}
"""The module of each name, but for those that `laneway.api` itself makes."""

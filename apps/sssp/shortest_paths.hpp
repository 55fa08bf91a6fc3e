// Single-source shortest paths over many devices: the host's view of the main program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"

namespace laneway::apps {

struct shortest_paths_options {
    std::string devices;              ///< "cuda", "cuda:0-3", "cpu:4", "cuda:0,cpu:2", "checked:2"; empty: every GPU, else one CPU device a core
    std::uint64_t source = 0;         ///< CSR index, not the file's id
    bool unit_weights = false;        ///< true: breadth-first search, distances are levels
    std::optional<std::uint64_t> delta;  ///< width of a priority step; default chosen from the graph
    std::vector<std::uint32_t> parts;    ///< PE of each vertex (METIS, say); empty: contiguous ranges with equal arcs
    std::uint64_t seed = 1;           ///< of the checked mode's scheduler
    double timeout_seconds = 60;      ///< deadline of the run
    bool progress = false;            ///< record progress samples in the report
};

struct shortest_paths_result {
    std::vector<std::int64_t> distance;  ///< one entry a vertex in CSR order; -1 where unreachable
    std::uint64_t delta = 0;             ///< the width used
    std::uint64_t items = 0;             ///< vertices taken from worklists and expanded, all PEs
    std::uint64_t least_items = 0;       ///< vertices reached: the least that any order must expand
    double partition_seconds = 0;        ///< splitting the graph and copying it to the devices
    run_report report;
};

/// Distances from `options.source` to every vertex. Throws usage_error for a source outside the graph or devices
/// that do not exist, timeout_error and device_fault for a failed run. Method: asynchronous near-far relaxation
/// (Davidson et al., IPDPS 2014; Groute, TOPC 2020) with a threshold that all PEs agree on.
shortest_paths_result shortest_paths(const graph::graph& graph, const shortest_paths_options& options);

/// Dijkstra with a binary heap on one core: the reference answer. -1 where unreachable.
std::vector<std::int64_t> dijkstra(const graph::graph& graph, std::uint64_t source, bool unit_weights);

}  // namespace laneway::apps

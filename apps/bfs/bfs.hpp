// Breadth-first search level by level, in the direction that looks at fewer arcs: the host's view. Without levels, each
// PE at its own pace, it is shortest paths with unit weights (sssp/).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct bfs_options {
    options job;                       ///< devices, deadline, seed, and the library's other knobs
    std::vector<std::uint32_t> parts;  ///< PE of each vertex; empty: contiguous ranges with equal arcs
    bool pull = true;                  ///< whether levels with many arcs are found from the vertices not yet reached
};

struct bfs_result {
    std::vector<std::int64_t> distance;  ///< one entry a vertex in CSR order, in arcs from the nearest source; -1: none
    std::uint64_t reached = 0;           ///< vertices with a distance
    std::uint64_t levels = 0;            ///< that were looked for, with the last, which may have found nothing
    std::uint64_t pulled = 0;            ///< of these, found from the vertices not yet reached
    double partition_seconds = 0;        ///< dividing the graph and copying it to the devices; 0 where it was there
    run_report report;
};

/// Distances from the nearest of `sources`, CSR indices, of which repetitions count once. Throws usage_error for wrong
/// devices or parts, no source and one outside the graph, and a PE with 2^32 - 64 vertices or more, timeout_error and
/// device_fault for a failed run. Method: Beamer, Asanovic and Patterson (SC 2012), over messages; pulling needs the
/// arcs that lead to each vertex, so a directed graph takes twice the memory.
bfs_result bfs_by_levels(const graph::graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options);
/// On what earlier runs have put on the devices of the graph's workspace; `options.job` is the workspace's.
bfs_result bfs_by_levels(resident_graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options);

}  // namespace laneway::apps

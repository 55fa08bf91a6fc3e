// Breadth-first search: the host's view. It goes level by level, in the direction that looks at fewer arcs, or without
// levels, each PE at its own pace, as shortest paths with unit weights (sssp/).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "method.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct bfs_options {
    options job;                       ///< devices, deadline, seed, and the library's other knobs
    std::vector<std::uint32_t> parts;  ///< PE of each vertex; empty: contiguous ranges with equal arcs
    bool pull = true;                  ///< whether levels with many arcs are found from the vertices not yet reached
    bfs_method method = bfs_method::automatic;
    std::optional<std::uint64_t> delta = {};  ///< of the asynchronous method alone: see shortest_paths_options
    bool priorities = true;                   ///< the same
    bool fused = true;                        ///< the same
};

struct bfs_result {
    std::vector<std::int64_t> distance;  ///< one entry a vertex in CSR order, in arcs from the nearest source; -1: none
    std::uint64_t reached = 0;           ///< vertices with a distance
    bfs_method method = bfs_method::levels;  ///< the one taken
    std::uint64_t levels = 0;  ///< that were looked for, with the last, which may have found nothing; 0 without levels
    std::uint64_t pulled = 0;  ///< of these, found from the vertices not yet reached
    std::uint64_t items = 0;   ///< vertices taken from worklists, as often as each was; by levels, `reached`
    std::uint64_t delta = 1;   ///< width of a priority step
    std::uint64_t waves = 1;   ///< runs that the host has started; of a search that is repeated, the last time
    double partition_seconds = 0;  ///< dividing the graph and copying it to the devices; 0 where it was there
    run_report report;
};

/// Arcs of a vertex that levels can take: they are dealt out by numbers of 32 bits.
constexpr std::uint64_t max_level_arcs = 0xffffffff - 128;

/// Distances from the nearest of `sources`, CSR indices, of which repetitions count once. Throws usage_error for wrong
/// devices or parts, no source and one outside the graph, and a PE with 2^32 - 64 vertices or more, timeout_error and
/// device_fault for a failed run. Method: Beamer, Asanovic and Patterson (SC 2012), over messages; pulling needs the
/// arcs that lead to each vertex, so a directed graph takes twice the memory.
bfs_result bfs_by_levels(const graph::graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options);
/// On what earlier runs have put on the devices of the graph's workspace; `options.job` is the workspace's.
bfs_result bfs_by_levels(resident_graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options);

/// The same by `options.method`, by default the one that suits the graph, and asynchronous where levels find no memory;
/// `automatic` is asynchronous where the options say something of that alone, and levels where they say `pull = false`.
/// Throws usage_error also where they say something of the method that is not taken.
bfs_result bfs(const graph::graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options);
bfs_result bfs(resident_graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options);

}  // namespace laneway::apps

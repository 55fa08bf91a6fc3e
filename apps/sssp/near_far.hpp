// Shortest paths as work items: an entry in a queue for each improvement, where shortest_paths.hpp has one for each
// vertex. It shows what priorities and fused runs save, as either can be switched off; the host's view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/flow/item_work.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct near_far_options {
    options job;                                 ///< devices, deadline, seed, and the library's other knobs
    bool unit_weights = false;                   ///< true: breadth-first search, distances are levels
    std::optional<std::uint64_t> delta;          ///< width of a priority step; default chosen from the graph
    std::optional<std::uint64_t> low_water;      ///< the threshold rises when no more items than this are open below it
    bool priorities = true;                      ///< near items before far ones, by a threshold that all PEs share
    bool fused = true;                           ///< one run does all; else the host starts one for each wave
    std::optional<std::uint64_t> items;          ///< see item_worklist_options; default: 4 for each vertex of a PE
    std::optional<std::uint64_t> reserve_items;  ///< the same; default: twice as many
    /// Memory that the host takes for items of all PEs for which neither have room, at most; it takes it as they come.
    std::uint64_t overflow_bytes = std::uint64_t{4} << 30;
    std::vector<std::uint32_t> parts;  ///< PE of each vertex; empty: contiguous ranges with equal arcs
};

struct near_far_result {
    std::vector<std::int64_t> distance;  ///< one entry a vertex in CSR order, from the nearest source; -1: unreachable
    std::uint64_t delta = 0;             ///< the width used
    item_work work;                      ///< items done, useful, sent, suppressed, ...
    std::uint64_t min_items = 0;         ///< vertices reached: the least that any order must do
    double partition_seconds = 0;        ///< splitting the graph and copying it to the devices; 0 where it was there
    run_report report;
};

/// Distances from the nearest of `sources`, CSR indices, of which repetitions count once. Throws usage_error for wrong
/// devices or parts, no source and one outside the graph, a delta of 0 and a vertex with 2^32 - 2 arcs or more,
/// timeout_error and device_fault for a failed run: full_worklist where more items wait than overflow_bytes have room
/// for.
near_far_result near_far(const graph::graph& graph, std::span<const std::uint64_t> sources,
                         const near_far_options& options);
/// On what earlier runs have put on the devices of the graph's workspace; `options.job` is the workspace's.
near_far_result near_far(resident_graph& graph, std::span<const std::uint64_t> sources,
                         const near_far_options& options);

}  // namespace laneway::apps

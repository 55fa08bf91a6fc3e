// Single-source shortest paths over many devices: the host's view of the main program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "laneway/base/config.hpp"
#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct shortest_paths_options {
    options job;                             ///< devices, deadline, seed, and the library's other knobs
    bool unit_weights = false;               ///< true: breadth-first search, distances are levels
    std::optional<std::uint64_t> delta;      ///< width of a priority step; default chosen from the graph
    std::optional<std::uint64_t> low_water;  ///< the threshold rises when no more items than this are open below it
    bool priorities = true;                  ///< near vertices before far ones, by a threshold that all PEs share
    bool fused = true;                       ///< one run does all; else the host starts one for each wave
    std::vector<std::uint32_t> parts;  ///< PE of each vertex (METIS, say); empty: contiguous ranges with equal arcs
};

struct shortest_paths_result {
    std::vector<std::int64_t> distance;  ///< one entry a vertex in CSR order, from the nearest source; -1: unreachable
    std::uint64_t delta = 0;             ///< the width used
    std::uint64_t items = 0;             ///< vertices taken from worklists and expanded, all PEs
    std::uint64_t min_items = 0;         ///< vertices reached: the least that any order must expand
    double partition_seconds = 0;        ///< splitting the graph and copying it to the devices; 0 where it was there
    std::uint64_t waves = 1;  ///< runs that the host has started; of a search that is repeated, the last time
    int key_bits = 32;        ///< width of the keys that the distances fitted
    run_report report;
};

/// A graph split over devices, ready for searches. Host only; one search at a time.
class shortest_paths_solver {
public:
    /// Splits and copies. Throws usage_error for devices that do not exist, parts that do not fit the devices, and a
    /// graph that does not fit one PE's 2^31 - 1 vertices.
    shortest_paths_solver(const graph::graph& graph, const shortest_paths_options& options);
    ~shortest_paths_solver();
    shortest_paths_solver(shortest_paths_solver&&) noexcept;

    /// Distances from the nearest of `sources`, CSR indices, of which repetitions count once. Throws usage_error for no
    /// source and for one outside the graph, timeout_error and device_fault for a failed run. Method: asynchronous
    /// near-far relaxation (Davidson et al., IPDPS 2014; Groute, TOPC 2020) with a threshold that all PEs agree on.
    /// Keys have 32 bits; a search whose distances do not fit 29 of them is repeated with 64.
    shortest_paths_result run(std::span<const std::uint64_t> sources);
    shortest_paths_result run(std::uint64_t source) { return run(std::span(&source, 1)); }

    class implementation;

private:
    shortest_paths_options options_;
    std::unique_ptr<runtime> runtime_;
    std::shared_ptr<implementation> implementation_;
};

/// One search: the solver's constructor and run. On a resident graph what earlier searches with the same parts, and
/// with or without weights like this one, have put on the devices of its workspace; `options.job` is the workspace's.
shortest_paths_result shortest_paths(const graph::graph& graph, std::span<const std::uint64_t> sources,
                                     const shortest_paths_options& options);
shortest_paths_result shortest_paths(resident_graph& graph, std::span<const std::uint64_t> sources,
                                     const shortest_paths_options& options);
inline shortest_paths_result shortest_paths(const graph::graph& graph, std::uint64_t source,
                                            const shortest_paths_options& options) {
    return shortest_paths(graph, std::span(&source, 1), options);
}

/// For each vertex the one before it on a shortest path from the nearest source, as CSR indices; -1 for sources and
/// where `distance`, as a search from `sources` gives it, is -1. They form trees whose roots are the sources, also
/// where arcs weigh 0, and depend on graph and sources only: of all arcs that a shortest path may end with, the one
/// with the least tail counts, and arcs of weight 0 only where no other will do, by fewest of them. Host; a thread for
/// each 2^20 arcs. Throws usage_error for another number of distances and for a source outside the graph.
std::vector<std::int64_t> predecessors(const graph::graph& graph, std::span<const std::int64_t> distance,
                                       std::span<const std::uint64_t> sources, bool unit_weights);

/// Dijkstra with a binary heap on one core: the reference answer. -1 where unreachable.
std::vector<std::int64_t> dijkstra(const graph::graph& graph, std::span<const std::uint64_t> sources,
                                   bool unit_weights);
inline std::vector<std::int64_t> dijkstra(const graph::graph& graph, std::uint64_t source, bool unit_weights) {
    return dijkstra(graph, std::span(&source, 1), unit_weights);
}

}  // namespace laneway::apps

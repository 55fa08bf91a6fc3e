// Connected components over many devices: the host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct cc_options {
    options job;                       ///< devices, deadline, seed, and the library's other knobs
    std::vector<std::uint32_t> parts;  ///< PE of each vertex; empty: contiguous ranges with equal arcs
};

struct cc_result {
    std::vector<std::uint64_t> component;  ///< one entry a vertex in CSR order: 0 to components - 1, by first vertex
    std::uint64_t components = 0;
    double partition_seconds = 0;  ///< dividing the graph and copying it to the devices; 0 where it was there
    run_report report;
};

/// Components of the graph as if each arc led both ways (weakly connected ones): vertices are in one component if a
/// path joins them. Throws usage_error for wrong devices or parts and a PE with 2^32 - 64 vertices or more,
/// timeout_error and device_fault for a failed run. Method: Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018), with links
/// that are one-sided minima.
cc_result connected_components(const graph::graph& graph, const cc_options& options);
/// On what earlier runs have put on the devices of the graph's workspace; `options.job` is the workspace's.
cc_result connected_components(resident_graph& graph, const cc_options& options);

/// The same on one core of the host, by union and find: the reference. Without a report.
cc_result components_by_union_find(const graph::graph& graph);

}  // namespace laneway::apps

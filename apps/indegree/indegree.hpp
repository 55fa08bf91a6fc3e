// In-degrees of a distributed graph: the host's view of Orr's example of messages from diverged lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

/// How lanes share out the arcs that they walk.
enum class arc_walk {
    lists,  ///< a lane walks the list of one vertex after another: lists differ in length, and lanes diverge
    arcs,   ///< neighbouring lanes take neighbouring arcs, whosever they are
};

/// Reads "lists" or "arcs"; throws usage_error for another word.
arc_walk parse_arc_walk(const std::string& text);

struct indegree_options {
    options job;  ///< devices, deadline, seed, and the library's other knobs
    arc_walk walk = arc_walk::lists;
};

struct indegree_result {
    std::vector<std::uint64_t> in_degree;  ///< one entry a vertex in CSR order: arcs that lead to it, parallel ones too
    double partition_seconds = 0;          ///< splitting the graph and copying it to the devices; 0 where it was there
    run_report report;
};

/// Counts the arcs that lead to each vertex: every arc is a message to the PE that owns its head. Vertices are divided
/// into contiguous ranges with equal arcs. Throws usage_error for wrong devices and a PE with 2^32 vertices or more,
/// timeout_error and device_fault for a failed run. Method: Orr 2016, section 5.3.
indegree_result indegree(const graph::graph& graph, const indegree_options& options);
/// On what earlier runs have put on the devices of the graph's workspace; `options.job` is the workspace's.
indegree_result indegree(resident_graph& graph, const indegree_options& options);

}  // namespace laneway::apps

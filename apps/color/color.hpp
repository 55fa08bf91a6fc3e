// Graph colouring over many devices: the host's view.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct color_options {
    options job;                          ///< devices, deadline, seed, and the library's other knobs
    std::uint64_t order = 1;              ///< seed of the order in which vertices choose
    std::vector<std::uint32_t> parts;     ///< PE of each vertex (METIS, say); empty: contiguous ranges with equal arcs
    std::vector<std::uint64_t> sequence;  ///< all vertices, in the order in which they choose; empty: coloring_order
};

struct color_result {
    std::vector<std::uint32_t> color;  ///< one entry a vertex in CSR order
    std::uint32_t colors = 0;          ///< how many there are: 0 to colors - 1 all occur
    std::uint64_t rounds = 0;          ///< in which vertices told neighbours: the order's longest chain; 0 without arcs
    double partition_seconds = 0;      ///< ordering, splitting and copying the graph, as far as it was not there
    run_report report;
};

/// Gives every vertex the least colour that no neighbour before it in the order has. Neighbours are joined by an
/// arc in either direction; self-loops do not count. Method: Jones and Plassmann (SIAM J. Sci. Comput. 1993): a vertex
/// chooses when it has heard from all neighbours before it. The result is that of color_greedily, on any devices.
/// Throws usage_error for parts and a sequence that do not fit the graph; timeout_error and device_fault for a failed
/// run.
color_result color(const graph::graph& graph, const color_options& options);
/// On what earlier runs with the same parts have put on the devices of the graph's workspace; `options.job` is the
/// workspace's.
color_result color(resident_graph& graph, const color_options& options);

/// The same colours vertex by vertex on one core: the reference answer.
struct greedy_coloring {
    std::vector<std::uint32_t> color;
    std::uint64_t longest_chain = 0;  ///< of neighbours, each before the next in the order; vertices
};
greedy_coloring color_greedily(const graph::graph& graph, std::uint64_t order,
                               std::span<const std::uint64_t> sequence = {});

}  // namespace laneway::apps

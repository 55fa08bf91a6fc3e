// PageRank over many devices: the host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"

namespace laneway::apps {

struct pagerank_options {
    options job;                       ///< devices, deadline, seed, and the library's other knobs
    double damping = 0.85;             ///< share of rank that follows arcs, 0 to 1
    std::uint64_t rounds = 10;         ///< most rounds
    double tolerance = 0;              ///< ends earlier when all ranks together have changed by less; 0: never
    std::vector<std::uint32_t> parts;  ///< PE of each vertex (METIS, say); empty: ranges with equal arcs into them
};

struct pagerank_result {
    std::vector<double> rank;      ///< one entry a vertex in CSR order; their sum is 1, but for rounding
    std::uint64_t rounds = 0;      ///< done
    double change = 0;             ///< sum over vertices of the last round's absolute change
    double partition_seconds = 0;  ///< turning the arcs round, splitting the graph and copying it to the devices
    run_report report;
};

/// Ranks by power iteration from equal ones (Page et al., Stanford 1999; with LDBC Graphalytics' treatment of vertices
/// without arcs, whose rank spreads evenly over all). Parallel arcs count each, weights do not. The result is the same
/// to the last bit on any devices: it is added up in whole numbers. Each share of a rank is rounded to 24 bits, so
/// ranks are within 2^-24 · damping / (1 - damping) of the exact ones, relative to these: 3.4e-7 at most for 0.85.
/// Throws usage_error for options out of range, a graph without vertices, parts that do not fit it, and where a device
/// would own and mirror 2^31 vertices or about as many; timeout_error and device_fault for a failed run.
pagerank_result pagerank(const graph::graph& graph, const pagerank_options& options);

}  // namespace laneway::apps

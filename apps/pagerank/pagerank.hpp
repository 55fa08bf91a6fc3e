// PageRank over many devices: the host's view.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct pagerank_options {
    options job;                   ///< devices, deadline, seed, and the library's other knobs
    double alpha = 0.85;           ///< share of rank that follows arcs, 0 to 1
    double tol = 1e-6;             ///< ranks have converged when a round changes each by less than this, on average
    std::uint64_t max_iter = 100;  ///< most rounds
    std::optional<std::uint64_t> rounds;  ///< exactly so many, whether or not ranks have converged
    bool weighted = true;  ///< whether rank follows arcs in proportion to their weights; else each arc counts 1
    std::vector<double> personalization;  ///< one a vertex: where the rest of rank goes, in proportion; empty: evenly
    std::vector<double>
        dangling;                ///< the same for the rank of vertices that hand it to none; empty: as personalization
    std::vector<double> nstart;  ///< one a vertex: the ranks at the start, in proportion; empty: equal ones
    std::vector<std::uint32_t> parts;  ///< PE of each vertex (METIS, say); empty: ranges with equal arcs into them
};

struct pagerank_result {
    std::vector<double> rank;      ///< one entry a vertex in CSR order; their sum is 1, but for rounding
    std::uint64_t rounds = 0;      ///< done
    double residual = 0;           ///< sum over vertices of the last round's absolute change
    bool converged = false;        ///< whether it is less than tol times the number of vertices
    double partition_seconds = 0;  ///< turning the arcs round, splitting and copying the graph; 0 where it was there
    run_report report;
};

/// Ranks by power iteration (Page et al., Stanford 1999) from equal ones or from `nstart`, by the rules of NetworkX: in
/// a round a vertex hands `alpha` of its rank to the heads of its arcs, in proportion to their weights, parallel arcs
/// each; the rest goes to all vertices as `personalization` says, and the rank of vertices whose arcs weigh nothing, or
/// that have none, as `dangling` says. Rounds end when they change the ranks, all together, by less than `tol` times
/// the number of vertices; that they did not is told in the result.
///
/// The result is the same to the last bit on any devices: it is added up in whole numbers. Each share of a rank is
/// rounded to 24 bits, so ranks are within 2^-24 · alpha / (1 - alpha) of the exact ones, relative to these: 3.4e-7 at
/// most for 0.85. Rounding may keep them changing by twice that in all: a tol that asks for less may never be met.
///
/// Throws usage_error for options out of range, a graph without vertices, personalization, dangling, nstart and parts
/// that do not fit it, and where a device would own and mirror 2^31 vertices or about as many; timeout_error and
/// device_fault for a failed run.
pagerank_result pagerank(const graph::graph& graph, const pagerank_options& options);
/// On what earlier runs with the same parts, and with or without weights like this one, have put on the devices of the
/// graph's workspace; `options.job` is the workspace's.
pagerank_result pagerank(resident_graph& graph, const pagerank_options& options);

}  // namespace laneway::apps

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

/// How ranks are found.
enum class pagerank_method {
    pull,  ///< by rounds: every vertex adds up the shares of those that lead to it
    push,  ///< as they come: a vertex hands on what it has gathered once that is worth it, without rounds
};

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
    std::vector<std::uint32_t>
        parts;  ///< PE of each vertex (METIS, say); empty: ranges with equal arcs into them, or of push out of them
    pagerank_method method = pagerank_method::pull;
    bool priorities = true;  ///< of push: only what is much beside what is left is handed on
    bool fused = true;       ///< of push: one run of the devices, not one for each sweep
};

struct pagerank_result {
    std::vector<double> rank;      ///< one entry a vertex in CSR order; their sum is 1, but for rounding
    std::uint64_t rounds = 0;      ///< done; none by push
    double residual = 0;           ///< sum over vertices of the last round's absolute change; by push what was left
    bool converged = false;        ///< whether it is less than tol times the number of vertices; by push also: 0
    std::uint64_t looks = 0;       ///< by push: at vertices, for whether they have something to hand on
    std::uint64_t pushes = 0;      ///< by push: of these, times that a vertex has handed on what had gathered
    std::uint64_t adds = 0;        ///< by push: along arcs
    std::uint64_t sent = 0;        ///< by push: sums for a vertex that have gone to the PE that owns it
    std::uint64_t suppressed = 0;  ///< by push: looks at such sums that were left to gather more
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
/// most for 0.85; beside that, in each round a vertex may lose a unit of 2^-62 for each arc that leads to it. Rounding
/// may keep them changing by twice that in all: a tol that asks for less may never be met.
///
/// By push (Whang et al., Euro-Par 2015, without rounds as in Groute) ranks start at 0, and each vertex with its part
/// of 1 - alpha as a residual. A vertex whose residual is large enough, beside what is left with all, adds it to its
/// rank and hands alpha of it on; what arcs bring to a vertex of another PE gathers there and goes as one sum. It ends
/// when less than tol times the number of vertices, of a whole rank of 1, is left with all vertices: `residual`. The
/// ranks then are within 2 · alpha / (1 - alpha) · residual of the exact ones, summed over all vertices, and differ
/// from run to run by no more. Shares are rounded down to 2^-62. Push wants an alpha of 1 - 1e-9 at most, and takes
/// neither nstart nor rounds; max_iter does not count. `priorities` and `fused` are true by pull.
///
/// Throws usage_error for options out of range, a graph without vertices, personalization, dangling, nstart and parts
/// that do not fit it, and where a device would own and mirror 2^31 vertices or about as many; timeout_error and
/// device_fault for a failed run.
pagerank_result pagerank(const graph::graph& graph, const pagerank_options& options);
/// On what earlier runs with the same parts, and with or without weights like this one, have put on the devices of the
/// graph's workspace; `options.job` is the workspace's.
pagerank_result pagerank(resident_graph& graph, const pagerank_options& options);

}  // namespace laneway::apps

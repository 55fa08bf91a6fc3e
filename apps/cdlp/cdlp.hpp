// Community detection by label propagation over many devices: the host's view.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct cdlp_options {
    options job;                         ///< devices, deadline, seed, and the library's other knobs
    std::uint64_t rounds = 10;           ///< most; labels that no longer change end it earlier
    std::vector<std::uint32_t> parts;    ///< PE of each vertex; empty: contiguous ranges with equal arcs
    std::vector<std::uint32_t> classes;  ///< of each vertex, all less than there are vertices; empty: no classes
};

struct cdlp_result {
    std::vector<std::uint32_t> label;  ///< one entry a vertex in CSR order: a vertex, whose label was its own number
    std::uint64_t labels = 0;          ///< how many different ones there are
    std::uint64_t rounds = 0;          ///< that were run, with the one that changed nothing
    bool converged = false;            ///< whether the last round changed nothing
    double partition_seconds = 0;      ///< dividing the graph and copying it to the devices; 0 where it was there
    run_report report;
};

/// Labels that spread along arcs, in either direction: each begins as its vertex's number, and in each round every
/// vertex takes the label that most of its neighbours have, the least one of several. An arc each way between two
/// vertices counts twice in a directed graph, parallel arcs count each, self-loops do not. Method: LDBC Graphalytics
/// 1.0.5, section 2.3.5, after Raghavan, Albert and Kumara (2007).
///
/// With classes the vertices of each take labels at once, and the classes one after the other, by number, in each
/// round: a vertex keeps its label where that is among the most frequent ones, and takes the greatest of them
/// otherwise. Neighbours count once, whichever way arcs lead, and a vertex with a self-loop is one of itself. Where no
/// two neighbours are of one class, as in a colouring, a round is as if vertices came one by one, and labels come to
/// rest. Method: Cordasco and Gargano (2010), semi-synchronous, as NetworkX's label_propagation_communities has it.
///
/// The same on any devices. Throws usage_error for wrong devices, parts or classes and a graph of 2^32 - 1 vertices or
/// more, timeout_error and device_fault for a failed run.
cdlp_result label_propagation(const graph::graph& graph, const cdlp_options& options);
/// On what earlier runs have put on the devices of the graph's workspace; `options.job` is the workspace's.
cdlp_result label_propagation(resident_graph& graph, const cdlp_options& options);

/// The same on one core of the host, by sorting labels: the reference. With classes vertices come one by one, so it is
/// that of classes without neighbours. Without a report.
cdlp_result labels_by_sorting(const graph::graph& graph, std::uint64_t rounds,
                              std::span<const std::uint32_t> classes = {});

}  // namespace laneway::apps

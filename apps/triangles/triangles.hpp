// Triangles and clustering of a graph over many devices: the host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::apps {

struct triangles_result {
    std::vector<std::uint64_t> triangles;  ///< one entry a vertex in CSR order: triangles that have it as a corner
    std::uint64_t total = 0;               ///< of the graph
    double partition_seconds = 0;          ///< ordering and dividing the graph and copying it; 0 where it was there
    run_report report;
};

struct clustering_result {
    std::vector<double> coefficient;  ///< one entry a vertex in CSR order, 0 to 1
    double average = 0;               ///< over all vertices
    double partition_seconds = 0;     ///< as of triangles_result
    run_report report;
};

/// Triangles of the graph below: as if each arc led both ways, without parallel arcs and self-loops. Throws usage_error
/// for wrong devices, timeout_error and device_fault for a failed run. Method: for each arc the common neighbours
/// behind both ends, arcs leading from lesser to greater degree (Chiba and Nishizeki 1985; Schank and Wagner 2005),
/// while the PEs' rows go round all PEs.
triangles_result triangles(const graph::graph& graph, const options& job);
/// On what earlier runs have put on the devices of the graph's workspace, whose options count.
triangles_result triangles(resident_graph& graph);

/// Local clustering coefficients: arcs that lead from one neighbour of a vertex to another, as a part of those that
/// could, d (d - 1) for d neighbours in either direction; 0 with fewer than two. Parallel arcs count as one,
/// self-loops do not count. Throws as triangles. Method: LDBC Graphalytics 1.0.5, section 2.3.6.
clustering_result local_clustering(const graph::graph& graph, const options& job);
clustering_result local_clustering(resident_graph& graph);

/// The same on one core of the host, by marking the neighbours of each vertex: the references. Without a report.
triangles_result triangles_by_marking(const graph::graph& graph);
clustering_result clustering_by_marking(const graph::graph& graph);

}  // namespace laneway::apps

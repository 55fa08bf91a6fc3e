// A graph with arcs from lesser to greater degree, which leave no vertex with many.
#pragma once

#include <algorithm>

#include "laneway/base/interruption.hpp"
#include "laneway/graph/undirected.hpp"

namespace laneway::apps {

template <class Vertex>
struct oriented_graph {
    graph::basic_csr<Vertex> arcs;      ///< heads ascending; weights, where asked for: arcs of the given graph, 1 or 2
    std::vector<std::uint64_t> degree;  ///< of each vertex: neighbours, in either direction
};

/// Whether the sorted row of `vertex` has `head`.
template <class Vertex>
bool has_arc(const graph::basic_csr<Vertex>& sorted, std::uint64_t vertex, Vertex head) {
    const Vertex* row = sorted.heads.data();
    return std::binary_search(row + sorted.offsets[vertex], row + sorted.offsets[vertex + 1], head);
}

/// The graph with the heads of each row ascending, without weights.
template <class Vertex>
graph::basic_csr<Vertex> sorted_rows(const graph::basic_csr<Vertex>& graph) {
    graph::basic_csr<Vertex> sorted{graph.offsets, graph.heads, {}};
    interruption_counter leave;
    for (std::uint64_t v = 0; v < sorted.vertices(); ++v) {
        leave.poll();
        std::sort(sorted.heads.data() + sorted.offsets[v], sorted.heads.data() + sorted.offsets[v + 1]);
    }
    return sorted;
}

/// Each two neighbours are joined by one arc, from the one with fewer neighbours, or before the other in the graph
/// where these are equal. No row has more than sqrt(2 m) arcs, for m pairs of neighbours. `directions`: with weights
/// that say how many directions the given graph has arcs in.
template <class Vertex>
oriented_graph<Vertex> orient(const graph::basic_csr<Vertex>& graph, bool directions) {
    const graph::basic_csr<Vertex> both = graph::undirected(graph);
    const graph::basic_csr<Vertex> given = directions ? sorted_rows(graph) : graph::basic_csr<Vertex>{};
    oriented_graph<Vertex> result;
    result.degree.resize(both.vertices());
    for (std::uint64_t v = 0; v < both.vertices(); ++v) result.degree[v] = both.offsets[v + 1] - both.offsets[v];
    result.arcs.heads.reserve(both.arcs() / 2);
    interruption_counter leave;
    for (std::uint64_t v = 0; v < both.vertices(); ++v) {
        for (std::uint64_t arc = both.offsets[v]; arc < both.offsets[v + 1]; ++arc) {
            leave.poll();
            const Vertex head = both.heads[arc];
            if (std::pair(result.degree[head], std::uint64_t{head}) < std::pair(result.degree[v], v)) continue;
            result.arcs.heads.push_back(head);
            if (!directions) continue;
            const bool there = has_arc(given, v, head), back = has_arc(given, head, static_cast<Vertex>(v));
            result.arcs.weights.push_back(there && back ? 2 : 1);
        }
        result.arcs.offsets.push_back(result.arcs.heads.size());
    }
    return result;
}

}  // namespace laneway::apps

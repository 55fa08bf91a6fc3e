// What a vertex hears labels from.
#pragma once

#include "laneway/graph/transpose.hpp"
#include "laneway/graph/undirected.hpp"

namespace laneway::apps {

/// Calls `use(graph)` with the graph itself if it is symmetric, else with one that has an arc back beside each of its
/// arcs. Without weights.
template <class Vertex, class Use>
auto with_both_ways(const graph::basic_csr<Vertex>& graph, Use&& use) {
    if (graph::is_symmetric(graph)) return use(graph);
    const graph::basic_csr<Vertex> back = graph::transpose(graph);
    graph::basic_csr<Vertex> both;
    both.offsets.reserve(graph.offsets.size());
    both.heads.reserve(2 * graph.heads.size());
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
        for (const auto* each : {&graph, &back}) {
            both.heads.insert(both.heads.end(), each->heads.data() + each->offsets[v],
                              each->heads.data() + each->offsets[v + 1]);
        }
        both.offsets.push_back(both.heads.size());
    }
    return use(both);
}

/// The graph of neighbours: an arc each way between vertices that any arc joins, and a self-loop where there is one.
template <class Vertex>
graph::basic_csr<Vertex> neighbors_of(const graph::basic_csr<Vertex>& graph) {
    // Turned round, a symmetric graph is the same with ascending rows.
    graph::basic_csr<Vertex> rows = with_both_ways(graph, [](const auto& both) { return graph::transpose(both); });
    std::uint64_t kept = 0;
    for (std::uint64_t v = 0, arc = 0; v < rows.vertices(); ++v) {
        const std::uint64_t first = kept;
        for (const std::uint64_t end = rows.offsets[v + 1]; arc < end; ++arc) {
            if (kept == first || rows.heads[kept - 1] != rows.heads[arc]) rows.heads[kept++] = rows.heads[arc];
        }
        rows.offsets[v + 1] = kept;
    }
    rows.heads.resize(kept);
    return rows;
}

}  // namespace laneway::apps

#include <numeric>

#include "orient.hpp"
#include "triangles.hpp"

namespace laneway::apps {

namespace {

/// Calls `each(v, neighbours, marked)` for every vertex, with its neighbours in either direction marked.
template <class Vertex, class Each>
void with_marked_neighbours(const graph::basic_csr<Vertex>& both, Each&& each) {
    std::vector<bool> marked(both.vertices());
    interruption_counter leave;
    for (std::uint64_t v = 0; v < both.vertices(); ++v) {
        leave.poll();
        const std::vector<Vertex> neighbours(both.heads.data() + both.offsets[v],
                                             both.heads.data() + both.offsets[v + 1]);
        for (const Vertex n : neighbours) marked[n] = true;
        each(v, neighbours, marked);
        for (const Vertex n : neighbours) marked[n] = false;
    }
}

/// Different marked vertices that arcs lead to from one of `tails`, each counted once a tail. Rows are sorted.
template <class Vertex>
std::uint64_t marked_heads(const graph::basic_csr<Vertex>& g, const std::vector<Vertex>& tails,
                           const std::vector<bool>& marked) {
    std::uint64_t number = 0;
    for (const Vertex tail : tails) {
        for (std::uint64_t arc = g.offsets[tail]; arc < g.offsets[tail + 1]; ++arc) {
            const bool repeats = arc > g.offsets[tail] && g.heads[arc] == g.heads[arc - 1];
            number += marked[g.heads[arc]] && g.heads[arc] != tail && !repeats ? 1 : 0;
        }
    }
    return number;
}

}  // namespace

triangles_result triangles_by_marking(const graph::graph& graph) {
    triangles_result result;
    std::visit(
        [&](const auto& g) {
            const auto both = graph::undirected(g);
            with_marked_neighbours(both, [&](std::uint64_t, const auto& neighbours, const auto& marked) {
                result.triangles.push_back(marked_heads(both, neighbours, marked) / 2);
            });
        },
        graph.arcs);
    result.total = std::accumulate(result.triangles.begin(), result.triangles.end(), std::uint64_t{0}) / 3;
    return result;
}

clustering_result clustering_by_marking(const graph::graph& graph) {
    clustering_result result;
    std::visit(
        [&](const auto& g) {
            const auto given = sorted_rows(g);
            with_marked_neighbours(graph::undirected(g), [&](std::uint64_t, const auto& near, const auto& marked) {
                const double could = static_cast<double>(near.size()) * (static_cast<double>(near.size()) - 1);
                const auto number = static_cast<double>(marked_heads(given, near, marked));
                result.coefficient.push_back(near.size() < 2 ? 0 : number / could);
            });
        },
        graph.arcs);
    const double sum = std::accumulate(result.coefficient.begin(), result.coefficient.end(), 0.0);
    result.average = result.coefficient.empty() ? 0 : sum / static_cast<double>(result.coefficient.size());
    return result;
}

}  // namespace laneway::apps

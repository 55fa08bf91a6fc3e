#include <algorithm>

#include "color.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/graph/undirected.hpp"
#include "order.hpp"

namespace laneway::apps {

namespace {

template <class Vertex>
greedy_coloring greedily(const graph::basic_csr<Vertex>& g, std::uint64_t seed,
                         std::span<const std::uint64_t> sequence) {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    greedy_coloring result;
    result.color.assign(g.vertices(), none);
    std::vector<std::uint64_t> chain(g.vertices(), 0);
    std::vector<Vertex> taken_by;  // the last vertex that saw a colour at a neighbour, plus 1
    interruption_counter leave;
    for (const Vertex v : coloring_order<Vertex>(g.offsets, seed, sequence)) {
        leave.poll();
        for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
            const Vertex head = g.heads[arc];
            const std::uint32_t color = result.color[head];
            if (color == none) continue;
            taken_by[color] = v + 1;
            chain[v] = std::max(chain[v], chain[head]);
        }
        const auto free = std::find_if(taken_by.begin(), taken_by.end(), [&](Vertex by) { return by != v + 1; });
        result.color[v] = static_cast<std::uint32_t>(free - taken_by.begin());
        if (free == taken_by.end()) taken_by.push_back(0);
        result.longest_chain = std::max(result.longest_chain, ++chain[v]);
    }
    return result;
}

}  // namespace

greedy_coloring color_greedily(const graph::graph& graph, std::uint64_t order,
                               std::span<const std::uint64_t> sequence) {
    return std::visit(
        [&](const auto& g) {
            return graph::is_symmetric(g) ? greedily(g, order, sequence)
                                          : greedily(graph::undirected(g), order, sequence);
        },
        graph.arcs);
}

}  // namespace laneway::apps

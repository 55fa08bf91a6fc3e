#include <functional>
#include <queue>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "shortest_paths.hpp"

namespace laneway::apps {

namespace {

template <class Vertex>
std::vector<std::int64_t> distances_of(const graph::basic_csr<Vertex>& g, std::span<const std::uint64_t> sources,
                                       bool unit_weights) {
    std::vector<std::int64_t> distance(g.vertices(), -1);
    using entry = std::pair<std::int64_t, std::uint64_t>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    for (const std::uint64_t source : sources) {
        if (source >= g.vertices()) throw usage_error("source: outside the graph");
        distance[source] = 0;
        open.emplace(0, source);
    }
    interruption_counter leave;
    while (!open.empty()) {
        leave.poll();
        const auto [d, v] = open.top();
        open.pop();
        if (d != distance[v]) continue;
        for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
            const std::int64_t through = d + (unit_weights ? 1 : static_cast<std::int64_t>(g.weight(arc)));
            std::int64_t& known = distance[g.heads[arc]];
            if (known >= 0 && known <= through) continue;
            known = through;
            open.emplace(through, g.heads[arc]);
        }
    }
    return distance;
}

}  // namespace

std::vector<std::int64_t> dijkstra(const graph::graph& graph, std::span<const std::uint64_t> sources,
                                   bool unit_weights) {
    return std::visit([&](const auto& g) { return distances_of(g, sources, unit_weights); }, graph.arcs);
}

}  // namespace laneway::apps

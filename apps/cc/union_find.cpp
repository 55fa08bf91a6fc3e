#include <algorithm>
#include <numeric>

#include "laneway/base/interruption.hpp"
#include "numbering.hpp"

namespace laneway::apps {

namespace {

/// The root of a vertex; halves the way there.
template <class Vertex>
Vertex root_of(std::vector<Vertex>& parent, Vertex vertex) {
    while (parent[vertex] != vertex) {
        parent[vertex] = parent[parent[vertex]];
        vertex = parent[vertex];
    }
    return vertex;
}

}  // namespace

cc_result components_by_union_find(const graph::graph& graph) {
    cc_result result;
    std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) {
            std::vector<Vertex> parent(g.vertices());
            std::iota(parent.begin(), parent.end(), Vertex{});
            interruption_counter leave;
            for (std::uint64_t v = 0; v < g.vertices(); ++v) {
                for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
                    leave.poll();
                    const Vertex a = root_of(parent, static_cast<Vertex>(v));
                    const Vertex b = root_of(parent, g.heads[arc]);
                    parent[std::max(a, b)] = std::min(a, b);
                }
            }
            for (std::uint64_t v = 0; v < g.vertices(); ++v) parent[v] = root_of(parent, static_cast<Vertex>(v));
            number_components(parent, result);
        },
        graph.arcs);
    return result;
}

}  // namespace laneway::apps

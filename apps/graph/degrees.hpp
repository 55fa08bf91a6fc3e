// How many arcs leave the vertices of a graph: what is cheap to know of its shape. Host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "laneway/graph/csr.hpp"

namespace laneway::apps {

struct degrees {
    std::uint64_t vertices = 0;
    std::uint64_t arcs = 0;
    std::uint64_t most = 0;  ///< arcs of one vertex

    [[nodiscard]] double mean() const {
        return vertices == 0 ? 0 : static_cast<double>(arcs) / static_cast<double>(vertices);
    }
};

inline degrees degrees_of(const graph::graph& graph) {
    return std::visit(
        [](const auto& g) {
            degrees all{g.vertices(), g.arcs(), 0};
            for (std::uint64_t v = 0; v < all.vertices; ++v) {
                all.most = std::max(all.most, g.offsets[v + 1] - g.offsets[v]);
            }
            return all;
        },
        graph.arcs);
}

}  // namespace laneway::apps

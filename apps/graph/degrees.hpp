// How many arcs leave the vertices of a graph: what is cheap to know of its shape. Host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "laneway/graph/csr.hpp"

namespace laneway::apps {

struct degrees {
    std::uint64_t vertices = 0;
    std::uint64_t arcs = 0;
    std::uint64_t most = 0;        ///< arcs of one vertex
    std::uint64_t of_hubs = 0;     ///< arcs of vertices that have more than hub_factor times the mean
    std::uint64_t above_mean = 0;  ///< vertices that have more than the mean and its root

    static constexpr double hub_factor = 16;

    [[nodiscard]] double mean() const {
        return vertices == 0 ? 0 : static_cast<double>(arcs) / static_cast<double>(vertices);
    }
};

inline degrees degrees_of(const graph::graph& graph) {
    return std::visit(
        [](const auto& g) {
            degrees all{g.vertices(), g.arcs()};
            const double mean = all.mean(), hub = degrees::hub_factor * mean, wide = mean + std::sqrt(mean);
            for (std::uint64_t v = 0; v < all.vertices; ++v) {
                const std::uint64_t arcs = g.offsets[v + 1] - g.offsets[v];
                all.most = std::max(all.most, arcs);
                if (static_cast<double>(arcs) > hub) all.of_hubs += arcs;
                if (static_cast<double>(arcs) > wide) ++all.above_mean;
            }
            return all;
        },
        graph.arcs);
}

}  // namespace laneway::apps

// What searches of shortest paths choose from the graph where nobody has said it.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "graph/division.hpp"
#include "laneway/base/error.hpp"
#include "laneway/graph/csr.hpp"

namespace laneway::apps {

/// A step that lets about as much work in as a wide machine needs: 32 average arcs long, fewer where vertices have many
/// arcs (the rule of Davidson et al., IPDPS 2014, section 4).
template <class Vertex>
std::uint64_t default_delta(const graph::basic_csr<Vertex>& g, bool weighted) {
    if (g.arcs() == 0) return 1;
    double weight = 1;
    if (weighted) {
        weight = std::accumulate(g.weights.begin(), g.weights.end(), 0.0) / static_cast<double>(g.arcs());
    }
    const double degree = static_cast<double>(g.arcs()) / static_cast<double>(g.vertices());
    return static_cast<std::uint64_t>(std::clamp(32.0 * weight / degree, 1.0, 0x1p60));
}

/// Where sources lie among the PEs' vertices, rising, each once. Throws usage_error for none and for one that does not
/// exist.
template <class Vertex>
std::vector<std::uint64_t> places_of(std::span<const std::uint64_t> sources, const division<Vertex>& division) {
    if (sources.empty()) throw usage_error("source: a search needs at least one");
    const std::uint64_t vertices = division.starts().back();
    std::vector<std::uint64_t> places;
    for (const std::uint64_t source : sources) {
        if (source >= vertices) {
            throw usage_error("source: vertex " + std::to_string(source) + " is outside a graph of " +
                              std::to_string(vertices) + " vertices");
        }
        places.push_back(division.place(source));
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

}  // namespace laneway::apps

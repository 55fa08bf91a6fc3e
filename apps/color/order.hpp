// The order in which vertices may choose their colours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "laneway/graph/csr.hpp"

namespace laneway::apps {

/// The vertices, first those of many arcs: by falling binary logarithm of the degree, at random among equals. A
/// neighbour that comes first chooses first. Method: largest log-degree first (Hasenplaug, Kaler, Schardl, Leiserson,
/// SPAA 2014), which needs fewer colours than a random order and keeps chains of neighbours as short. The same seed
/// gives the same order everywhere. `offsets`: of the graph, which decide with the seed alone.
template <class Vertex>
std::vector<Vertex> coloring_order(std::span<const std::uint64_t> offsets, std::uint64_t seed);
/// The same, or what `sequence` says, where it is not empty. Throws usage_error where it does not have each vertex
/// once.
template <class Vertex>
std::vector<Vertex> coloring_order(std::span<const std::uint64_t> offsets, std::uint64_t seed,
                                   std::span<const std::uint64_t> sequence);
template <class Vertex>
std::vector<Vertex> coloring_order(const graph::basic_csr<Vertex>& graph, std::uint64_t seed) {
    return coloring_order<Vertex>(std::span<const std::uint64_t>(graph.offsets), seed);
}

}  // namespace laneway::apps

// The part of a graph that one PE owns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// Rows [first, first + vertices()) of a graph. Arcs are views into the graph, which must outlive the slice.
template <class Vertex>
struct csr_slice {
    std::uint64_t first = 0;
    std::vector<std::uint64_t> offsets{0};   ///< vertices() + 1 entries from 0; arcs of row first + i
    std::span<const Vertex> heads;           ///< global ids
    std::span<const std::uint32_t> weights;  ///< empty where the graph is unweighted

    [[nodiscard]] std::uint64_t vertices() const { return offsets.size() - 1; }
    [[nodiscard]] std::uint64_t arcs() const { return heads.size(); }
};

/// Rows [begin, end) of `graph`; copies their offsets only. Throws usage_error unless begin <= end <= n.
template <class Vertex>
csr_slice<Vertex> slice(const basic_csr<Vertex>& graph, std::uint64_t begin, std::uint64_t end) {
    if (begin > end || end > graph.vertices())
        throw usage_error("rows " + std::to_string(begin) + ".." + std::to_string(end) + " are outside a graph of " +
                          std::to_string(graph.vertices()) + " vertices");
    const std::uint64_t base = graph.offsets[begin];
    const std::uint64_t count = graph.offsets[end] - base;
    csr_slice<Vertex> part;
    part.first = begin;
    part.offsets.resize(end - begin + 1);
    for (std::uint64_t row = begin; row <= end; ++row) part.offsets[row - begin] = graph.offsets[row] - base;
    part.heads = std::span(graph.heads).subspan(base, count);
    if (graph.weighted()) part.weights = std::span(graph.weights).subspan(base, count);
    return part;
}

}  // namespace laneway::graph

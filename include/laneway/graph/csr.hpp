// Compressed sparse rows: the one in-memory form of a graph on the host.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace laneway::graph {

/// Directed graph with vertices 0..n-1. `Vertex` is std::uint32_t or std::uint64_t.
template <class Vertex>
struct basic_csr {
    std::vector<std::uint64_t> offsets{0};  ///< n + 1 entries; arcs of v are [offsets[v], offsets[v+1])
    std::vector<Vertex> heads;              ///< one entry an arc
    std::vector<std::uint32_t> weights;     ///< one entry an arc, or empty: every arc weighs 1

    [[nodiscard]] std::uint64_t vertices() const { return offsets.size() - 1; }
    [[nodiscard]] std::uint64_t arcs() const { return heads.size(); }
    [[nodiscard]] bool weighted() const { return !weights.empty(); }
    [[nodiscard]] std::uint32_t weight(std::uint64_t arc) const { return weights.empty() ? 1 : weights[arc]; }
};

using csr32 = basic_csr<std::uint32_t>;
using csr64 = basic_csr<std::uint64_t>;

/// How the vertices of a file are numbered: vertex v of the CSR is `first + v`, or `labels[v]` if ids are sparse.
struct numbering {
    std::uint64_t first = 0;
    std::vector<std::uint64_t> labels;  ///< ascending; empty when ids are contiguous

    /// CSR index of the vertex that the file calls `id`; throws usage_error naming the valid range.
    [[nodiscard]] std::uint64_t index_of(std::uint64_t id) const;
    [[nodiscard]] std::uint64_t id_of(std::uint64_t index) const {
        return labels.empty() ? first + index : labels[index];
    }
    std::uint64_t vertices = 0;  ///< how many there are
};

/// A graph as read from a file.
struct graph {
    std::variant<csr32, csr64> arcs;  ///< 32-bit ids unless asked for or needed otherwise
    numbering ids;
    std::uint64_t weight_scale = 1;  ///< a power of ten: the file's weight of an arc is weight / weight_scale
    bool weights_rounded = false;    ///< whether some weight had more decimals than weight_scale has

    [[nodiscard]] std::uint64_t vertices() const {
        return std::visit([](const auto& g) { return g.vertices(); }, arcs);
    }
    [[nodiscard]] std::uint64_t arc_count() const {
        return std::visit([](const auto& g) { return g.arcs(); }, arcs);
    }
    [[nodiscard]] bool weighted() const {
        return std::visit([](const auto& g) { return g.weighted(); }, arcs);
    }
};

}  // namespace laneway::graph

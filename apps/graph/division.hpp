// The order in which PEs own the vertices of a graph.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/graph/partition.hpp"
#include "laneway/graph/split.hpp"

namespace laneway::apps {

/// Vertices divided among PEs: contiguous ranges with equal arcs, or as the caller says. Every vertex of the graph has
/// a place, and a PE owns consecutive places.
template <class Vertex>
class division {
public:
    /// `parts`: PE of each vertex, or empty. Calls `take(pe, rows, starts)` with each PE's rows, whose heads are
    /// places; the rows live no longer than the call. Throws usage_error for parts that do not fit the graph or the
    /// PEs.
    template <class Take>
    division(const graph::basic_csr<Vertex>& graph, std::span<const std::uint32_t> parts, std::uint64_t n_pes,
             Take&& take) {
        if (parts.empty()) {
            starts_ = graph::equal_arc_ranges(graph, n_pes);
            slice(graph, take);
            return;
        }
        if (parts.size() != graph.vertices()) throw usage_error("partition: one part a vertex is needed");
        auto order = graph::order_by_part<Vertex>(parts, n_pes);
        new_id_ = std::move(order.new_id);
        starts_ = std::move(order.ranges);
        slice(graph::relabel<Vertex>(graph, new_id_), take);
    }

    /// n_pes + 1 entries: PE p owns the places [starts[p], starts[p + 1]).
    [[nodiscard]] const std::vector<std::uint64_t>& starts() const { return starts_; }
    [[nodiscard]] std::uint64_t place(std::uint64_t vertex) const { return new_id_.empty() ? vertex : new_id_[vertex]; }

    /// Values in the order of places, put in the order of the graph's vertices.
    template <class T>
    [[nodiscard]] std::vector<T> by_vertex(std::vector<T> values) const {
        if (new_id_.empty()) return values;
        std::vector<T> result(values.size());
        for (std::size_t v = 0; v < values.size(); ++v) result[v] = values[new_id_[v]];
        return result;
    }
    /// The other way round.
    template <class T>
    [[nodiscard]] std::vector<T> by_place(std::vector<T> values) const {
        if (new_id_.empty()) return values;
        std::vector<T> result(values.size());
        for (std::size_t v = 0; v < values.size(); ++v) result[new_id_[v]] = values[v];
        return result;
    }

private:
    template <class Take>
    void slice(const graph::basic_csr<Vertex>& graph, Take&& take) const {
        for (std::size_t p = 0; p + 1 < starts_.size(); ++p) {
            take(static_cast<int>(p), graph::slice(graph, starts_[p], starts_[p + 1]), starts_);
        }
    }

    std::vector<Vertex> new_id_;  ///< place of each vertex; empty: vertices are where they were
    std::vector<std::uint64_t> starts_;
};

}  // namespace laneway::apps

// A graph in the memory of all PEs of a runtime.
#pragma once

#include <algorithm>
#include <chrono>

#include "graph/collect.hpp"
#include "graph/row_tiles.hpp"
#include "laneway/runtime.hpp"

namespace laneway::apps {

/// What device code finds on its PE.
template <class Vertex>
struct graph_view {
    graph_rows<Vertex> rows;
    row_tiles_ref tiles;
};

/// Host owner. Refers to nothing but the runtime's devices.
template <class Vertex>
class distributed_graph {
public:
    /// Divides and copies, without weights. `parts`: PE of each vertex; empty: contiguous ranges with equal arcs.
    /// Throws usage_error for parts that do not fit the graph or the PEs, and a PE with 2^32 - 64 vertices or more.
    distributed_graph(runtime& runtime, const graph::basic_csr<Vertex>& graph, std::span<const std::uint32_t> parts)
        : start_(clock::now()), view_(runtime.allocate<graph_view<Vertex>>(1)),
          division_(graph, parts, static_cast<std::uint64_t>(runtime.n_pes()),
                    [&](int pe, const auto& rows, const auto& starts) { add(runtime, pe, rows, starts); }) {
        seconds_ = std::chrono::duration<double>(clock::now() - start_).count();
    }

    [[nodiscard]] symmetric_ref<graph_view<Vertex>> ref() const { return view_.ref(); }
    [[nodiscard]] const apps::division<Vertex>& division() const { return division_; }
    /// The most rows and arcs that a PE owns: what symmetric arrays need.
    [[nodiscard]] std::uint64_t max_rows() const { return max_rows_; }
    [[nodiscard]] std::uint64_t max_arcs() const { return max_arcs_; }
    /// Of each PE: what index spaces of its rows, or tiles of them, need.
    [[nodiscard]] std::vector<std::uint64_t> row_counts() const {
        std::vector<std::uint64_t> counts;
        for (const graph_part<Vertex>& part : parts_) counts.push_back(part.count());
        return counts;
    }
    [[nodiscard]] std::vector<std::uint64_t> tile_counts() const {
        std::vector<std::uint64_t> counts;
        for (const row_tiles& tiles : tiles_) counts.push_back(tiles.count());
        return counts;
    }
    /// Time that dividing and copying took.
    [[nodiscard]] double seconds() const { return seconds_; }

    /// One value a vertex, in the order of the graph's vertices, from arrays with one value a row.
    template <class T>
    [[nodiscard]] std::vector<T> collect(const symmetric_array<T>& values) const {
        return apps::collect(division_, values);
    }

private:
    using clock = std::chrono::steady_clock;

    void add(runtime& runtime, int pe, const graph::csr_slice<Vertex>& rows, const std::vector<std::uint64_t>& starts) {
        if (rows.vertices() >= 0xffffffff - 64) {
            throw usage_error("PE " + std::to_string(pe) + " would own " + std::to_string(rows.vertices()) +
                              " vertices, more than 4294967231: use more devices");
        }
        const auto& owner = runtime.machine().device(pe);
        const auto& part = parts_.emplace_back(owner, rows, starts);
        const auto& tiles = tiles_.emplace_back(owner, rows.offsets);
        view_.copy_in(pe, {{part.rows(), tiles.ref(part.rows().offsets)}});
        max_rows_ = std::max(max_rows_, rows.vertices());
        max_arcs_ = std::max(max_arcs_, rows.arcs());
    }

    clock::time_point start_;
    std::vector<graph_part<Vertex>> parts_;
    std::vector<row_tiles> tiles_;
    std::uint64_t max_rows_ = 0;
    std::uint64_t max_arcs_ = 0;
    double seconds_ = 0;
    symmetric_array<graph_view<Vertex>> view_;
    apps::division<Vertex> division_;
};

}  // namespace laneway::apps

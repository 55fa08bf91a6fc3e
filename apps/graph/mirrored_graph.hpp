// The arcs into each PE's vertices, in its memory, with mirrors of the vertices of other PEs that they come from.
#pragma once

#include <chrono>
#include <numeric>

#include "graph/collect.hpp"
#include "graph/mirrors.hpp"
#include "graph/row_tiles.hpp"
#include "laneway/graph/transpose.hpp"
#include "laneway/runtime.hpp"

namespace laneway::apps {

/// What device code finds on its PE; pointers are PE memory. A row's arcs are those that lead to its vertex.
struct mirrored_view {
    row_tiles_ref tiles;
    const std::uint32_t* sources = nullptr;         ///< one an arc: index of its tail's value among the PE's
    const std::uint32_t* weights = nullptr;         ///< one an arc, where weights count
    const std::uint64_t* outgoing = nullptr;        ///< arcs that leave each row's vertex, or their weights together
    const std::uint64_t* target_offsets = nullptr;  ///< rows + 1
    const mirror_target* targets = nullptr;         ///< where other PEs mirror each row's value
};

/// Host owner. Refers to nothing but the runtime's devices.
template <class Vertex>
class mirrored_graph {
public:
    /// Turns the arcs round, divides and copies. `weighted`: whether weights count, where the graph has them. `parts`:
    /// PE of each vertex; empty: contiguous ranges into which about equally many arcs lead. Throws usage_error for
    /// parts that do not fit the graph or the PEs, and where a PE would have more than `max_values` values, which is
    /// less than 2^32.
    mirrored_graph(runtime& runtime, const graph::basic_csr<Vertex>& graph, bool weighted,
                   std::span<const std::uint32_t> parts, std::uint64_t max_values)
        : start_(clock::now()), view_(runtime.allocate<mirrored_view>(1)),
          division_(graph::transpose(graph, weighted), parts, static_cast<std::uint64_t>(runtime.n_pes()),
                    [&](int pe, const auto& rows, const auto& starts) {
                        add(runtime.machine().device(pe), mirror(pe, rows, starts.back(), max_values), rows);
                    }) {
        connect(runtime, graph, weighted);
        seconds_ = std::chrono::duration<double>(clock::now() - start_).count();
    }

    [[nodiscard]] symmetric_ref<mirrored_view> ref() const { return view_.ref(); }
    [[nodiscard]] const apps::division<Vertex>& division() const { return division_; }
    /// The most rows, values (rows and mirrors), arcs and tiles that a PE has: what symmetric arrays need.
    [[nodiscard]] std::uint64_t max_rows() const { return max_rows_; }
    [[nodiscard]] std::uint64_t max_values() const { return max_values_; }
    [[nodiscard]] std::uint64_t max_arcs() const { return max_arcs_; }
    [[nodiscard]] std::uint64_t max_tiles() const { return max_tiles_; }
    /// Of each PE: what an index space of the tiles needs.
    [[nodiscard]] std::vector<std::uint64_t> tile_counts() const {
        std::vector<std::uint64_t> counts;
        for (const part& each : parts_) counts.push_back(each.tiles.count());
        return counts;
    }
    /// Time that dividing and copying took.
    [[nodiscard]] double seconds() const { return seconds_; }

private:
    using clock = std::chrono::steady_clock;

    struct part {
        row_tiles tiles;
        buffer<std::uint64_t> offsets;
        buffer<std::uint32_t> sources;
        buffer<std::uint32_t> weights;
        buffer<std::uint64_t> outgoing;
        buffer<std::uint64_t> target_offsets;
        buffer<mirror_target> targets;
    };

    template <class T>
    static buffer<T> copy_of(const std::shared_ptr<device>& owner, std::span<const T> host) {
        buffer<T> result(owner, host.size());
        result.copy_in(host.data(), host.size());
        return result;
    }

    void add(const std::shared_ptr<device>& owner, mirrored_rows<Vertex> heard, const graph::csr_slice<Vertex>& rows) {
        max_rows_ = std::max(max_rows_, rows.vertices());
        max_values_ = std::max(max_values_, rows.vertices() + heard.mirrors.size());
        max_arcs_ = std::max(max_arcs_, rows.arcs());
        parts_.push_back({row_tiles(owner, rows.offsets),
                          copy_of<std::uint64_t>(owner, rows.offsets),
                          copy_of<std::uint32_t>(owner, heard.sources),
                          copy_of<std::uint32_t>(owner, rows.weights),
                          {},
                          {},
                          {}});
        max_tiles_ = std::max(max_tiles_, parts_.back().tiles.count());
        mirrors_.push_back(std::move(heard.mirrors));
    }

    /// How many arcs leave each vertex, or what they weigh together.
    static std::vector<std::uint64_t> outgoing_of(const graph::basic_csr<Vertex>& graph, bool weighted) {
        std::vector<std::uint64_t> outgoing(graph.vertices());
        for (std::uint64_t v = 0; v < outgoing.size(); ++v) {
            const std::uint64_t begin = graph.offsets[v];
            const std::uint64_t end = graph.offsets[v + 1];
            outgoing[v] = end - begin;
            if (weighted && graph.weighted()) {
                outgoing[v] =
                    std::accumulate(graph.weights.data() + begin, graph.weights.data() + end, std::uint64_t{0});
            }
        }
        return outgoing;
    }

    /// Tells every PE who mirrors its vertices, and how much leaves them.
    void connect(runtime& runtime, const graph::basic_csr<Vertex>& graph, bool weighted) {
        const std::vector<std::uint64_t> outgoing = division_.by_place(outgoing_of(graph, weighted));
        const std::vector<std::uint64_t>& starts = division_.starts();
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const auto& owner = runtime.machine().device(static_cast<int>(p));
            const mirror_targets told = targets_of(p, starts, mirrors_);
            part& mine = parts_[p];
            mine.outgoing =
                copy_of<std::uint64_t>(owner, std::span(outgoing).subspan(starts[p], starts[p + 1] - starts[p]));
            mine.target_offsets = copy_of<std::uint64_t>(owner, told.offsets);
            mine.targets = copy_of<mirror_target>(owner, told.targets);
            view_.copy_in(static_cast<int>(p),
                          {{mine.tiles.ref(mine.offsets.data()), mine.sources.data(), mine.weights.data(),
                            mine.outgoing.data(), mine.target_offsets.data(), mine.targets.data()}});
        }
        mirrors_ = {};
    }

    clock::time_point start_;
    std::vector<part> parts_;
    std::vector<std::vector<Vertex>> mirrors_;  ///< of each PE, until all know them
    std::uint64_t max_rows_ = 0;
    std::uint64_t max_values_ = 0;
    std::uint64_t max_arcs_ = 0;
    std::uint64_t max_tiles_ = 0;
    double seconds_ = 0;
    symmetric_array<mirrored_view> view_;
    apps::division<Vertex> division_;
};

}  // namespace laneway::apps

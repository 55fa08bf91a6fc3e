// Rows of a graph in the memory of the PE that owns them.
#pragma once

#include <memory>
#include <vector>

#include "laneway/flow/vertex_ranges.hpp"
#include "laneway/graph/split.hpp"
#include "laneway/simt/device.hpp"

namespace laneway::apps {

/// Device view of one PE's rows; pointers are PE memory. Heads are places in the whole graph.
template <class Vertex>
struct graph_rows {
    const std::uint64_t* offsets = nullptr;  ///< count + 1
    const Vertex* heads = nullptr;
    const std::uint32_t* weights = nullptr;  ///< null: every arc weighs 1
    vertex_ranges ranges;
    std::uint64_t first = 0;  ///< this PE owns the places [first, first + count)
    std::uint64_t count = 0;

    [[nodiscard]] LANEWAY_FN std::uint64_t degree(std::uint64_t row) const { return offsets[row + 1] - offsets[row]; }
};

/// Host owner of one PE's rows.
template <class Vertex>
class graph_part {
public:
    /// Copies the rows, and their weights where `weighted`. `starts`: division::starts().
    graph_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& rows,
               const std::vector<std::uint64_t>& starts, bool weighted = false)
        : first_(rows.first), count_(rows.vertices()), offsets_(owner, rows.offsets.size()), heads_(owner, rows.arcs()),
          weights_(owner, weighted ? rows.arcs() : 0), starts_(owner, starts.size()) {
        offsets_.copy_in(rows.offsets);
        heads_.copy_in(rows.heads.data(), rows.heads.size());
        if (weighted) weights_.copy_in(rows.weights.data(), rows.weights.size());
        starts_.copy_in(starts);
    }

    [[nodiscard]] std::uint64_t first() const { return first_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] graph_rows<Vertex> rows() const {
        return {offsets_.data(),  heads_.data(), weights_.size() > 0 ? weights_.data() : nullptr,
                {starts_.data()}, first_,        count_};
    }

private:
    std::uint64_t first_;
    std::uint64_t count_;
    buffer<std::uint64_t> offsets_;
    buffer<Vertex> heads_;
    buffer<std::uint32_t> weights_;
    buffer<std::uint64_t> starts_;
};

}  // namespace laneway::apps

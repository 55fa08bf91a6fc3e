// Sparse ids and their places in ascending order.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

class arc_buffer;

/// A set of ids that tells the place of each: a bitmap with ranks where ids are dense enough, else a sorted list.
class id_set {
public:
    /// Of ascending distinct ids.
    explicit id_set(std::vector<std::uint64_t> ascending);

    /// Every id of an arc.
    static id_set of_arcs(arc_buffer& arcs, std::uint64_t least, std::uint64_t greatest);

    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// Place of `id`, or `none`.
    [[nodiscard]] std::uint64_t find(std::uint64_t id) const {
        const std::uint64_t at = id - first_;
        if (words_.empty()) return contiguous_ ? (at < size_ ? at : none) : search(id);
        if (at / 64 >= words_.size() || !(words_[at / 64] >> (at % 64) & 1)) return none;
        const std::uint64_t below = words_[at / 64] & ((std::uint64_t{1} << (at % 64)) - 1);
        return ranks_[at / 64] + static_cast<std::uint64_t>(__builtin_popcountll(below));
    }

    /// The numbering that these ids stand for; empties the set.
    numbering release();

private:
    id_set() = default;
    void rank();
    [[nodiscard]] std::uint64_t search(std::uint64_t id) const;

    std::uint64_t first_ = 0;
    std::uint64_t size_ = 0;
    bool contiguous_ = false;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> ranks_;   // members before each word
    std::vector<std::uint64_t> sorted_;  // where there is no bitmap
};

}  // namespace laneway::graph

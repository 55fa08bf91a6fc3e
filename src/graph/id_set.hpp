// Sparse ids and their places in ascending order.
#pragma once

#include <cstdint>
#include <vector>

#include "arc_buffer.hpp"
#include "checksum.hpp"
#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// Distinct ids in order of arrival, found by hashing. Room for 2^32 - 1.
class id_table {
public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// Place of `id`, or `none`.
    [[nodiscard]] std::uint64_t find(std::uint64_t id) const {
        if (slots_.empty()) return none;
        const std::uint32_t place = slots_[slot_of(id)];
        return place == free_slot ? none : place;
    }

    /// Place of `id`, at the end if it is new. Throws usage_error when full.
    std::uint64_t insert(std::uint64_t id);

    [[nodiscard]] std::vector<std::uint64_t>& ids() { return ids_; }

private:
    static constexpr std::uint32_t free_slot = ~std::uint32_t{0};

    // Where `id` is or would be, by linear probing: a third of the slots at least is free.
    [[nodiscard]] std::uint64_t slot_of(std::uint64_t id) const {
        const std::uint64_t mask = slots_.size() - 1;
        std::uint64_t at = mix(id) & mask;
        while (slots_[at] != free_slot && ids_[slots_[at]] != id) at = (at + 1) & mask;
        return at;
    }
    void grow();

    std::vector<std::uint32_t> slots_;  // a power of two of them
    std::vector<std::uint64_t> ids_;
};

/// A fixed set of ids that tells the place of each: by subtraction, by a bitmap with ranks, or by hashing, whichever
/// is the simplest that these ids allow.
class id_set {
public:
    /// Of ascending distinct ids.
    explicit id_set(std::vector<std::uint64_t> ascending);

    /// Replaces the ids of all arcs, narrow and dense as `dense` has it, by their places; returns their numbering.
    static numbering number_dense(arc_buffer& arcs, std::uint64_t least, std::uint64_t greatest);

    /// The same for arcs whose ids are places in `table` already.
    static numbering number_places(arc_buffer& arcs, id_table& table);

    /// Whether a bitmap over least..greatest is small beside `arcs` arcs.
    static bool dense(std::uint64_t least, std::uint64_t greatest, std::uint64_t arcs) {
        constexpr std::uint64_t always = 1 << 20, bits_per_arc = 8;
        return (greatest - least) / bits_per_arc < arcs + always;
    }

    static constexpr std::uint64_t none = id_table::none;

    /// Place of `id`, or `none`.
    [[nodiscard]] std::uint64_t find(std::uint64_t id) const {
        const std::uint64_t at = id - first_;
        if (words_.empty()) return contiguous_ ? (at < size_ ? at : none) : table_.find(id);
        if (at / 64 >= words_.size() || !(words_[at / 64] >> (at % 64) & 1)) return none;
        const std::uint64_t below = words_[at / 64] & ((std::uint64_t{1} << (at % 64)) - 1);
        return ranks_[at / 64] + static_cast<std::uint64_t>(__builtin_popcountll(below));
    }

    /// The numbering that these ids stand for; empties the set.
    numbering release();

private:
    id_set() = default;
    void add_bit(std::uint64_t id) { words_[(id - first_) / 64] |= std::uint64_t{1} << ((id - first_) % 64); }
    void rank();

    std::uint64_t first_ = 0;
    std::uint64_t size_ = 0;
    bool contiguous_ = false;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> ranks_;  // members before each word
    id_table table_;
};

}  // namespace laneway::graph

// Which PE holds which word of a table of 2^m words.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// Word i belongs to PE floor(i n / 2^m): contiguous ranges that differ by one word at most. A PE keeps its words in
/// ascending order, without a division for the place: where n is no power of two, some places stay empty.
class table_map {
public:
    static constexpr unsigned max_log2_words = 40;

    table_map() = default;
    /// 2^log2_words words, at least one a PE, over `n_pes` PEs, 256 at most.
    constexpr table_map(unsigned log2_words, int n_pes)
        : log2_words_(log2_words), n_pes_(static_cast<std::uint64_t>(n_pes)) {
        while (n_pes_ >> (shift_ + 1) != 0) ++shift_;
    }

    [[nodiscard]] LANEWAY_FN std::uint64_t words() const { return std::uint64_t{1} << log2_words_; }
    /// Places of one PE: words / n, rounded up to a power of two.
    [[nodiscard]] LANEWAY_FN std::uint64_t places() const { return words() >> shift_; }
    /// The word that an update of this value goes to.
    [[nodiscard]] LANEWAY_FN std::uint64_t index(std::uint64_t value) const { return value & (words() - 1); }
    [[nodiscard]] LANEWAY_FN int owner(std::uint64_t index) const {
        return static_cast<int>(index * n_pes_ >> log2_words_);
    }
    /// Where the owner keeps the word.
    [[nodiscard]] LANEWAY_FN std::uint64_t place(std::uint64_t index) const {
        return (index * n_pes_ & (words() - 1)) >> shift_;
    }
    /// The first word of a PE; of n_pes: the number of words.
    [[nodiscard]] LANEWAY_FN std::uint64_t first(int pe) const {
        return ((static_cast<std::uint64_t>(pe) << log2_words_) + n_pes_ - 1) / n_pes_;
    }

private:
    unsigned log2_words_ = 0;
    unsigned shift_ = 0;  ///< of the largest power of two that is at most n_pes
    std::uint64_t n_pes_ = 1;
};

}  // namespace laneway::apps

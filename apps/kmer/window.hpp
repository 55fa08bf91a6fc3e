// K-mers of a sequence, one after another, in both directions, and the keys that they are posted and stored as.
#pragma once

#include "hash.hpp"
#include "sequences.hpp"

namespace laneway::apps {

/// A k-mer as `Words` words of 63 bits behind a mark: no word of a key is 0, and a zeroed word of a table is free.
/// One word holds k up to 31, two up to 63.
template <int Words>
struct kmer_key {
    static constexpr std::uint64_t mark = std::uint64_t{1} << 63;
    std::uint64_t words[Words];

    [[nodiscard]] LANEWAY_FN std::uint64_t hash() const {
        std::uint64_t h = 0;
        for (const std::uint64_t word : words) h = mix(h ^ word);
        return h;
    }
    /// The PE that counts this k-mer: from the high bits of the hash; the table's place comes from the low ones.
    [[nodiscard]] LANEWAY_FN int owner(int n_pes) const {
        return static_cast<int>((hash() >> 40) * static_cast<std::uint64_t>(n_pes) >> 24);
    }
};

/// The last k bases and their reverse complement, rolled on base by base.
template <int Words>
class kmer_window {
public:
    using bits = std::conditional_t<Words == 1, std::uint64_t, __uint128_t>;

    LANEWAY_FN kmer_window(int k, bool canonical) : mask_((bits{1} << 2 * k) - 1), k_(k), canonical_(canonical) {}

    /// Takes the next symbol; returns whether the last k symbols are bases.
    LANEWAY_FN bool push(unsigned symbol) {
        if (symbol == gap) {
            length_ = 0;
            return false;
        }
        forward_ = (forward_ << 2 | symbol) & mask_;
        backward_ = backward_ >> 2 | bits{3 - symbol} << 2 * (k_ - 1);
        length_ += length_ < k_ ? 1 : 0;
        return length_ == k_;
    }

    /// The k-mer as read, or the lesser of it and its reverse complement where k-mers are canonical.
    [[nodiscard]] LANEWAY_FN kmer_key<Words> key() const {
        bits value = canonical_ && backward_ < forward_ ? backward_ : forward_;
        kmer_key<Words> made;
        for (std::uint64_t& word : made.words) {
            word = static_cast<std::uint64_t>(value) | kmer_key<Words>::mark;
            value >>= 63;
        }
        return made;
    }

private:
    bits mask_;
    bits forward_ = 0;
    bits backward_ = 0;
    int k_;
    int length_ = 0;
    bool canonical_;
};

}  // namespace laneway::apps

// Reads of a random genome, made anywhere: any symbol can be computed alone, on any device, and is the same there.
#pragma once

#include "hash.hpp"
#include "sequences.hpp"

namespace laneway::apps {

struct simulation {
    std::uint64_t genome_length = 1'000'000;  ///< bases
    double coverage = 10;                     ///< bases read for each base of the genome, on average
    std::uint32_t read_length = 100;          ///< bases
    double error_rate = 0;                    ///< probability that a base is read as one of the three others
    std::uint64_t seed = 1;                   ///< the same seed gives the same reads
};

/// The reads of a simulation: they start at uniform places, half of them on the other strand, and a gap follows each.
/// Trivially copyable; host and any lane.
class simulated_reads {
public:
    /// Throws usage_error for lengths of 0, reads longer than the genome, coverage that is not above 0 or gives more
    /// than 2^48 bases, and error rates outside 0 to 1. Host.
    explicit simulated_reads(const simulation& wanted);

    [[nodiscard]] LANEWAY_FN std::uint64_t reads() const { return reads_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t bases() const { return reads_ * read_length_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t words() const {
        return (reads_ * (read_length_ + 1) + symbols_a_word - 1) / symbols_a_word;
    }

    /// 21 symbols as packed_sequences holds them; gaps behind the last read.
    [[nodiscard]] LANEWAY_FN std::uint64_t word(std::uint64_t index) const {
        std::uint64_t read = index * symbols_a_word / (read_length_ + 1);
        std::uint64_t at = index * symbols_a_word % (read_length_ + 1);
        placement placed = place(read);
        std::uint64_t packed = 0;
        for (unsigned i = 0; i < symbols_a_word; ++i) {
            packed |= std::uint64_t{read < reads_ ? symbol(placed, read, at) : gap} << i * symbol_bits;
            if (at++ == read_length_) {
                at = 0;
                placed = place(++read);
            }
        }
        return packed;
    }

    /// Number of k-mers in all reads.
    [[nodiscard]] std::uint64_t kmers(int k) const {
        const auto length = static_cast<std::uint64_t>(k);
        return length > read_length_ ? 0 : reads_ * (read_length_ - length + 1);
    }
    /// How many distinct k-mers there may be, with little doubt: those of the genome, and k for each wrong base.
    [[nodiscard]] std::uint64_t max_distinct(int k, bool canonical) const;

    /// All reads as a host program has them. Uses all cores.
    [[nodiscard]] packed_sequences to_sequences() const;

private:
    struct placement {
        std::uint64_t start;
        bool reversed;
    };

    [[nodiscard]] LANEWAY_FN placement place(std::uint64_t read) const {
        const std::uint64_t z = mix(place_key_ + read);
        return {static_cast<std::uint64_t>(__uint128_t{z} * (genome_length_ - read_length_ + 1) >> 64),
                (mix(z) & 1) != 0};
    }
    [[nodiscard]] LANEWAY_FN unsigned genome(std::uint64_t position) const {
        return static_cast<unsigned>(mix(genome_key_ + position / 32) >> position % 32 * 2) & 3;
    }
    [[nodiscard]] LANEWAY_FN unsigned symbol(const placement& placed, std::uint64_t read, std::uint64_t at) const {
        if (at == read_length_) return gap;
        const unsigned base =
            placed.reversed ? 3 - genome(placed.start + read_length_ - 1 - at) : genome(placed.start + at);
        const std::uint64_t z = mix(error_key_ + read * read_length_ + at);
        // The rate is compared with the high half; the low half draws which of the three others is read.
        return z >> 32 < error_limit_ ? (base + 1 + static_cast<unsigned>(z & 0xffff) % 3) & 3 : base;
    }

    std::uint64_t genome_length_;
    std::uint64_t read_length_;
    std::uint64_t reads_;
    std::uint64_t error_limit_;  ///< of 2^32
    std::uint64_t genome_key_;
    std::uint64_t place_key_;
    std::uint64_t error_key_;
};

}  // namespace laneway::apps

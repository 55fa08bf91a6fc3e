// Random numbers by counter: any number of a sequence can be had alone, so threads need not share a state.
#pragma once

#include <cstdint>

#include "checksum.hpp"

namespace laneway::graph {

/// splitmix64.
class random_sequence {
public:
    /// Sequence `stream` of `seed`.
    explicit constexpr random_sequence(std::uint64_t seed, std::uint64_t stream = 0)
        : state_(mix(mix(seed) + stream * step)) {}

    constexpr std::uint64_t next() { return mix(state_ += step); }

    /// Uniform over 0..bound-1, by the high half of a product (Lemire, TOMACS 2019) without its last correction: the
    /// bias is below bound / 2^64.
    constexpr std::uint64_t below(std::uint64_t bound) {
        __extension__ using wide = unsigned __int128;
        return static_cast<std::uint64_t>(wide{next()} * bound >> 64);
    }

private:
    static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
    std::uint64_t state_;
};

/// Weight of edge number `edge`: uniform over 1..greatest.
constexpr std::uint32_t random_weight(std::uint64_t seed, std::uint64_t edge, std::uint32_t greatest) {
    return 1 + static_cast<std::uint32_t>(random_sequence(~seed, edge).below(greatest));
}

}  // namespace laneway::graph

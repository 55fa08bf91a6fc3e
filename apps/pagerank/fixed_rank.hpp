// Ranks as whole numbers. Sums of them are the same in any order, so a result does not depend on devices or timing.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// The unit of ranks is 2^-62: a rank of 1 is `whole_rank`, and sums up to 4 fit 64 bits.
inline constexpr int rank_bits = 62;
inline constexpr std::uint64_t whole_rank = std::uint64_t{1} << rank_bits;

/// Product of two ranks of at most 1, rounded down.
LANEWAY_FN std::uint64_t multiply_ranks(std::uint64_t a, std::uint64_t b) {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>(wide{a} * b >> rank_bits);
}

/// What an arc of that weight brings, the share being for a weight of 1: rounded down. A product of doubles is rounded
/// alike everywhere.
LANEWAY_FN std::uint64_t weigh_share(float share, std::uint32_t weight) {
    return static_cast<std::uint64_t>(static_cast<double>(share) * weight);
}

}  // namespace laneway::apps

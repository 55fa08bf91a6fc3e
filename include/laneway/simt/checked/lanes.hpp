// How many lanes a warp of a checked device has. The library and what uses it are compiled with the same number.
#pragma once

#include <bit>

/// 2 to 32, a power of two; of CMake's cache variable of this name. Few lanes run fast, 32 are a GPU's.
#if !defined(LANEWAY_CHECKED_LANES)
#define LANEWAY_CHECKED_LANES 4
#endif

namespace laneway::checked {

inline constexpr int default_warp_lanes = 4;
inline constexpr int warp_lanes = LANEWAY_CHECKED_LANES;
static_assert(warp_lanes >= 2 && warp_lanes <= 32 && std::has_single_bit(unsigned{warp_lanes}),
              "LANEWAY_CHECKED_LANES is 2, 4, 8, 16 or 32");

/// The library defines that of its own number. A program with another does not link, and the name that the linker
/// misses says why.
template <int Lanes>
struct library_with_lanes {
    static const char exists;
};
[[gnu::used]] inline const char* const wanted_lanes = &library_with_lanes<warp_lanes>::exists;

}  // namespace laneway::checked

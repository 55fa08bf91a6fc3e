// Work that needs nothing but a device's lanes: each goes along a chain of multiplications that hang on each other.
#pragma once

#include <cstdint>

#include "laneway/base/config.hpp"

namespace laneway::bench {

/// What a lane has behind so many steps of its chain.
LANEWAY_FN std::uint32_t end_of_chain(std::uint64_t lane, std::uint64_t steps) {
    auto value = static_cast<std::uint32_t>(lane);
    for (std::uint64_t i = 0; i < steps; ++i) value = value * 1664525u + 1013904223u;
    return value;
}

}  // namespace laneway::bench

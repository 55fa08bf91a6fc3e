// Hashing of keys and of places.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) behind its step: a bijection.
LANEWAY_FN constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

}  // namespace laneway::apps

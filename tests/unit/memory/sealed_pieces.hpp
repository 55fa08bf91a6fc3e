// Filling pieces and looking at them: what each byte holds, and memory that the host can touch.
#pragma once

#include <algorithm>

#include "allocator_under_test.hpp"
#include "laneway/base/config.hpp"

namespace laneway::test {

/// What byte `at` of a piece holds; the same whoever fills it.
constexpr LANEWAY_FN std::uint8_t sealed_byte(std::uint64_t seal, std::size_t at) {
    return static_cast<std::uint8_t>((seal >> at % 8 * 8) + at / 8);
}

inline void fill_on_host(const std::vector<given_piece>& pieces) {
    for (const auto& one : pieces) {
        for (std::size_t i = 0; i < one.bytes; ++i) one.address[i] = std::byte{sealed_byte(one.seal, i)};
    }
}

inline std::size_t broken_on_host(const std::vector<given_piece>& pieces) {
    return static_cast<std::size_t>(std::count_if(pieces.begin(), pieces.end(), [](const given_piece& one) {
        for (std::size_t i = 0; i < one.bytes; ++i) {
            if (one.address[i] != std::byte{sealed_byte(one.seal, i)}) return true;
        }
        return false;
    }));
}

}  // namespace laneway::test

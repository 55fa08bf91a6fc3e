// The random stream of HPC Challenge RandomAccess: powers of x modulo x^64 + x^2 + x + 1 over the two-element field.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// Value number n is x^n; update i of a run is value i + 1. Trivially copyable, the same on every PE.
class random_stream {
public:
    constexpr random_stream() {
        std::uint64_t value = 1;
        for (auto& square : squares_) {
            square = value;
            value = after(after(value));
        }
    }

    /// The next value.
    static constexpr LANEWAY_FN std::uint64_t after(std::uint64_t value) {
        return value << 1 ^ ((value >> 63) != 0 ? std::uint64_t{7} : std::uint64_t{0});
    }

    /// Value number n, from any place: square and multiply, some thousand steps (HPCC's function of this purpose is
    /// called starts).
    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t at(std::uint64_t n) const {
        std::uint64_t value = 1;
        int bit = 63;
        while (bit >= 0 && (n >> bit & 1) == 0) --bit;
        for (; bit >= 0; --bit) {
            value = squared(value);
            if ((n >> bit & 1) != 0) value = after(value);
        }
        return value;
    }

private:
    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t squared(std::uint64_t value) const {
        std::uint64_t square = 0;
        for (int bit = 0; bit < 64; ++bit) square ^= (value >> bit & 1) != 0 ? squares_[bit] : std::uint64_t{0};
        return square;
    }

    std::uint64_t squares_[64]{};  ///< x^(2 bit): squaring is linear, so these give the square of any value
};

}  // namespace laneway::apps

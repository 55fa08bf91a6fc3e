// What an all-reduce does with the values of its members.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// A number that an all-reduce takes: integers of 32 and 64 bits with and without sign, float and double.
template <class T>
concept reducible = (std::is_integral_v<T> || std::is_floating_point_v<T>)&&(sizeof(T) == 4 || sizeof(T) == 8) &&
                    !std::is_same_v<T, bool>;

/// Operations of an all-reduce, called with two values. All PEs combine the same values in the same order, so all get
/// the same bits, also of floating-point sums; where CPU devices and GPUs take part together, NaNs may differ in their
/// bits.
namespace reduction {

/// Integers wrap, also those with a sign.
struct sum {
    static constexpr std::uint32_t number = 1;
    template <reducible T>
    LANEWAY_FN T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            using bits = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<bits>(a) + static_cast<bits>(b));
        } else {
            return a + b;
        }
    }
};
/// Of equal values the one of the lower PE; a NaN wins if it comes first and loses if it comes later.
struct min {
    static constexpr std::uint32_t number = 2;
    template <reducible T>
    LANEWAY_FN T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
/// As min.
struct max {
    static constexpr std::uint32_t number = 3;
    template <reducible T>
    LANEWAY_FN T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
/// Bit by bit; of integers.
struct bit_and {
    static constexpr std::uint32_t number = 4;
    template <reducible T>
    requires(std::is_integral_v<T>) LANEWAY_FN T operator()(T a, T b) const { return a & b; }
};
/// Bit by bit; of integers.
struct bit_or {
    static constexpr std::uint32_t number = 5;
    template <reducible T>
    requires(std::is_integral_v<T>) LANEWAY_FN T operator()(T a, T b) const { return a | b; }
};

}  // namespace reduction

/// Whether `Op` can combine values of type T.
template <class Op, class T>
concept reduces = reducible<T> && requires(const Op& op, T a, T b) {
    { op(a, b) } -> std::same_as<T>;
    { Op::number } -> std::convertible_to<std::uint32_t>;
};

}  // namespace laneway

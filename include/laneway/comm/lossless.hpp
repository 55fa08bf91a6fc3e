// Which values a message may be made of without being told.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// Bits of a number's value, without its sign; of an enumeration, those of its underlying type.
template <class T>
constexpr int value_bits() {
    if constexpr (std::is_enum_v<T>) {
        return value_bits<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return 1;
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<int>(sizeof(T)) * 8 - (std::is_signed_v<T> ? 1 : 0);
    } else {
        return sizeof(T) == 4 ? 24 : sizeof(T) == 8 ? 53 : 64;  // float, double, long double
    }
}

template <class T>
concept number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Whether a number becomes another by itself and may lose a part of its value: a fraction, or bits. Literals are
/// signed, so a sign that is lost is none of them.
template <class From, class To>
concept loses_bits =
    number<From> && number<To> && std::is_convertible_v<From, To> && !std::is_same_v<From, To> &&
    ((std::is_floating_point_v<From> && !std::is_floating_point_v<To>) || value_bits<From>() > value_bits<To>());

/// The same without a loss.
template <class From, class To>
concept holds_whole = number<From> && number<To> && std::is_convertible_v<From, To> && !loses_bits<From, To>;

}  // namespace laneway

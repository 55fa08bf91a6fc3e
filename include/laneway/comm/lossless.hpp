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

/// Whether a number becomes another by itself and may lose a part of its value: a fraction, or bits. Of a sign see
/// given_number.
template <class From, class To>
concept loses_bits =
    number<From> && number<To> && std::is_convertible_v<From, To> && !std::is_same_v<From, To> &&
    ((std::is_floating_point_v<From> && !std::is_floating_point_v<To>) || value_bits<From>() > value_bits<To>());

/// The same without a loss.
template <class From, class To>
concept holds_whole = number<From> && number<To> && std::is_convertible_v<From, To> && !loses_bits<From, To>;

/// Whether the sign of a number may be lost: literals have one, and few of them are negative.
template <class From, class To>
concept may_lose_sign = std::is_integral_v<From> && std::is_signed_v<From> && std::is_unsigned_v<To>;

/// Called nowhere where programs compile: its name is what the compiler says of others.
inline void a_negative_number_is_no_message_of_an_unsigned_type() {}

/// A message that is a number, made of a number that it holds whole. Of signed numbers an unsigned message is made
/// where they are constants that are not negative: a variable is converted by static_cast.
template <number To>
class given_number {
public:
    template <holds_whole<To> From>
    requires(!may_lose_sign<From, To>) LANEWAY_FN constexpr given_number(From value) : value_(static_cast<To>(value)) {}
    template <holds_whole<To> From>
    requires may_lose_sign<From, To>
    consteval given_number(From constant) : value_(static_cast<To>(constant)) {
        if (constant < 0) a_negative_number_is_no_message_of_an_unsigned_type();
    }

    [[nodiscard]] LANEWAY_FN constexpr const To& value() const { return value_; }

private:
    To value_;
};

/// What a function takes for a T: other numbers where T is one, and else T.
template <class T>
struct given_as {
    using type = T;
    LANEWAY_FN static const T& value(const T& own) { return own; }
};
template <number T>
struct given_as<T> {
    using type = given_number<T>;
    LANEWAY_FN static const T& value(const type& one) { return one.value(); }
};

}  // namespace laneway

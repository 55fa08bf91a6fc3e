// Conditions on numbers, as text gives them: the predicate of the filter program.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "laneway/base/config.hpp"

namespace laneway::apps {

enum class comparison : std::uint32_t { less, less_equal, greater, greater_equal, equal, not_equal };

/// "x % modulus < constant"; a modulus of 0 stands for none.
template <class T>
struct condition_term {
    T modulus;
    T constant;
    comparison is;

    LANEWAY_FN bool holds(T x) const {
        const T value = modulus == T{0} ? x : remainder(x);
        switch (is) {
            case comparison::less: return value < constant;
            case comparison::less_equal: return value <= constant;
            case comparison::greater: return value > constant;
            case comparison::greater_equal: return value >= constant;
            case comparison::equal: return value == constant;
            default: return value != constant;
        }
    }

private:
    /// Between 0 and the modulus, which is above 0, as of Python's % and NumPy's.
    LANEWAY_FN T remainder(T x) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T rest = std::fmod(x, modulus);
            return rest < T{0} ? rest + modulus : rest;
        } else {
            const T rest = static_cast<T>(x % modulus);
            if constexpr (std::is_signed_v<T>) return static_cast<T>(rest < T{0} ? rest + modulus : rest);
            return rest;
        }
    }
};

/// Some terms, of which all shall hold, or any.
template <class T>
struct condition {
    static constexpr std::uint32_t max_terms = 8;

    condition_term<T> terms[max_terms];
    std::uint32_t count;
    bool any;

    LANEWAY_FN bool operator()(T x) const {
        bool holds = !any;
        for (std::uint32_t i = 0; i < count; ++i) {
            holds = any ? holds | terms[i].holds(x) : holds & terms[i].holds(x);
        }
        return holds;
    }
};

/// Reads "x > 0.5", "x >= 10 and x < 20", "x % 3 == 0 or x < 0": terms joined by `and`, or by `or`, each of x, perhaps
/// % and a number above 0, a comparison, and a number. Throws usage_error that says what is wrong where: for numbers
/// that T does not have too. Types: signed and unsigned integers of 1 to 8 bytes, float, double.
template <class T>
condition<T> parse_condition(const std::string& text);

}  // namespace laneway::apps

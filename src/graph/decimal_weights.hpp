// Decimal weights as whole numbers of a common power of ten.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "arc_buffer.hpp"

namespace laneway::graph {

/// digits * 10^exponent; digits has no trailing zero.
struct decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
    bool negative = false;
};

/// A field such as 12, 0.5, .5, 3e-2, -1; nothing where it is none. Digits past the 19th are dropped.
std::optional<decimal> parse_decimal(std::string_view field);

/// Keeps every weight of a buffer at one scale, 10^power. The power rises to the longest fraction seen and stays below
/// what the greatest weight allows in 32 bits; since the first only rises and the second only falls, a weight once
/// rounded is never scaled up again.
class decimal_weights {
public:
    /// The weight at the current scale, to which it moved the buffer's earlier ones; nothing where it is over 2^32 - 1.
    std::optional<std::uint32_t> add(const decimal& value, arc_buffer& earlier);

    /// 10^power.
    [[nodiscard]] std::uint64_t scale() const;

private:
    int wanted_ = 0;
    int allowed_ = 9;
    int power_ = 0;
};

}  // namespace laneway::graph

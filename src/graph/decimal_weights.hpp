// Decimal weights as whole numbers of a common power of ten.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace laneway::graph {

/// digits * 10^exponent; digits has no trailing zero.
struct decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
    bool negative = false;
};

/// A field such as 12, 0.5, .5, 3e-2, -1; nothing where it is none. Digits past the 19th are dropped.
std::optional<decimal> parse_decimal(std::string_view field);

/// value * 10^power, rounded to nearest; nothing where 32 bits do not hold it.
std::optional<std::uint32_t> whole_at(const decimal& value, int power);

/// Keeps the weights of a graph at one scale, 10^power. The power rises to the longest fraction seen and stays below
/// what the greatest weight allows in 32 bits; since the first only rises and the second only falls, a weight once
/// rounded is never scaled up again.
class decimal_weights {
public:
    /// The weight at the current scale, to which it moved the earlier ones by `earlier.map_weights(f)`; nothing where
    /// it is negative or over 2^32 - 1. `place`, a line's number or an arc's, is for lost().
    template <class Earlier>
    std::optional<std::uint32_t> add(const decimal& value, std::uint64_t place, Earlier& earlier) {
        if (value.negative || !whole_at(value, 0)) return std::nullopt;
        note(value, place);
        const int power = std::min(wanted_, allowed_);
        if (power != power_) {
            const int change = power - power_;
            earlier.map_weights([change](std::uint32_t weight) { return *whole_at({weight, 0}, change); });
            power_ = power;
        }
        return whole_at(value, power_);
    }

    /// 10^power.
    [[nodiscard]] std::uint64_t scale() const;

    /// Whether a weight was rounded.
    [[nodiscard]] bool rounded() const;

    /// A weight of which rounding leaves less than two digits, with the reason in words; nothing where there is none.
    struct loss {
        std::uint64_t place;
        std::string reason;
    };
    [[nodiscard]] std::optional<loss> lost() const;

private:
    struct entry {
        decimal value;
        std::uint64_t place = 0;
    };
    static constexpr std::size_t max_decimals = 20;  // as many and more share the last entry; the first is not used

    void note(const decimal& value, std::uint64_t place);

    int wanted_ = 0;
    int allowed_ = 9;
    int power_ = 0;
    std::array<entry, max_decimals + 1> least_{};  // above 0, by number of decimals; 0 digits: none
    decimal bound_;                                // the weight that set allowed_; 0 digits: none did
};

}  // namespace laneway::graph

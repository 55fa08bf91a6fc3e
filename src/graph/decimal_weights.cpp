#include "decimal_weights.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace laneway::graph {
namespace {

constexpr auto powers_of_ten = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
}();

std::uint64_t power_of_ten(int exponent) { return powers_of_ten[static_cast<std::size_t>(exponent)]; }

std::uint64_t divide_rounding(std::uint64_t value, int places) {
    if (places > 19) return 0;
    const std::uint64_t divisor = power_of_ten(places);
    return value / divisor + (value % divisor >= divisor - value % divisor ? 1 : 0);
}

// value * 10^power rounded to nearest; nothing where 32 bits do not hold it.
std::optional<std::uint32_t> at_power(const decimal& value, int power) {
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    const int exponent = value.exponent + power;
    if (value.digits == 0) return 0;
    if (exponent > 9) return std::nullopt;
    std::uint64_t result = value.digits;
    if (exponent < 0) result = divide_rounding(result, -exponent);
    if (result > limit) return std::nullopt;
    if (exponent > 0) result *= power_of_ten(exponent);
    if (result > limit) return std::nullopt;
    return static_cast<std::uint32_t>(result);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits from `at` on go into `value`; those that no longer fit only move the exponent. Returns how many there were.
std::size_t take_digits(std::string_view field, std::size_t& at, bool fraction, decimal& value) {
    const std::size_t start = at;
    for (; at < field.size() && is_digit(field[at]); ++at) {
        const bool room = value.digits < power_of_ten(18);
        if (room) value.digits = value.digits * 10 + static_cast<unsigned>(field[at] - '0');
        value.exponent += (fraction ? 0 : 1) - (room ? 1 : 0);
    }
    return at - start;
}

}  // namespace

std::optional<decimal> parse_decimal(std::string_view field) {
    decimal value;
    std::size_t at = 0;
    if (!field.empty() && (field[0] == '-' || field[0] == '+')) value.negative = field[at++] == '-';
    std::size_t digits = take_digits(field, at, false, value);
    if (at < field.size() && field[at] == '.') digits += take_digits(field, ++at, true, value);
    if (digits == 0) return std::nullopt;
    if (at < field.size() && (field[at] == 'e' || field[at] == 'E')) {
        at += at + 1 < field.size() && field[at + 1] == '+' ? 2 : 1;
        int exponent = 0;
        const auto [end, failed] = std::from_chars(field.data() + at, field.data() + field.size(), exponent);
        if (failed != std::errc{} || exponent > 999 || exponent < -999) return std::nullopt;
        value.exponent += exponent;
        at = static_cast<std::size_t>(end - field.data());
    }
    if (at != field.size()) return std::nullopt;
    while (value.digits != 0 && value.digits % 10 == 0) {
        value.digits /= 10;
        ++value.exponent;
    }
    if (value.digits == 0) value = {};
    return value;
}

std::optional<std::uint32_t> decimal_weights::add(const decimal& value, arc_buffer& earlier) {
    if (value.negative || !at_power(value, 0)) return std::nullopt;
    wanted_ = std::max(wanted_, -value.exponent);
    while (!at_power(value, allowed_)) --allowed_;
    const int power = std::min(wanted_, allowed_);
    if (power != power_) {
        const int change = power - power_;
        earlier.map_weights([change](std::uint32_t weight) { return *at_power({weight, 0}, change); });
        power_ = power;
    }
    return at_power(value, power_);
}

std::uint64_t decimal_weights::scale() const { return power_of_ten(power_); }

}  // namespace laneway::graph

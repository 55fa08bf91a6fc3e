#include "decimal_weights.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
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

long double size_of(const decimal& value) {
    return static_cast<long double>(value.digits) * std::pow(10.0L, static_cast<long double>(value.exponent));
}

std::string text_of(const decimal& value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.12Lg", size_of(value));
    return text.data();
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

std::optional<std::uint32_t> whole_at(const decimal& value, int power) {
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

void decimal_weights::note(const decimal& value, std::uint64_t place) {
    wanted_ = std::max(wanted_, -value.exponent);
    for (; !whole_at(value, allowed_); --allowed_) bound_ = value;
    if (value.exponent >= 0) return;
    const auto decimals = std::min(static_cast<std::size_t>(-value.exponent), max_decimals);
    entry& least = least_[decimals];
    const bool comparable = value.exponent == least.value.exponent;
    const bool less = comparable ? value.digits < least.value.digits : size_of(value) < size_of(least.value);
    if (least.value.digits == 0 || less) least = {value, place};
}

std::uint64_t decimal_weights::scale() const { return power_of_ten(power_); }

bool decimal_weights::rounded() const {
    return std::any_of(least_.begin() + power_ + 1, least_.end(), [](const entry& e) { return e.value.digits != 0; });
}

std::optional<decimal_weights::loss> decimal_weights::lost() const {
    constexpr std::uint32_t two_digits = 10;
    for (auto decimals = static_cast<std::size_t>(power_) + 1; decimals < least_.size(); ++decimals) {
        const auto& [value, place] = least_[decimals];
        const std::uint32_t left = value.digits == 0 ? two_digits : *whole_at(value, power_);
        if (left >= two_digits) continue;
        return loss{place, "weight " + text_of(value) +
                               (bound_.digits == 0 ? "" : " beside one of " + text_of(bound_)) + " would become " +
                               text_of({left, -power_}) +
                               ": weights have 32 bits for the digits of the least to those of the greatest"};
    }
    return std::nullopt;
}

}  // namespace laneway::graph

// Numbers of one line, parsed in place.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "laneway/input/text_source.hpp"

namespace laneway::graph {

class field_reader {
public:
    field_reader(const text_source& source, std::string_view line)
        : source_(source), at_(line.data()), end_(line.data() + line.size()) {}

    /// True where only blanks are left.
    bool done() {
        skip_blanks();
        return at_ == end_;
    }

    /// The next field, empty at the end of the line.
    std::string_view word() {
        skip_blanks();
        const char* start = at_;
        while (at_ != end_ && !blank(*at_)) ++at_;
        return {start, at_};
    }

    /// The next field as a whole number below 10^19; `what` names it in the error.
    std::uint64_t number(const char* what) {
        skip_blanks();
        const char* start = at_;
        std::uint64_t value = 0;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) value = value * 10 + static_cast<unsigned>(*at_ - '0');
        const auto digits = at_ - start;
        if (digits < 1 || digits > 19 || (at_ != end_ && !blank(*at_))) reject(start, what);
        return value;
    }

    /// The next field as a weight: a whole number up to 2^32 - 1.
    std::uint32_t weight() {
        const std::uint64_t value = number("weight");
        if (value > std::numeric_limits<std::uint32_t>::max()) reject_large("weight", std::to_string(value));
        return static_cast<std::uint32_t>(value);
    }

    /// Throws usage_error unless the line is used up.
    void finish() {
        if (!done()) source_.fail("unexpected " + shown(word()) + " after the last field");
    }

    /// Throws usage_error for a field that is no whole number.
    [[noreturn]] void reject(const char* start, const char* what);

private:
    static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
    void skip_blanks() {
        while (at_ != end_ && blank(*at_)) ++at_;
    }
    [[noreturn]] void reject_large(const char* what, const std::string& value) const;

    const text_source& source_;
    const char* at_;
    const char* end_;
};

}  // namespace laneway::graph

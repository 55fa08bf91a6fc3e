#include "condition.hpp"

#include <charconv>
#include <cstddef>

#include "laneway/base/error.hpp"
#include "laneway/base/one_line.hpp"

namespace laneway::apps {

namespace {

template <class T>
const char* type_name() {
    if constexpr (std::is_same_v<T, float>) return "float32";
    if constexpr (std::is_same_v<T, double>) return "float64";
    constexpr const char* whole[] = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};
    constexpr std::size_t power = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return whole[2 * power + (std::is_signed_v<T> ? 0 : 1)];
}

/// Walks through the text of a condition.
class reader {
public:
    explicit reader(const std::string& text) : text_(text) {}

    [[nodiscard]] bool at_end() {
        skip_blanks();
        return at_ == text_.size();
    }
    /// Takes the word if it comes next.
    bool take(const std::string& word) {
        skip_blanks();
        if (text_.compare(at_, word.size(), word) != 0) return false;
        const std::size_t end = at_ + word.size();
        if (is_letter(word.back()) && end < text_.size() && is_letter(text_[end])) return false;  // of a longer word
        at_ = end;
        return true;
    }
    template <class T>
    T number() {
        skip_blanks();
        const char* const first = text_.data() + at_;
        const char* const last = text_.data() + text_.size();
        const char* end = first;
        while (end != last && (is_letter(*end) || *end == '.' || *end == '+' || *end == '-')) ++end;
        T value{};
        const auto [stop, code] = std::from_chars(first + (first != end && *first == '+' ? 1 : 0), end, value);
        if (first == end) refuse("a number");
        if (code != std::errc{} || stop != end || value != value) {
            throw usage_error("condition \"" + one_line(text_) + "\": " + one_line(std::string(first, end)) +
                              " is no number of type " + type_name<T>());
        }
        at_ += static_cast<std::size_t>(end - first);
        return value;
    }
    [[noreturn]] void refuse(const std::string& expected) {
        skip_blanks();
        throw usage_error("condition \"" + one_line(text_) + "\": expected " + expected + " at character " +
                          std::to_string(at_ + 1) + ": \"x > 0.5\", \"x >= 10 and x < 20\", \"x % 3 == 0\"");
    }

private:
    static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }

    const std::string& text_;
    std::size_t at_ = 0;
};

comparison read_comparison(reader& in) {
    // The longer ones first, as the others begin them.
    if (in.take("<=")) return comparison::less_equal;
    if (in.take(">=")) return comparison::greater_equal;
    if (in.take("==")) return comparison::equal;
    if (in.take("!=")) return comparison::not_equal;
    if (in.take("<")) return comparison::less;
    if (in.take(">")) return comparison::greater;
    in.refuse("one of < <= > >= == !=");
}

template <class T>
condition_term<T> read_term(reader& in) {
    if (!in.take("x")) in.refuse("x");
    condition_term<T> term{};
    if (in.take("%")) {
        term.modulus = in.number<T>();
        if (!(term.modulus > T{0})) in.refuse("a number above 0 behind %, and then a comparison");
    }
    term.is = read_comparison(in);
    term.constant = in.number<T>();
    return term;
}

}  // namespace

template <class T>
condition<T> parse_condition(const std::string& text) {
    reader in(text);
    condition<T> made{};
    bool all = false;
    for (;;) {
        if (made.count == made.max_terms) in.refuse("no more than " + std::to_string(made.max_terms) + " comparisons");
        made.terms[made.count++] = read_term<T>(in);
        if (in.at_end()) return made;
        const bool with_and = in.take("and"), with_or = !with_and && in.take("or");
        if (!with_and && !with_or) in.refuse("and, or, or the end");
        if ((with_and && made.any) || (with_or && all)) in.refuse("all comparisons joined by `and`, or all by `or`,");
        all = all || with_and;
        made.any = made.any || with_or;
    }
}

#define LANEWAY_CONDITION(T) template condition<T> parse_condition<T>(const std::string&);
LANEWAY_CONDITION(std::int8_t)
LANEWAY_CONDITION(std::uint8_t)
LANEWAY_CONDITION(std::int16_t)
LANEWAY_CONDITION(std::uint16_t)
LANEWAY_CONDITION(std::int32_t)
LANEWAY_CONDITION(std::uint32_t)
LANEWAY_CONDITION(std::int64_t)
LANEWAY_CONDITION(std::uint64_t)
LANEWAY_CONDITION(float)
LANEWAY_CONDITION(double)
#undef LANEWAY_CONDITION

}  // namespace laneway::apps

// What `*p` is of a checked pointer to a word, a number or an enumerator: a value that is read, or a place that is
// written, as it is used.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "laneway/simt/checked/lane_history.hpp"

namespace laneway::checked {

template <class T>
class pointer;

/// Conversions that keep values: others are explicit, as `c ? *p : 0` would otherwise be an int.
template <class From, class To>
concept keeps_values = std::same_as<From, To> ||
                       (std::floating_point<To> &&
                        (std::integral<From> || (std::floating_point<From> && sizeof(To) >= sizeof(From)))) ||
                       (!std::floating_point<From> && requires(From from) { To{from}; });

/// A value that is kept in a variable with `auto` stays the one that was there. It cannot be assigned to: that goes
/// through what `*p` gives at once.
template <class T>
class reference {
    using value_type = std::remove_const_t<T>;

public:
    reference(lane_history& lane, T* word, const std::source_location& where, const pointer<T>& from)
        : lane_(&lane), word_(word), from_(from), begun_(lane.begin_plain(word, sizeof(T), where)), value_(*word) {}

    /// A value that stands beside one: the 0 of `c ? *p : 0`.
    template <class U>
    requires(!keeps_values<value_type, U> && std::same_as<std::common_type_t<value_type, U>, value_type>)
        LANEWAY_FN reference(U value)
        : value_(static_cast<value_type>(value)) {}

    [[nodiscard]] value_type get() const {
        if (lane_ != nullptr) lane_->end_plain(begun_, access_kind::plain_read);
        return value_;
    }
    template <class U>
    requires std::convertible_to<value_type, U>
    explicit(!keeps_values<value_type, U>) operator U() const { return static_cast<U>(get()); }

    value_type operator=(value_type value) && {
        lane_->end_plain(begun_, access_kind::plain_write);
        return *word_ = value;
    }
    value_type operator=(const reference& other) && { return std::move(*this) = other.get(); }
    value_type operator=(value_type) & = delete;        // of a copy made with auto: give it a type,
    value_type operator=(const reference&) & = delete;  // or assign to *p

    /// For an atomic operation: neither a read nor a write.
    pointer<T> operator&() && { return from_; }

    value_type operator++() && {
        return std::move(*this).change([](value_type v) { return ++v; });
    }
    value_type operator--() && {
        return std::move(*this).change([](value_type v) { return --v; });
    }
    value_type operator++(int) && {
        (void)std::move(*this).change([](value_type v) { return ++v; });
        return value_;
    }
    value_type operator--(int) && {
        (void)std::move(*this).change([](value_type v) { return --v; });
        return value_;
    }

    /// Writes what `how` makes of the value.
    template <class How>
    value_type change(How&& how) && {
        const auto value = static_cast<value_type>(how(value_));
        lane_->switch_plainly();
        return std::move(*this) = value;
    }

private:
    lane_history* lane_ = nullptr;  ///< null: of a value
    T* word_ = nullptr;
    pointer<T> from_;
    lane_history::look begun_;
    value_type value_;
};

template <class T>
inline constexpr bool is_reference = false;
template <class T>
inline constexpr bool is_reference<reference<T>> = true;
template <class T>
concept checked_reference = is_reference<std::remove_cvref_t<T>>;

/// The value of a checked reference, anything else as it is.
template <class T>
decltype(auto) value_of(T&& one) {
    if constexpr (checked_reference<T>) {
        return one.get();
    } else {
        return std::forward<T>(one);
    }
}

// Operators of words are those of their values. Where those are compared with literals the compiler would say here what
// it does not say there.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#define LANEWAY_OF_VALUES(op)                             \
    template <class A, class B>                           \
    requires checked_reference<A> || checked_reference<B> \
    decltype(auto) operator op(A&& a, B&& b) { return value_of(std::forward<A>(a)) op value_of(std::forward<B>(b)); }
LANEWAY_OF_VALUES(+)
LANEWAY_OF_VALUES(-)
LANEWAY_OF_VALUES(*)
LANEWAY_OF_VALUES(/)
LANEWAY_OF_VALUES(%)
LANEWAY_OF_VALUES(&)
LANEWAY_OF_VALUES(|)
LANEWAY_OF_VALUES(^)
LANEWAY_OF_VALUES(<<)
LANEWAY_OF_VALUES(>>)
LANEWAY_OF_VALUES(==)
LANEWAY_OF_VALUES(!=)
LANEWAY_OF_VALUES(<)
LANEWAY_OF_VALUES(>)
LANEWAY_OF_VALUES(<=)
LANEWAY_OF_VALUES(>=)
#undef LANEWAY_OF_VALUES

#define LANEWAY_OF_VALUE(op)       \
    template <checked_reference A> \
    auto operator op(A&& a) {      \
        return op a.get();         \
    }
LANEWAY_OF_VALUE(-)
LANEWAY_OF_VALUE(+)
LANEWAY_OF_VALUE(~)
LANEWAY_OF_VALUE(!)
#undef LANEWAY_OF_VALUE

// A word that is changed, and a variable that is changed by a word.
#define LANEWAY_CHANGING(op)                                                                                \
    template <class T, class By>                                                                            \
    auto operator op##=(reference<T>&& word, By&& by) {                                                     \
        return std::move(word).change([&](auto value) { return value op value_of(std::forward<By>(by)); }); \
    }                                                                                                       \
    template <class Number, checked_reference By>                                                           \
    requires std::is_arithmetic_v<Number> Number& operator op##=(Number& number, By&& by) {                 \
        return number op## = by.get();                                                                      \
    }
LANEWAY_CHANGING(+)
LANEWAY_CHANGING(-)
LANEWAY_CHANGING(*)
LANEWAY_CHANGING(/)
LANEWAY_CHANGING(%)
LANEWAY_CHANGING(&)
LANEWAY_CHANGING(|)
LANEWAY_CHANGING(^)
LANEWAY_CHANGING(<<)
LANEWAY_CHANGING(>>)
#undef LANEWAY_CHANGING

#pragma GCC diagnostic pop

}  // namespace laneway::checked

// Pointers into symmetric memory on checked devices: they stand where other devices have plain ones, know their bounds,
// and tell of each access to a word.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "laneway/simt/checked/reference.hpp"

namespace laneway::checked {

/// A PE's part of a symmetric array, as elements of some type.
struct symmetric_part {
    std::uint32_t segment = 0;
    int pe = 0;
    bool exists = false;  ///< false: it has been freed
    std::uint64_t elements = 0;
    std::size_t element_bytes = 0;
};

/// Throws usage_error that names the lane, the element that is missing and the place.
[[noreturn]] void report_missing(const lane_position& lane, const symmetric_part& part, std::uint64_t index,
                                 const std::source_location& where);

template <class T>
class pointer;

template <class I>
concept checked_index = std::integral<std::remove_cvref_t<decltype(value_of(std::declval<const I&>()))>>;

/// A pointer to an element of a symmetric array. Where a T* is asked for it becomes one, whose accesses nobody sees.
template <class T>
class pointer {
    static constexpr bool is_word = (std::is_arithmetic_v<T> || std::is_enum_v<T>)&&sizeof(T) <= 8;

public:
    pointer() = default;
    pointer(lane_history& lane, const symmetric_part& part, T* base, std::uint64_t index,
            const std::source_location& where)
        : lane_(&lane), part_(part), base_(base), index_(index), where_(where) {}

    /// Null for the first element of an array that has been freed; one element behind the last is not yet missing.
    operator T*() const {
        if (index_ > part_.elements) report_missing(lane_->position(), part_, index_, where_);
        return part_.exists ? base_ + index_ : nullptr;
    }
    /// The element, which is there. Its accesses are seen where it is a word.
    decltype(auto) operator*() const {
        T* const word = element();
        if constexpr (is_word) {
            return reference<T>(*lane_, word, where_, *this);
        } else {
            return static_cast<T&>(*word);
        }
    }
    template <checked_index I>
    decltype(auto) operator[](const I& by) const {
        return *(*this + by);
    }
    T* operator->() const { return element(); }

    /// Address of the element, for an atomic operation on it.
    [[nodiscard]] T* element() const {
        if (index_ >= part_.elements) report_missing(lane_->position(), part_, index_, where_);
        return base_ + index_;
    }
    [[nodiscard]] const std::source_location& where() const { return where_; }

    template <checked_index I>
    friend pointer operator+(pointer p, const I& by) {
        return p += by;
    }
    template <checked_index I>
    friend pointer operator+(const I& by, pointer p) {
        return p += by;
    }
    template <checked_index I>
    friend pointer operator-(pointer p, const I& by) {
        return p -= by;
    }
    template <checked_index I>
    pointer& operator+=(const I& by) {
        index_ += static_cast<std::uint64_t>(value_of(by));
        return *this;
    }
    template <checked_index I>
    pointer& operator-=(const I& by) {
        index_ -= static_cast<std::uint64_t>(value_of(by));
        return *this;
    }
    pointer& operator++() { return *this += 1; }
    pointer& operator--() { return *this -= 1; }
    pointer operator++(int) { return std::exchange(*this, *this + 1); }
    pointer operator--(int) { return std::exchange(*this, *this - 1); }

private:
    lane_history* lane_ = nullptr;
    symmetric_part part_;
    T* base_ = nullptr;
    std::uint64_t index_ = 0;
    std::source_location where_;
};

}  // namespace laneway::checked

// What is sent: elements in the memory of an endpoint; and where received ones are put. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "laneway/flow/layout.hpp"

namespace laneway::flow {

/// A range of memory with a word about it, which is not owned: it stays as it is until the send is done.
struct segment {
    const void* data = nullptr;
    std::size_t bytes = 0;          ///< that are sent
    std::size_t element_bytes = 1;  ///< packets hold whole elements
    std::uint64_t tag = 0;          ///< the sender's word about it, which each packet carries
    /// Where in the memory the bytes are; null: side by side. Packets hold whole rows where one fits.
    std::shared_ptr<const layout> where = {};

    /// `count` elements side by side.
    template <class T>
    [[nodiscard]] static segment of(const T* first, std::size_t count, std::uint64_t tag = 0) {
        return {first, count * sizeof(T), sizeof(T), tag};
    }
    template <class T>
    [[nodiscard]] static segment of(const std::vector<T>& elements, std::uint64_t tag = 0) {
        return of(elements.data(), elements.size(), tag);
    }
    /// Any layout of a memory that begins at `first`.
    template <class T>
    [[nodiscard]] static segment of(const T* first, layout order, std::uint64_t tag = 0) {
        auto kept = std::make_shared<const layout>(std::move(order));
        return {first, kept->bytes(), sizeof(T), tag, kept};
    }
    /// `rows` of `row` elements each, one every `stride` elements: backwards where that is below 0. Rows may overlap.
    template <class T>
    [[nodiscard]] static segment strided(const T* first, std::size_t rows, std::size_t row, std::ptrdiff_t stride,
                                         std::uint64_t tag = 0) {
        return of(first, layout::strided(row * sizeof(T), {{rows, stride * std::ptrdiff_t{sizeof(T)}}}), tag);
    }
    /// Pieces of a memory of `extent` elements, one behind the other; a piece may come twice. Throws usage_error for
    /// one that is not within it.
    template <class T>
    [[nodiscard]] static segment scattered(const T* first, std::int64_t extent, const std::vector<piece>& pieces,
                                           std::uint64_t tag = 0) {
        return of(first, layout::scattered(sizeof(T), extent, pieces), tag);
    }
};

/// Memory that a received message is put into, packet by packet; not owned.
class target {
public:
    /// `count` elements side by side.
    template <class T>
    [[nodiscard]] static target of(T* first, std::size_t count) {
        return target(first, layout::strided(sizeof(T), {{count, sizeof(T)}}));
    }
    /// Any layout of a memory that begins at `first`. Throws usage_error where two elements of the message may be meant
    /// for one place: for strides that do not nest, too.
    template <class T>
    [[nodiscard]] static target of(T* first, layout order) {
        return target(first, std::move(order));
    }
    /// See segment.
    template <class T>
    [[nodiscard]] static target strided(T* first, std::size_t rows, std::size_t row, std::ptrdiff_t stride) {
        return target(first, layout::strided(row * sizeof(T), {{rows, stride * std::ptrdiff_t{sizeof(T)}}}));
    }
    template <class T>
    [[nodiscard]] static target scattered(T* first, std::int64_t extent, const std::vector<piece>& pieces) {
        return target(first, layout::scattered(sizeof(T), extent, pieces));
    }

    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] const std::shared_ptr<const layout>& where() const { return where_; }

private:
    target(void* data, layout order) : data_(data), where_(std::make_shared<const layout>(std::move(order))) {
        where_->require_disjoint();
    }

    void* data_;
    std::shared_ptr<const layout> where_;
};

}  // namespace laneway::flow

// What is sent: elements in the memory of an endpoint. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace laneway::flow {

/// A range of memory with a word about it, which is not owned: it stays as it is until the send is done.
struct segment {
    const void* data = nullptr;
    std::size_t bytes = 0;
    std::size_t element_bytes = 1;  ///< packets hold whole elements
    std::uint64_t tag = 0;          ///< the sender's word about it, which each packet carries
    /// Bytes from the start of one row to that of the next; 0: the elements lie side by side. A packet holds whole
    /// rows.
    std::size_t pitch = 0;
    std::size_t row_bytes = 0;  ///< of a segment with a pitch: elements of each row, side by side

    /// `count` elements side by side.
    template <class T>
    [[nodiscard]] static segment of(const T* first, std::size_t count, std::uint64_t tag = 0) {
        return {first, count * sizeof(T), sizeof(T), tag};
    }
    template <class T>
    [[nodiscard]] static segment of(const std::vector<T>& elements, std::uint64_t tag = 0) {
        return of(elements.data(), elements.size(), tag);
    }
    /// `rows` of `row` elements each, one every `stride` elements.
    template <class T>
    [[nodiscard]] static segment strided(const T* first, std::size_t rows, std::size_t row, std::size_t stride,
                                         std::uint64_t tag = 0) {
        return {first, rows * row * sizeof(T), sizeof(T), tag, stride * sizeof(T), row * sizeof(T)};
    }
};

}  // namespace laneway::flow

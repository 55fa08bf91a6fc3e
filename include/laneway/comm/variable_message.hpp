// Variable-length messages: a header that is a message like any other and a payload of elements behind it.
//
// A variable-length message is carried in granules of 16 bytes: first the header and the number of elements, then the
// elements, which start a granule of their own. A chunk of variable-length messages is an array of granules; no index
// goes with it, as each header says where the next message starts.
#pragma once

#include "laneway/memory/symmetric.hpp"

namespace laneway {

/// A payload as its handler sees it: consecutive elements in memory that the library owns.
template <class T>
struct payload {
    T* data = nullptr;
    std::uint64_t size = 0;

    [[nodiscard]] LANEWAY_FN T& operator[](std::uint64_t index) const { return data[index]; }
    [[nodiscard]] LANEWAY_FN T* begin() const { return data; }
    [[nodiscard]] LANEWAY_FN T* end() const { return data + size; }
};

/// Bytes of `count` elements, for messages of refused ones: the most that a number holds where they are more.
template <class T>
LANEWAY_FN std::uint64_t bytes_of(std::uint64_t count) {
    return count > ~std::uint64_t{0} / sizeof(T) ? ~std::uint64_t{0} : count * sizeof(T);
}

/// What aggregation buffers and chunks of variable-length messages with this header are made of.
template <class Header>
struct alignas(16) granule {
    std::uint64_t words[2];
};

template <class Message>
inline constexpr bool is_granule = false;
template <class Header>
inline constexpr bool is_granule<granule<Header>> = true;

/// Payload of the smallest chunk that holds so many granules: chunks have a power of two of them.
[[nodiscard]] constexpr std::size_t chunk_bytes_for(std::size_t granules) {
    std::size_t bytes = 16;
    while (bytes < granules * 16) bytes *= 2;  // NVRTC has no <bit>
    return bytes;
}

/// As the number of elements: they lie in symmetric memory already, see stored_payload.
inline constexpr std::uint32_t in_symmetric_memory = ~std::uint32_t{0};

/// A payload that lies in symmetric memory of the PE that the message is for.
template <class Element>
struct alignas(16) stored_payload {
    symmetric_ptr<Element> at;
    std::uint64_t count;
};

/// The first granules of a variable-length message.
template <class Header>
struct alignas(16) variable_envelope {
    static_assert(trivially_copyable<Header> && alignof(Header) <= 16 && sizeof(Header) <= 4096);

    std::uint32_t count;  ///< elements that follow; first, where a server looks for it
    Header header;
};

/// Sizes of variable-length messages, in granules.
template <class Header, class Element>
struct variable_shape {
    static_assert(trivially_copyable<Element> && alignof(Element) <= 16 && sizeof(Element) <= 4096);
    static constexpr auto envelope_granules = static_cast<std::uint32_t>(sizeof(variable_envelope<Header>) / 16);
    static constexpr auto element_bytes = static_cast<std::uint32_t>(sizeof(Element));

    [[nodiscard]] static constexpr std::uint32_t granules(std::uint32_t count) {
        const auto payload_bytes =
            count == in_symmetric_memory ? std::uint32_t{sizeof(stored_payload<Element>)} : count * element_bytes;
        return envelope_granules + (payload_bytes + 15) / 16;
    }
    /// The most elements of a variable-length message that fits a chunk of `chunk_granules`.
    [[nodiscard]] static constexpr std::uint32_t longest(std::uint32_t chunk_granules) {
        return (chunk_granules - envelope_granules) * 16 / element_bytes;
    }
    /// Payload of the smallest chunk that is of use: with room for one element and, where the handler allocates, for
    /// the address of the payload.
    [[nodiscard]] static constexpr std::size_t min_chunk_bytes(bool allocates) {
        const bool address_is_longer = allocates && granules(in_symmetric_memory) > granules(1);
        return chunk_bytes_for(granules(address_is_longer ? in_symmetric_memory : 1));
    }
};

}  // namespace laneway

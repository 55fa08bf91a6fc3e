// Parcels: messages of variable length, a head that is a message like any other and elements behind it.
//
// A parcel is carried in units of 16 bytes: first the head and the number of elements, then the elements, which start a
// unit of their own. A chunk of parcels is an array of units; no index goes with it, as each head says where the next
// parcel starts.
#pragma once

#include "laneway/memory/symmetric.hpp"

namespace laneway {

/// Elements that lie one behind the other in memory of somebody else.
template <class T>
struct elements {
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

/// What bins and chunks of parcels with this head are made of.
template <class Head>
struct alignas(16) parcel_unit {
    std::uint64_t words[2];
};

template <class Message>
inline constexpr bool is_parcel_unit = false;
template <class Head>
inline constexpr bool is_parcel_unit<parcel_unit<Head>> = true;

/// In place of the number of elements: they lie in symmetric memory already, see placed.
inline constexpr std::uint32_t elsewhere = ~std::uint32_t{0};

/// Elements in symmetric memory of the PE that a parcel is for.
template <class Element>
struct alignas(16) placed {
    symmetric_ptr<Element> at;
    std::uint64_t count;
};

/// The first units of a parcel.
template <class Head>
struct alignas(16) parcel_header {
    static_assert(trivially_copyable<Head> && alignof(Head) <= 16 && sizeof(Head) <= 4096);

    std::uint32_t count;  ///< elements that follow; first, where a server looks for it
    Head head;
};

/// Sizes of parcels, in units.
template <class Head, class Element>
struct parcel_shape {
    static_assert(trivially_copyable<Element> && alignof(Element) <= 16 && sizeof(Element) <= 4096);
    static constexpr auto header_units = static_cast<std::uint32_t>(sizeof(parcel_header<Head>) / 16);
    static constexpr auto element_bytes = static_cast<std::uint32_t>(sizeof(Element));

    [[nodiscard]] static constexpr std::uint32_t units(std::uint32_t count) {
        const auto body_bytes = count == elsewhere ? std::uint32_t{sizeof(placed<Element>)} : count * element_bytes;
        return header_units + (body_bytes + 15) / 16;
    }
    /// The most elements of a parcel that fits a chunk of `chunk_units`.
    [[nodiscard]] static constexpr std::uint32_t longest(std::uint32_t chunk_units) {
        return (chunk_units - header_units) * 16 / element_bytes;
    }
    /// Payload of the smallest chunk that is of use: a power of two of units, as chunks are, with room for one element
    /// and, where the handler places, for a place.
    [[nodiscard]] static constexpr std::size_t least_chunk_bytes(bool places) {
        const std::uint32_t least = places && units(elsewhere) > units(1) ? units(elsewhere) : units(1);
        std::size_t bytes = 16;
        while (bytes < least * 16) bytes *= 2;
        return bytes;
    }
};

}  // namespace laneway

// Copying by lanes, in words as wide as both sides are aligned to.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// The part of a copy that one lane makes: words first, first + step, ...
struct copy_share {
    std::uint64_t first = 0;
    std::uint64_t step = 1;
};

/// Bytes that are copied at once. They may stand for elements of any type, as bytes may.
template <std::size_t Bytes>
struct alignas(Bytes) byte_word {
    std::byte bytes[Bytes];
};

/// Copies as many words as `bytes` holds; both sides are aligned to words.
template <std::size_t Bytes>
LANEWAY_FN void copy_words(std::byte* to, const std::byte* from, std::uint64_t bytes, copy_share mine) {
    auto* const target = reinterpret_cast<byte_word<Bytes>*>(to);
    const auto* const source = reinterpret_cast<const byte_word<Bytes>*>(from);
    if constexpr (Bytes == 16) {  // several loads are on their way at once
        for (std::uint64_t i = mine.first; i < bytes / Bytes; i += mine.step) target[i] = source[i];
    } else {  // else four copies of this loop would be the larger part of many functions
        LANEWAY_NOT_UNROLLED
        for (std::uint64_t i = mine.first; i < bytes / Bytes; i += mine.step) target[i] = source[i];
    }
}

/// Copies this lane's share of `bytes`. Any lane; those that share a copy call it with the same other arguments.
LANEWAY_FN void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes, copy_share mine = {}) {
    const auto alignment = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    std::uint64_t copied = 0;
    if (alignment % 16 == 0) {
        copy_words<16>(to, from, bytes, mine);
        copied = bytes / 16 * 16;
    } else if (alignment % 4 == 0) {
        copy_words<4>(to, from, bytes, mine);
        copied = bytes / 4 * 4;
    }
    copy_words<1>(to + copied, from + copied, bytes - copied, mine);
}

}  // namespace laneway

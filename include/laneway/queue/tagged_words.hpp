// Values that travel without a flag: each word of 8 bytes is half value, half tag, the number of the value that the
// word belongs to.
//
// A word is stored and seen whole, so a word that shows the expected tag has arrived, in whatever order the words do.
// Who stores needs no fence, which would wait for all its earlier stores, and who waits looks at the value itself (the
// low-latency protocol of NCCL).
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// A value as words of 32 bits.
template <class Value>
struct alignas(alignof(Value) < 4 ? 4 : alignof(Value)) padded_value {
    Value value;
};

/// Words that a value takes.
template <class Value>
inline constexpr std::uint32_t tagged_words = sizeof(padded_value<Value>) / 4;

/// Order of a load that pairs with stores of Ctx::tagged_order.
template <class Ctx>
inline constexpr order tagged_load_order = Ctx::tagged_order == order::release ? order::acquire : order::relaxed;

template <class Value>
struct value_words {
    std::uint32_t words[tagged_words<Value>];
};

/// Stores a value. Any lane; does not wait. `o`: relaxed, or Ctx::tagged_order where the value says that something has
/// happened.
template <class Ctx, class Value>
LANEWAY_FN void store_tagged(Ctx& ctx, std::uint64_t* to, std::uint32_t tag, const Value& value, order o) {
    const auto parts = __builtin_bit_cast(value_words<Value>, padded_value<Value>{value});
    for (std::uint32_t i = 0; i < tagged_words<Value>; ++i) {
        // Partner: the load in load_tagged.
        ctx.store(to + i, std::uint64_t{tag} << 32 | parts.words[i], o, scope::system);
    }
}

/// Whether the value with this tag is there, and what it is. Any lane; does not wait. `o`: acquire where what the
/// sender has fenced comes before what this lane does next; on GPUs a fence does that, only where the value is there.
template <class Ctx, class Value>
[[nodiscard]] LANEWAY_FN bool load_tagged(Ctx& ctx, const std::uint64_t* from, std::uint32_t tag, Value& value,
                                          order o) {
    constexpr std::uint32_t n = tagged_words<Value>;
    // All loads are on their way before the first word is looked at.
    std::uint64_t words[n];
    const bool fences = acquires_by_fence<Ctx> && o == order::acquire;
    for (std::uint32_t i = 0; i < n; ++i) {
        words[i] = ctx.load(from + i, i + 1 < n || fences ? order::relaxed : o, scope::system);
    }
    value_words<Value> parts;
    std::uint32_t differs = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        differs |= static_cast<std::uint32_t>(words[i] >> 32) ^ tag;
        parts.words[i] = static_cast<std::uint32_t>(words[i]);
    }
    if (differs != 0) return false;
    if (fences) ctx.fence(order::acquire, scope::system);
    value = __builtin_bit_cast(padded_value<Value>, parts).value;
    return true;
}

}  // namespace laneway

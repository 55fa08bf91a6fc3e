// Answers to calls: how the value that a handler returns comes back to the lane that waits for it.
//
// Each working lane has a slot, which it alone reads. An answer is stored there in words of 8 bytes, half value and
// half number of the call. A word that shows the number is whole, so an answer needs no fence, no flag and no ring, and
// who answers never waits (the low-latency protocol of NCCL). A lane has one call open at a time.
#pragma once

#include "laneway/simt/wait.hpp"

namespace laneway {

/// A value as words of 32 bits.
template <class Value>
struct alignas(alignof(Value) < 4 ? 4 : alignof(Value)) padded_value {
    Value value;
};
template <class Value>
inline constexpr std::uint32_t answer_words = sizeof(padded_value<Value>) / 4;

template <class Value>
struct value_words {
    std::uint32_t words[answer_words<Value>];
};

/// What a call gave: the value where `code` is ok.
template <class Value>
struct answered {
    status code = status::ok;
    Value value{};
};

/// Device view of one PE's slots; the tables are PE memory.
struct answers_ref {
    std::uint64_t* const* to = nullptr;          ///< n_pes: slots of that PE's lanes that this PE writes
    const std::uint64_t* const* from = nullptr;  ///< n_pes: slots of the own lanes that that PE writes
    std::uint32_t slot_words = 0;

    /// Names call number `call` of the lane with this slot, never 0.
    static LANEWAY_FN std::uint64_t token(std::uint32_t slot, std::uint32_t call) {
        return std::uint64_t{slot} << 32 | call;
    }

    /// Stores the answer to a call from `pe`. Any lane; does not wait.
    template <class Ctx, class Value>
    LANEWAY_FN void give(Ctx& ctx, int pe, std::uint64_t token, const Value& value) const {
        std::uint64_t* slot = to[pe] + (token >> 32) * slot_words;
        const auto parts = __builtin_bit_cast(value_words<Value>, padded_value<Value>{value});
        for (std::uint32_t i = 0; i < answer_words<Value>; ++i) {
            // Partner: the load in take. Relaxed: each word brings its own proof.
            ctx.store(slot + i, token << 32 | parts.words[i], order::relaxed, scope::system);
        }
    }

    /// Whether the answer to a call to `pe` has come, and what it is. Any lane; does not wait.
    template <class Ctx, class Value>
    LANEWAY_FN bool take(Ctx& ctx, int pe, std::uint64_t token, Value& value) const {
        const std::uint64_t* slot = from[pe] + (token >> 32) * slot_words;
        value_words<Value> parts;
        bool whole = true;
        for (std::uint32_t i = 0; i < answer_words<Value>; ++i) {
            const std::uint64_t word = ctx.load(slot + i, order::relaxed, scope::system);
            whole = whole && word >> 32 == (token & 0xffffffff);
            parts.words[i] = static_cast<std::uint32_t>(word);
        }
        if (whole) value = __builtin_bit_cast(padded_value<Value>, parts).value;
        return whole;
    }
};

}  // namespace laneway

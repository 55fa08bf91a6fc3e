// Answers to calls: how the value that a handler returns comes back to the lane that waits for it.
//
// Each working lane has a slot, which it alone reads. An answer is stored there in tagged words by the
// number of the call, so it needs no fence, no flag and no ring, and who answers never waits. A lane has one call open
// at a time.
#pragma once

#include "laneway/queue/tagged_words.hpp"
#include "laneway/simt/message_order.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// What a call gave, to a PE or to the host: `value` counts only where `code` is ok, which is what its truth tells.
template <class Value>
struct [[nodiscard]] answered {
    status code = status::ok;
    Value value{};

    LANEWAY_FN explicit operator bool() const { return code == status::ok; }
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

    /// Stores the answer to a call from `pe`. Any lane; does not wait. On GPUs the answer orders nothing but itself.
    template <class Ctx, class Value>
    LANEWAY_FN void give(Ctx& ctx, int pe, std::uint64_t token, const Value& value) const {
        std::uint64_t* const slot = to[pe] + (token >> 32) * slot_words;
        tell_history(ctx, [slot](auto& history) { history.carry_alone(slot); });
        store_tagged(ctx, slot, static_cast<std::uint32_t>(token), value, Ctx::tagged_order);
    }

    /// Whether the answer to a call to `pe` has come, and what it is. Any lane; does not wait.
    template <class Ctx, class Value>
    LANEWAY_FN bool take(Ctx& ctx, int pe, std::uint64_t token, Value& value) const {
        const std::uint64_t* const slot = from[pe] + (token >> 32) * slot_words;
        if (!load_tagged(ctx, slot, static_cast<std::uint32_t>(token), value, tagged_load_order<Ctx>)) return false;
        tell_history(ctx, [slot](auto& history) { history.hear(slot); });
        return true;
    }
};

}  // namespace laneway

// Answers to calls: how the value that a handler returns comes back to the lane that waits for it.
//
// Each working lane has a slot, which it alone reads. An answer is stored there in tagged words by the
// number of the call, so it needs no fence, no flag and no ring, and who answers never waits. A lane has one call open
// at a time.
//
// Numbers run on from run to run, and come round. Short answers leave words of longer ones where they are, so once in
// calls_period calls a lane renews all words of its slot, as no answer is on its way to it then; and the host clears
// them where lanes that did not call may have fallen behind.
#pragma once

#include "laneway/simt/message_order.hpp"
#include "laneway/simt/wait.hpp"
#include "laneway/transport/word_channel.hpp"

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
    const word_sender* to = nullptr;      ///< n_pes: slots of that PE's lanes that this PE writes
    const word_receiver* from = nullptr;  ///< n_pes: slots of the own lanes that that PE writes
    std::uint32_t slot_words = 0;
    std::uint64_t calls_before = 0;  ///< no lane of the job has had a call with a higher number in a run before

    static constexpr std::uint32_t calls_period = 1u << 20;

    /// Names call number `call` of the lane with this slot, never 0.
    static LANEWAY_FN std::uint64_t token(std::uint32_t slot, std::uint32_t call) {
        return std::uint64_t{slot} << 32 | call;
    }

    /// The number of a lane's next call, after `last`; never 0, which means "posted". Any lane that has no call open.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t next_call(Ctx& ctx, std::uint32_t slot, std::uint32_t last) const {
        const std::uint32_t next = last + 1 == 0 ? 1 : last + 1;
        if (next % calls_period == 0) renew(ctx, slot, last);
        return next;
    }

    /// Stores the answer to a call from `pe`. Any lane; does not wait. On GPUs the answer orders nothing but itself.
    template <class Ctx, class Value>
    LANEWAY_FN void give(Ctx& ctx, int pe, std::uint64_t token, const Value& value) const {
        const word_sender words = to[pe];
        const std::uint64_t slot = (token >> 32) * slot_words;
        tell_history(ctx, [&](auto& history) { history.carry_alone(words.place(slot)); });
        words.put(ctx, slot, static_cast<std::uint32_t>(token), value);
    }

    /// Whether the answer to a call to `pe` has come, and what it is. Any lane; does not wait.
    template <class Ctx, class Value>
    LANEWAY_FN bool take(Ctx& ctx, int pe, std::uint64_t token, Value& value) const {
        const word_receiver words = from[pe];
        const std::uint64_t slot = (token >> 32) * slot_words;
        if (!words.take(ctx, slot, static_cast<std::uint32_t>(token), value, tagged_load_order<Ctx>)) return false;
        tell_history(ctx, [&](auto& history) { history.hear(words.place(slot)); });
        return true;
    }

private:
    /// Gives all words of a lane's slot the tag of its last call.
    template <class Ctx>
    LANEWAY_SLOW void renew(const Ctx& lane, std::uint32_t slot, std::uint32_t last) const {
        Ctx ctx(lane);
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            for (std::uint32_t i = 0; pe != ctx.pe() && i < slot_words; ++i) {
                // Partner: the load in take, of a call that must not take what stood there for its answer.
                from[pe].renew(ctx, std::uint64_t{slot} * slot_words + i, last);
            }
        }
        ctx.fence(order::release, scope::system);  // before those whom the lane calls next answer
    }
};

}  // namespace laneway

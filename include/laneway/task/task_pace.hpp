// How often workers look up from their tasks: whether the program is ending, and to tell the host that they get on.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/task/task_rings_ref.hpp"

namespace laneway {

/// Tells the host that the PE gets on, at most once in eight milliseconds: its tasks may take long until an entry is
/// done. Returns the time, for the next call. One lane.
template <class Ctx>
LANEWAY_FN std::uint64_t show_life(Ctx& ctx, const task_rings_ref& rings, std::uint64_t before_ns) {
    constexpr int span = 23;  // of 2^23 ns
    const std::uint64_t now = ctx.now_ns();
    // Partner: the host's load in task_rings::life. Any value that differs from the last one will do.
    if (now >> span != before_ns >> span) ctx.store(rings.life, now, order::relaxed, scope::system);
    return now;
}

/// One warp's, while it runs tasks one after the other. It looks up behind each of them, or, where they take less than
/// a look is worth, behind up to 64.
template <class Ctx>
class task_pace {
public:
    LANEWAY_FN task_pace(Ctx& ctx, const task_rings_ref& rings) : rings_(rings), looked_ns_(ctx.now_ns()) {}

    /// Whether the program is ending, before the task of this number; false as well where it does not look. The whole
    /// warp; all lanes get the same.
    LANEWAY_FN bool ends(Ctx& ctx, std::uint32_t number) {
        constexpr std::uint32_t ending = 1, briefly = 2, max_step = 64;
        if (number < next_) return false;
        const std::uint32_t seen = once(ctx, full_warp<Ctx>, [&] {
            const std::uint64_t before = looked_ns_;
            looked_ns_ = show_life(ctx, rings_, before);
            return (stopped(ctx) ? ending : 0u) | (looked_ns_ - before < brief_ns ? briefly : 0u);
        });
        step_ = (seen & briefly) == 0 ? 1 : 2 * step_ < max_step ? 2 * step_ : max_step;
        next_ = number + step_;
        return (seen & ending) != 0;
    }

private:
    static constexpr std::uint64_t brief_ns = 2000;

    const task_rings_ref& rings_;
    std::uint64_t looked_ns_;  ///< lane 0's
    std::uint32_t next_ = 1, step_ = 1;
};

}  // namespace laneway

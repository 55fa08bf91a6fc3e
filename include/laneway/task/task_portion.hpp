// What a block has claimed of the tasks from the host: its warps take their parts of it in shared memory, so that only
// one of them at a time goes to the words that all blocks share.
#pragma once

#include "laneway/task/task_rings_ref.hpp"

namespace laneway {

/// What a warp runs next.
struct task_source {
    enum class kind : std::uint32_t { none, node, entry, range };
    kind what = kind::none;
    std::uint32_t number = 0;  ///< of a node, an entry, or a range
    std::uint32_t first = 0;   ///< of tasks of the range
    std::uint32_t count = 0;   ///< of these
};

/// In shared memory.
struct task_portion {
    alignas(16) std::uint64_t left;  ///< tasks; in the upper half how often the portion has been renewed
    std::uint32_t end;               ///< behind the last of them: entries, or tasks of a range
    std::uint32_t range;             ///< as claimed_tasks::range
    std::uint32_t part;              ///< of these, for a warp
    std::uint32_t filling;           ///< 1 while a warp renews it
    std::uint32_t task_ns;           ///< that a task of a range has lately taken
    std::uint32_t idle;              ///< warps of the block that have found nothing to do, and look again

    LANEWAY_FN void open() { *this = {}; }

    /// Takes a part, for a warp that is counted among the idle ones, or not. One lane.
    template <class Ctx>
    LANEWAY_FN task_source take(Ctx& ctx, bool is_counted) {
        using kind = task_source::kind;
        for (bool counts = is_counted;;) {
            // Partner: the release store in fill.
            std::uint64_t seen = ctx.load(&left, order::acquire, scope::block);
            const auto n = static_cast<std::uint32_t>(seen);
            if (n == 0) {
                if (counts != is_counted) count_idle(ctx, true);
                return {};
            }
            // Before it has one: whoever finds the portion empty then does not claim for this warp.
            if (counts) count_idle(ctx, false);
            counts = false;
            // As long as the exchange finds what was seen, these belong to it.
            const std::uint32_t behind = ctx.load(&end, order::relaxed, scope::block);
            const std::uint32_t of = ctx.load(&range, order::relaxed, scope::block);
            const std::uint32_t share = ctx.load(&part, order::relaxed, scope::block), some = share < n ? share : n;
            if (!ctx.compare_exchange(&left, seen, seen - some, order::relaxed, scope::block)) continue;
            if (of == 0) return {kind::entry, behind - n, 0, 1};
            return {kind::range, of - 1, behind - n, some};
        }
    }

    /// Counts a warp among the idle ones, or no more. One lane. Relaxed: it only says how much to claim.
    template <class Ctx>
    LANEWAY_FN void count_idle(Ctx& ctx, bool now) {
        ctx.fetch_add(&idle, now ? 1u : ~0u, order::relaxed, scope::block);
    }

    enum class outcome : std::uint32_t { filled, nothing, others };

    /// Claims a new portion where nothing is left: one warp of the block looks at a time; the others may rest. The
    /// whole warp.
    template <class Ctx>
    LANEWAY_FN outcome fill(Ctx& ctx, const task_rings_ref& rings) {
        const bool may = once(ctx, full_warp<Ctx>, [&] {
                             if (ctx.load(&filling, order::relaxed, scope::block) != 0) return 0u;
                             // Partner: the release store below.
                             if (ctx.exchange(&filling, 1u, order::acquire, scope::block) != 0) return 0u;
                             if (static_cast<std::uint32_t>(ctx.load(&left, order::relaxed, scope::block)) == 0)
                                 return 1u;
                             ctx.store(&filling, 0u, order::relaxed, scope::block);
                             return 0u;
                         }) != 0;
        if (!may) return outcome::others;
        const claimed_tasks mine = rings.claim(ctx, single_limit(ctx, rings));
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) renew(ctx, mine);
        return mine.count != 0 ? outcome::filled : outcome::nothing;
    }

private:
    /// How many single tasks to claim: as many as the idle warps will begin at once, so that none waits here while
    /// other blocks have idle warps. A lone block takes as many as it gets. All lanes get the same.
    template <class Ctx>
    LANEWAY_FN std::uint32_t single_limit(Ctx& ctx, const task_rings_ref& rings) {
        constexpr std::uint32_t max_singles = 32;
        if (rings.n_blocks == 1) return max_singles;
        const std::uint32_t counted =
            once(ctx, full_warp<Ctx>, [&] { return ctx.load(&idle, order::relaxed, scope::block); });
        return counted > 1 ? counted : 1;
    }
    /// Lane 0.
    template <class Ctx>
    LANEWAY_FN void renew(Ctx& ctx, const claimed_tasks& mine) {
        if (mine.count != 0) {
            ctx.store(&end, mine.first + mine.count, order::relaxed, scope::block);
            ctx.store(&range, mine.range, order::relaxed, scope::block);
            ctx.store(&part, mine.part, order::relaxed, scope::block);
            const std::uint64_t renewed = (ctx.load(&left, order::relaxed, scope::block) >> 32) + 1;
            // Partner: the acquire load in take.
            ctx.store(&left, renewed << 32 | mine.count, order::release, scope::block);
        }
        // Partner: the acquire exchange in fill.
        ctx.store(&filling, 0u, order::release, scope::block);
    }
};

}  // namespace laneway

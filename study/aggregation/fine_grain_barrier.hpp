// A barrier for those lanes of a block that take part, in software: lanes join, come, and leave in any order.
//
// After the fbar object as Orr 2016 (sections 5.3.3 and 5.6.2) extends it to single lanes and emulates it with
// counters of members and arrivals. Here both stand with a generation in one word, so that whoever comes last, or
// leaves last, opens the barrier with the same atomic that counts it.
#pragma once

#include "laneway/simt/wait.hpp"

namespace laneway::study {

/// In shared memory. `phases`: how often its members meet in one operation; none joins between two of these meetings.
class fine_grain_barrier {
public:
    /// One lane of the block, before use, which a block barrier must follow; `members` lanes start inside, 65,535 lanes
    /// at most.
    LANEWAY_FN void open(std::uint32_t members, std::uint32_t phases = 1) {
        word_ = packed(0, members, 0);
        phases_ = phases;
    }

    /// Adds `lanes` members. One lane, for itself or others. Waits while the members are within an operation; whoever
    /// comes in meets them from the next one on.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN status join(Ctx& ctx, std::uint32_t lanes) {
        const std::uint32_t now = generation(ctx.load(&word_, order::relaxed, scope::block));
        return wait_until(ctx, {operation::barrier, -1, now}, [&] {
            std::uint64_t seen = ctx.load(&word_, order::relaxed, scope::block);
            return generation(seen) % phases_ == 0 && swap(ctx, seen, seen + packed(0, lanes, 0));
        });
    }

    /// Takes `lanes` members out, none of which waits here or is within an operation. One lane; does not wait.
    template <class Ctx>
    LANEWAY_FN void leave(Ctx& ctx, std::uint32_t lanes) {
        std::uint64_t seen = ctx.load(&word_, order::relaxed, scope::block);
        while (!swap(ctx, seen, opened_if_full(generation(seen), members(seen) - lanes, arrived(seen)))) {
        }
    }

    /// Waits until all members have come or left. Exactly the lanes of the mask, which are members, together; lanes of
    /// a warp may come in several groups. What members wrote before is visible afterwards.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN status arrive(Ctx& ctx, lane_mask mask) {
        ctx.sync(mask);  // the elected lane's release covers what its mates wrote
        const auto came = once(ctx, mask, [&] {
            std::uint64_t seen = ctx.load(&word_, order::relaxed, scope::block);
            const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
            while (!swap(ctx, seen, opened_if_full(generation(seen), members(seen), arrived(seen) + lanes))) {
            }
            return generation(seen);
        });
        // Partner: the acq_rel exchange in swap, of whoever came or left last.
        return wait_together(
            ctx, mask, {operation::barrier, -1, came},
            [&] { return generation(ctx.load(&word_, order::acquire, scope::block)) != came; }, [] {});
    }

    /// Lanes inside. Any lane; others may be about to change it.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t members(Ctx& ctx) const {
        return members(ctx.load(&word_, order::relaxed, scope::block));
    }

private:
    static LANEWAY_FN std::uint64_t packed(std::uint32_t generation, std::uint32_t members, std::uint32_t arrived) {
        return std::uint64_t{generation} << 32 | members << 16 | arrived;
    }
    static LANEWAY_FN std::uint32_t generation(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
    static LANEWAY_FN std::uint32_t members(std::uint64_t word) { return static_cast<std::uint32_t>(word) >> 16; }
    static LANEWAY_FN std::uint32_t arrived(std::uint64_t word) { return static_cast<std::uint32_t>(word) & 0xffff; }

    /// The word after a change: open, where all that are left have come.
    static LANEWAY_FN std::uint64_t opened_if_full(std::uint32_t generation, std::uint32_t members,
                                                   std::uint32_t arrived) {
        if (arrived == 0 || arrived != members) return packed(generation, members, arrived);
        return packed(generation + 1, members, 0);
    }

    /// On failure `seen` takes what the word holds. Partner: itself, and the acquire load in arrive.
    template <class Ctx>
    LANEWAY_FN bool swap(Ctx& ctx, std::uint64_t& seen, std::uint64_t next) {
        return ctx.compare_exchange(&word_, seen, next, order::acq_rel, scope::block);
    }

    std::uint64_t word_;
    std::uint32_t phases_;
};

}  // namespace laneway::study

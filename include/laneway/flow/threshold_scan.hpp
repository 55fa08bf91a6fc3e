// A soft threshold as the warps of one working block know it: work below it runs, the rest waits in the block's far
// queue and is looked through once for each rise. What both worklists do alike.
//
// Near and far after Davidson et al. (IPDPS 2014); the threshold that all PEs share is Groute's soft priority
// (TOPC 2020, section 5), see threshold_policy.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// What one working block tells the control warp; PE memory, written by that block.
struct alignas(destructive_bytes) threshold_counters {
    std::uint64_t completed = 0;  ///< taken out of the block's queues and done with
    std::uint64_t far_taken = 0;  ///< of these, taken from the far queue
    std::uint64_t far_kept = 0;   ///< of these, put back
    std::uint64_t scanned = 0;    ///< the last threshold for which the far queue has been looked through
    std::uint64_t least = 0;      ///< no key of what was put back then is below
};

/// What the warps of a working block share, in its shared memory.
struct alignas(16) threshold_shared {
    std::uint64_t far_limit;  ///< far places before this one are to be looked through
    std::uint64_t threshold;  ///< last one seen
    std::uint64_t least;      ///< key that was put back since
};

/// One lane's access.
class threshold_scan {
public:
    /// `threshold`: the PE's, which its control lane writes.
    LANEWAY_FN threshold_scan(const std::uint64_t* threshold, threshold_counters& counters, threshold_shared* shared)
        : threshold_(threshold), counters_(counters), shared_(shared) {}

    /// One lane of the block, before use; a block barrier must follow. The threshold starts as it is, so that nothing
    /// is put off for a look that came too early; where it has risen since the start, what was put off until then is
    /// looked at: `far_pushes` places.
    template <class Ctx>
    LANEWAY_FN void open(Ctx& ctx, std::uint64_t far_pushes) const {
        *shared_ = threshold_shared{far_pushes, ctx.load(threshold_, order::relaxed, scope::device), 0};
    }

    /// Looks whether the threshold has risen; then the far queue is to be looked through up to its present end,
    /// `far_pushes()`. Tells the control warp when that is done. One lane of the block at a time.
    template <class Ctx, class Pushes>
    LANEWAY_FN void refresh(Ctx& ctx, Pushes&& far_pushes) const {
        const std::uint64_t seen = ctx.load(&shared_->threshold, order::relaxed, scope::block);
        const std::uint64_t limit = ctx.load(&shared_->far_limit, order::relaxed, scope::block);
        // Not before the last place has been sorted: `least` is told once for each threshold, and without the key of
        // what a warp still has in hand the next threshold would be a guess. All relaxed, as it only steers.
        if (seen != ctx.load(&counters_.scanned, order::relaxed, scope::device) &&
            ctx.load(&counters_.far_taken, order::relaxed, scope::device) >= limit) {
            const std::uint64_t least = ctx.load(&shared_->least, order::relaxed, scope::block);
            ctx.store(&counters_.least, least, order::relaxed, scope::device);
            ctx.store(&counters_.scanned, seen, order::relaxed, scope::device);
        }
        const std::uint64_t now = ctx.load(threshold_, order::relaxed, scope::device);
        if (now == seen) {
            // The last threshold: what has been put there since, for want of room elsewhere, waits for no other.
            if (now == ~std::uint64_t{0}) ctx.store(&shared_->far_limit, far_pushes(), order::relaxed, scope::block);
            return;
        }
        ctx.store(&shared_->least, ~std::uint64_t{0}, order::relaxed, scope::block);
        ctx.store(&shared_->far_limit, far_pushes(), order::relaxed, scope::block);
        // Partner: the acquire load in bound. A warp that sees the new threshold sees the limit that belongs to it.
        ctx.store(&shared_->threshold, now, order::release, scope::block);
    }

    /// Threshold as the block knows it. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t bound(Ctx& ctx) const {
        return ctx.load(&shared_->threshold, order::acquire, scope::block);
    }
    /// Far places before this one are to be looked through. The whole warp, together.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t far_limit(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] { return ctx.load(&shared_->far_limit, order::relaxed, scope::block); });
    }

    /// Notes the key of work that goes back into the far queue. Any lane.
    template <class Ctx>
    LANEWAY_FN void put_off(Ctx& ctx, std::uint64_t key) const {
        // Most keys are not the least so far, and a look costs less than an update.
        if (key < ctx.load(&shared_->least, order::relaxed, scope::block)) {
            ctx.fetch_min(&shared_->least, key, order::relaxed, scope::block);
        }
    }

    /// Counts what the lanes of a warp have taken from the far queue and, of that, put back. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, lane_mask taken, lane_mask kept) const {
        if (ctx.lane() != 0) return;
        const auto n = static_cast<std::uint64_t>(Ctx::count_lanes(kept));
        if (n != 0) ctx.fetch_add(&counters_.far_kept, n, order::relaxed, scope::device);
        ctx.fetch_add(&counters_.far_taken, static_cast<std::uint64_t>(Ctx::count_lanes(taken)), order::relaxed,
                      scope::device);
    }

    /// Adds a block's finished work, and how far it is with the PE's threshold. One lane of the control warp, which
    /// acquires what it has read when it has read all blocks (see acquired): else each block's answers would be waited
    /// for before the next one is asked.
    template <class Ctx>
    static LANEWAY_FN void add(Ctx& ctx, const threshold_counters& block, std::uint64_t threshold, keyed_reply& sum) {
        sum.completed += ctx.load(&block.completed, order::relaxed, scope::device);
        const std::uint64_t taken = ctx.load(&block.far_taken, order::relaxed, scope::device);
        sum.deferred -= taken;  // of the far pushes that are added afterwards
        sum.kept += ctx.load(&block.far_kept, order::relaxed, scope::device);
        sum.active += ctx.load(&block.scanned, order::relaxed, scope::device) != threshold ? 1 : 0;
        const std::uint64_t least = ctx.load(&block.least, order::relaxed, scope::device);
        sum.least = least < sum.least ? least : sum.least;
    }
    /// What the work created that add has found to be finished is counted behind this. Partner: the release add in
    /// done_work::publish.
    template <class Ctx>
    static LANEWAY_FN void acquired(Ctx& ctx) {
        ctx.fence(order::acquire, scope::device);
    }

private:
    const std::uint64_t* threshold_;
    threshold_counters& counters_;
    threshold_shared* shared_;
};

}  // namespace laneway

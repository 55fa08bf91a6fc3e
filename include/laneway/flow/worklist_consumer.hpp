// The consuming side of a priority worklist: what the warps of one working block do with their rings.
#pragma once

#include "laneway/flow/priority_worklist.hpp"

namespace laneway {

/// One lane's access to its block's rings.
template <class Key>
class worklist_consumer {
public:
    using word = worklist_word<Key>;

    /// What a lane took from the rings.
    struct taken {
        bool popped = false;  ///< a place was emptied; it counts as completed when the lane is done with it
        bool active = false;  ///< `id` is to be worked on with `key`
        std::uint32_t id = 0;
        Key key = 0;
    };

    /// `ring`: the block's number among the working blocks; `shared`: in the block's shared memory.
    LANEWAY_FN worklist_consumer(const priority_worklist_ref<Key>& list, std::uint32_t ring, worklist_shared* shared)
        : list_(list), near_(list.near(ring)), far_(list.far(ring)), block_(list.blocks[ring]), shared_(shared) {}

    /// One lane of the block, before use; a block barrier must follow. The threshold starts as it is, so that no id is
    /// put off for a look that came too early; where it has risen since the start, what was put off until then is
    /// looked at.
    template <class Ctx>
    LANEWAY_FN void open(Ctx& ctx) {
        const std::uint64_t threshold = list_.current_threshold(ctx);
        *shared_ = worklist_shared{0, 0, far_.pushes(ctx), threshold, 0};
    }

    /// Looks whether the threshold has risen; then the far ring is to be looked through up to its present end. Tells
    /// the control warp when that is done. One lane of the block at a time.
    template <class Ctx>
    LANEWAY_FN void refresh(Ctx& ctx) {
        const std::uint64_t seen = ctx.load(&shared_->threshold, order::relaxed, scope::block);
        const std::uint64_t limit = ctx.load(&shared_->far_limit, order::relaxed, scope::block);
        if (ctx.load(&shared_->far_head, order::relaxed, scope::block) >= limit &&
            seen != ctx.load(&block_.scanned, order::relaxed, scope::device)) {
            // All advisory, as they only steer the threshold. Other warps may still have some places in hand.
            const bool all_known = ctx.load(&block_.far_taken, order::relaxed, scope::device) >= limit;
            const std::uint64_t least = ctx.load(&shared_->least, order::relaxed, scope::block);
            ctx.store(&block_.least, all_known ? least : 0, order::relaxed, scope::device);
            ctx.store(&block_.scanned, seen, order::relaxed, scope::device);
        }
        const std::uint64_t now = list_.current_threshold(ctx);
        if (now == seen) return;
        ctx.store(&shared_->least, ~std::uint64_t{0}, order::relaxed, scope::block);
        ctx.store(&shared_->far_limit, far_.pushes(ctx), order::relaxed, scope::block);
        // Partner: the acquire load in bound. A warp that sees the new threshold sees the limit that belongs to it.
        ctx.store(&shared_->threshold, now, order::release, scope::block);
    }

    /// Threshold as the block knows it.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t bound(Ctx& ctx) const {
        return ctx.load(&shared_->threshold, order::acquire, scope::block);
    }

    /// Takes work for the lanes of a warp, all together: near ids first, then far ids that are to be looked through.
    /// `prefetch(id)` runs before the id's word is asked for, so that both answers travel at the same time.
    template <class Ctx, class Prefetch>
    LANEWAY_FN taken take(Ctx& ctx, std::uint64_t bound, Prefetch&& prefetch) {
        taken mine;
        mine.popped = near_.pop(ctx, &shared_->near_head, mine.id);
        if (mine.popped) {
            prefetch(mine.id);
            const Key old =
                ctx.fetch_or(list_.words + mine.id, word::away_near | word::claimed, order::relaxed, scope::device);
            mine.active = (old & word::claimed) == 0;
            mine.key = old >> word::state_bits;
        }
        if (ctx.ballot(full_warp<Ctx>, mine.popped) != 0) return mine;
        return take_far(ctx, bound, prefetch);
    }

private:
    template <class Ctx, class Prefetch>
    LANEWAY_FN taken take_far(Ctx& ctx, std::uint64_t bound, Prefetch&& prefetch) {
        taken mine;
        const std::uint64_t limit =
            once(ctx, full_warp<Ctx>, [&] { return ctx.load(&shared_->far_limit, order::relaxed, scope::block); });
        mine.popped = far_.pop(ctx, &shared_->far_head, mine.id, limit);
        const lane_mask popped = ctx.ballot(full_warp<Ctx>, mine.popped);
        if (popped == 0) return mine;
        bool kept = false;
        if (mine.popped) {
            prefetch(mine.id);
            kept = sort_far(ctx, mine, bound);
        }
        const lane_mask back = ctx.ballot(full_warp<Ctx>, kept);
        if (ctx.lane() == 0) {
            const auto n = static_cast<std::uint64_t>(Ctx::count_lanes(back));
            if (n != 0) ctx.fetch_add(&block_.far_kept, n, order::relaxed, scope::device);
            ctx.fetch_add(&block_.far_taken, static_cast<std::uint64_t>(Ctx::count_lanes(popped)), order::relaxed,
                          scope::device);
        }
        return mine;
    }

    /// Decides what becomes of an id taken from the far ring: worked on, dropped as stale, or back into the ring, which
    /// it returns.
    template <class Ctx>
    LANEWAY_FN bool sort_far(Ctx& ctx, taken& mine, std::uint64_t bound) {
        Key seen = ctx.load(list_.words + mine.id, order::relaxed, scope::device);
        Key next;
        do {
            const bool stale = (seen & word::claimed) != 0 || (seen & word::away_near) == 0;
            if (!stale && (seen >> word::state_bits) >= bound) {
                const std::uint64_t key = seen >> word::state_bits;
                // Most keys are not the least so far, and a look costs less than an update.
                if (key < ctx.load(&shared_->least, order::relaxed, scope::block)) {
                    ctx.fetch_min(&shared_->least, key, order::relaxed, scope::block);
                }
                (void)far_.push(ctx, mine.id);  // fails only as the run ends; its word says that it stands there
                return true;
            }
            mine.active = !stale;
            next = seen | word::away_far | (mine.active ? word::claimed : Key{0});
        } while (!ctx.compare_exchange(list_.words + mine.id, seen, next, order::relaxed, scope::device));
        mine.key = seen >> word::state_bits;
        return false;
    }

    const priority_worklist_ref<Key>& list_;
    id_ring_ref near_;
    id_ring_ref far_;
    worklist_block& block_;
    worklist_shared* shared_;
};

}  // namespace laneway

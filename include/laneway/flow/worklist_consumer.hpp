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
        : list_(list), words_(list.blocks[ring]), near_(list.near(ring)), far_(list.far(ring)), shared_(shared),
          scan_(list.threshold, list.blocks[ring], &shared->threshold) {}

    /// One lane of the block, before use; a block barrier must follow. See threshold_scan.
    template <class Ctx>
    LANEWAY_FN void open(Ctx& ctx) {
        shared_->near_head = words_.near_taken;
        shared_->far_head = words_.far_taken;
        scan_.open(ctx, list_.in_waves ? words_.far_end : far_.pushes(ctx));
    }

    /// Where the next program of a session goes on. One lane of the block, when nothing is left.
    template <class Ctx>
    LANEWAY_FN void close(Ctx& ctx) const {
        words_.near_taken = ctx.load(&shared_->near_head, order::relaxed, scope::block);
    }

    /// Looks whether the threshold has changed. One lane of the block at a time.
    template <class Ctx>
    LANEWAY_FN void refresh(Ctx& ctx) {
        if (list_.in_waves) return;
        scan_.refresh(ctx, [&] { return far_.pushes(ctx); });
    }

    /// Threshold as the block knows it.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t bound(Ctx& ctx) const {
        return scan_.bound(ctx);
    }

    /// Takes work for the lanes of a warp, all together: far ids that are to be looked through, then near ones. In the
    /// other order all that one far id leads to would be done before the next one is looked at. `prefetch(id)` runs
    /// before the id's word is asked for, so that both answers travel at the same time.
    template <class Ctx, class Prefetch>
    LANEWAY_FN taken take(Ctx& ctx, std::uint64_t bound, Prefetch&& prefetch) {
        taken mine = take_far(ctx, bound, prefetch);
        if (ctx.ballot(full_warp<Ctx>, mine.popped) != 0) return mine;
        const std::uint64_t end = list_.in_waves ? words_.near_end : ~std::uint64_t{0};
        mine.popped = near_.pop(ctx, &shared_->near_head, mine.id, end, order::relaxed);
        if (mine.popped) {
            prefetch(mine.id);
            const Key old =
                ctx.fetch_or(list_.words + mine.id, word::away_near | word::claimed, order::relaxed, scope::device);
            mine.active = (old & word::claimed) == 0;
            mine.key = old >> word::state_bits;
        }
        return mine;
    }

    /// Notes that a key does not fit, for the host after the run. Any lane.
    template <class Ctx>
    LANEWAY_FN void note_overflow(Ctx& ctx) const {
        ctx.store(&words_.overflowed, 1u, order::relaxed, scope::device);
    }

private:
    template <class Ctx, class Prefetch>
    LANEWAY_FN taken take_far(Ctx& ctx, std::uint64_t bound, Prefetch&& prefetch) {
        taken mine;
        mine.popped = far_.pop(ctx, &shared_->far_head, mine.id, scan_.far_limit(ctx), order::relaxed);
        const lane_mask popped = ctx.ballot(full_warp<Ctx>, mine.popped);
        if (popped == 0) return mine;
        bool kept = false;
        if (mine.popped) {
            prefetch(mine.id);
            kept = sort_far(ctx, mine, bound);
        }
        scan_.count(ctx, popped, ctx.ballot(full_warp<Ctx>, kept));
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
                scan_.put_off(ctx, seen >> word::state_bits);
                if (list_.in_waves) list_.note_least(ctx, words_, seen >> word::state_bits);
                (void)far_.push(ctx, mine.id,
                                order::relaxed);  // fails only as the run ends; its word says that it stands there
                return true;
            }
            mine.active = !stale;
            next = seen | word::away_far | (mine.active ? word::claimed : Key{0});
        } while (!ctx.compare_exchange(list_.words + mine.id, seen, next, order::relaxed, scope::device));
        mine.key = seen >> word::state_bits;
        return false;
    }

    const priority_worklist_ref<Key>& list_;
    worklist_block& words_;
    id_ring_ref near_;
    id_ring_ref far_;
    worklist_shared* shared_;
    threshold_scan scan_;
};

}  // namespace laneway

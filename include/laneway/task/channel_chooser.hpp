// Which queue of a shard a warp should serve, or have others serve, next.
#pragma once

#include "laneway/task/channel_set_ref.hpp"

namespace laneway {

/// One lane's; members that take a context are called by whole warps. `View`: channel_graph_ref.
template <class Ctx, class View>
class channel_chooser {
public:
    struct choice {
        bool exists;
        bool fills_warp;
        std::uint32_t queue;
    };

    LANEWAY_FN explicit channel_chooser(const View& view) : view_(view) {}

    /// The queue of a shard that is to be served next, of those whose flag is raised, or of all. The whole warp; each
    /// lane looks at other queues.
    [[nodiscard]] LANEWAY_FN choice choose(Ctx& ctx, std::uint32_t shard, bool all, unsigned turn) {
        const channel_set_ref& set = view_.set;
        std::uint64_t best = 0;
        for (std::uint32_t first = 0; first < set.queues_a_shard; first += 32) {
            std::uint32_t open = lane_bits(ctx);
            if (set.queues_a_shard - first < 32) open &= (std::uint32_t{1} << (set.queues_a_shard - first)) - 1;
            if (!all) {
                open &= ctx.load(set.flags + shard * set.flags_a_shard() + first / 32, order::relaxed, scope::device);
            }
            for (; open != 0; open &= open - 1) {
                const std::uint32_t q = first + static_cast<std::uint32_t>(Ctx::first_lane(open));
                const std::uint64_t mine = rank(ctx, shard, q, turn);
                if (all && mine != 0) set.raise_flag(ctx, shard * set.queues_a_shard + q);
                if (!all && mine == 0) set.lower_flag(ctx, shard, q);
                if (mine > best) best = mine;
            }
        }
        for (int distance = Ctx::warp_lanes / 2; distance > 0; distance /= 2) {
            const std::uint64_t other = ctx.shuffle(full_warp<Ctx>, best, ctx.lane() ^ distance);
            if (other > best) best = other;
        }
        return {best != 0, (best & channel_rank_fills) != 0,
                shard * set.queues_a_shard + static_cast<std::uint32_t>(best % channel_rank_queues)};
    }

    /// How dispatches went.
    [[nodiscard]] LANEWAY_FN dispatch_history& history() { return history_; }
    [[nodiscard]] LANEWAY_FN const dispatch_history& history() const { return history_; }
    /// This lane has seen so many ready elements in one queue.
    LANEWAY_FN void note_ready(std::uint64_t elements) {
        if (elements > peak_) peak_ = elements;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t peak() const { return peak_; }

private:
    /// Which of 32 queues the lane looks at.
    static LANEWAY_FN std::uint32_t lane_bits(const Ctx& ctx) {
        std::uint32_t bits = 0;
        for (int b = ctx.lane(); b < 32; b += Ctx::warp_lanes) bits |= std::uint32_t{1} << b;
        return bits;
    }
    /// What speaks for a queue, above its number; 0: nothing.
    LANEWAY_FN std::uint64_t rank(Ctx& ctx, std::uint32_t shard, std::uint32_t q, unsigned turn) {
        const channel_set_ref& set = view_.set;
        const channel_words& words = set.words[shard * set.queues_a_shard + q];
        const std::uint64_t dispatched = ctx.load(&words.dispatched, order::relaxed, scope::device);
        const std::uint64_t ready = ctx.load(&words.ready, order::relaxed, scope::device);
        if (ready == dispatched) return 0;
        const std::uint32_t c = set.channel_of(q);
        const channel_load load = set.load(c, q, ready - dispatched);
        note_ready(load.ready);
        // Where a policy says "not now" its flag goes, and the next look at all queues asks again.
        return channel_rank(view_.policy, load, set.channels[c].at_least, q, set.queues_a_shard, history_, turn);
    }

    const View& view_;
    dispatch_history history_;
    std::uint64_t peak_ = 0;  ///< most ready elements that this lane has seen
};

}  // namespace laneway

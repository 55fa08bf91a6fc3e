// Where a warp finds elements that any warp may run: in the queue that it has produced into or served, in its shard, or
// in another one.
#pragma once

#include "laneway/task/channel_warp.hpp"

namespace laneway {

/// A queue that is to be served. `next`: what the warp has seen of it, as channel_queue_ref::claim says.
struct found_queue {
    std::uint32_t number = channel_node::no_queue;
    std::uint64_t next = channel_queue_ref::unseen;
};

/// One lane's. All members are called by whole warps.
template <class Ctx, class Out, class View>
class channel_search {
public:
    using warp_type = channel_warp<Ctx, Out, View>;

    LANEWAY_FN explicit channel_search(std::uint32_t own) : victim_(own) {}

    /// The queue that the last dispatch has produced into, or the one that it has served, if that fills a warp, or has
    /// an element that takes a block; none.
    LANEWAY_FN found_queue follow(Ctx& ctx, warp_type& warp) {
        if constexpr (!follows<decltype(View::policy)>) return {};
        if (warp.is_stuck() || warp.turn % warp.view.set.min_age == 0) return {};
        const std::uint32_t recent[] = {warp.filled, warp.served};  // nvcc cannot compile this list inside the loop
        for (const std::uint32_t queue : recent) {
            if (queue == none) continue;
            const std::uint32_t enough = warp.layout_of(queue).takes_block != 0 ? 1 : lanes;
            const std::uint64_t next = once(ctx, full_warp<Ctx>, [&] {
                const channel_queue_ref::queue_view seen = warp.view.set.queue(queue).look(ctx);
                warp.chooser.note_ready(ctx, queue, seen.ready);
                return seen.ready >= enough ? seen.next : channel_queue_ref::unseen;
            });
            if (next != channel_queue_ref::unseen) return {queue, next};
        }
        warp.filled = warp.served = none;
        return {};
    }

    /// The queue that is to be served next; none.
    LANEWAY_FN std::uint32_t choose(Ctx& ctx, warp_type& warp, unsigned idle_turns) {
        // Also of a warp without work, to which others give: a flag may be lost just then.
        if (warp.turn % turns_to_correct == 0 || idle_turns % turns_to_doubt == turns_to_doubt / 2) {
            warp.chooser.correct_flags(ctx, warp.own, words_to_correct);
        }
        const auto mine = warp.chooser.choose(ctx, warp.own, warp.turn);
        if (mine.exists && mine.is_due) return mine.queue;
        // What others give to this warp comes to its own shard.
        if (View::keeps && idle_turns % turns_to_search != 0 && !warp.is_stuck()) {
            return mine.exists ? mine.queue : none;
        }
        if (find_victim(ctx, warp.view.set)) {
            const auto other = warp.chooser.choose(ctx, victim_, warp.turn);
            if (other.exists && (other.is_due || !mine.exists)) return other.queue;
        }
        if (mine.exists) return mine.queue;
        if (idle_turns % turns_to_doubt != 0) return none;
        warp.chooser.correct_flags(ctx, victim_, warp.view.set.flags_a_shard());
        const auto any = warp.chooser.choose(ctx, victim_, warp.turn);
        return any.exists ? any.queue : none;
    }

private:
    static constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    static constexpr std::uint32_t none = channel_node::no_queue;
    static constexpr unsigned turns_to_correct = 64;      ///< flags of the own shard, of which some are lost
    static constexpr std::uint32_t words_to_correct = 8;  ///< so many words of them
    static constexpr unsigned turns_to_search = 4;        ///< without work, between looks at other shards
    static constexpr unsigned turns_to_doubt = 8;         ///< without work, between looks at all queues of a shard

    /// Makes the next shard that seems to hold ready elements the victim; false, and just the next one: there is none.
    LANEWAY_FN bool find_victim(Ctx& ctx, const channel_set_ref& set) {
        const std::uint32_t words = set.flags_a_shard(), all = set.n_shards * words;
        const std::uint32_t next = victim_ + 1 < set.n_shards ? victim_ + 1 : 0;
        constexpr std::uint64_t nothing = ~std::uint64_t{0};
        std::uint64_t best = nothing;
        // Blocks have a thousand shards: what a lane looks at comes in few trips.
        constexpr std::uint32_t at_once = 8;
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < all && best == nothing; i += at_once * lanes) {
            std::uint32_t seen[at_once];
            LANEWAY_UNROLLED
            for (std::uint32_t j = 0; j < at_once; ++j) {
                const std::uint32_t at = next * words + i + j * lanes;
                const bool is_in = i + j * lanes < all;
                seen[j] = is_in ? ctx.load(set.flags + (at < all ? at : at - all), order::relaxed, scope::device) : 0;
            }
            LANEWAY_UNROLLED
            for (std::uint32_t j = at_once; j-- > 0;) {
                if (seen[j] != 0) best = i + j * lanes;
            }
        }
        best = warp_min(ctx, best);
        victim_ = best == nothing ? next : (next + static_cast<std::uint32_t>(best) / words) % set.n_shards;
        return best != nothing;
    }

    std::uint32_t victim_;  ///< the other shard that was looked at last
};

}  // namespace laneway

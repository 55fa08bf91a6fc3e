// Which queue of a shard a warp should serve, or have others serve, next.
//
// A deep recursion has thousands of queues in a shard, and some elements in many of them. To rank all of them for each
// dispatch would take longer than the dispatch. So a warp goes through each channel from its deepest level on, and
// ranks so many queues of it at most.
#pragma once

#include "laneway/task/channel_set_ref.hpp"

namespace laneway {

/// One lane's; members that take a context are called by whole warps. `View`: channel_graph_ref.
template <class Ctx, class View>
class channel_chooser {
public:
    /// Queues of a channel that a warp ranks for a choice, of those that hold something: the deepest. Each lane ranks
    /// its part of them, of every 32nd queue.
    static constexpr std::uint32_t max_ranked = 128;

    struct choice {
        bool exists;
        bool is_due;  ///< it is worth a dispatch while there may be other work
        std::uint32_t queue;
    };

    LANEWAY_FN explicit channel_chooser(const View& view) : view_(view) {}

    /// The queue of a shard that is to be served next, of those whose flag is raised. The whole warp; each lane looks
    /// at other queues.
    [[nodiscard]] LANEWAY_FN choice choose(Ctx& ctx, std::uint32_t shard, unsigned turn) {
        const unsigned stuck = history_.stuck;
        std::uint64_t best = 0;
        if (stuck != 0 && stuck % 2 == 0) {
            best = first_in_turn(ctx, shard, turn);
        } else {
            // Where nothing finds space only the deepest queue counts, and by age each.
            const bool is_age_turn = turn % view_.set.min_age == 0;
            const std::uint32_t enough = stuck != 0    ? 1
                                         : is_age_turn ? ~std::uint32_t{0}
                                                       : max_ranked / Ctx::warp_lanes;
            for (std::uint32_t c = 0; c < view_.set.n_channels; ++c) {
                const std::uint64_t mine = best_of(ctx, shard, c, enough, turn);
                if (mine > best) best = mine;
            }
        }
        for (int distance = Ctx::warp_lanes / 2; distance > 0; distance /= 2) {
            const std::uint64_t other = ctx.shuffle(full_warp<Ctx>, best, ctx.lane() ^ distance);
            if (other > best) best = other;
        }
        history_.note_choice(best);
        return {best != 0, (best & channel_rank_due) != 0,
                shard * view_.set.queues_a_shard + static_cast<std::uint32_t>(best % channel_rank_queues)};
    }
    /// Raises flags that are down although their queues hold something, as flags are hints: those in the next so many
    /// words of a shard's. The whole warp.
    LANEWAY_FN void correct_flags(Ctx& ctx, std::uint32_t shard, std::uint32_t words) {
        const channel_set_ref& set = view_.set;
        for (std::uint32_t i = 0; i < words && i < set.flags_a_shard(); ++i) {
            corrected_ = corrected_ + 1 < set.flags_a_shard() ? corrected_ + 1 : 0;
            const std::uint32_t first = shard * set.queues_a_shard + 32 * corrected_;
            std::uint32_t open = lane_bits(ctx) & set.bits_between(corrected_, 0, set.queues_a_shard);
            for (; open != 0; open &= open - 1) {
                const std::uint32_t q = first + static_cast<std::uint32_t>(Ctx::first_lane(open));
                if (ready_in(ctx, set.words[q]).count != 0) set.raise_flag(ctx, q);
            }
        }
        ctx.sync(full_warp<Ctx>);
    }

    /// The shallowest level of a channel whose flag is raised and that holds so many elements; ~0: none. Each lane
    /// looks at other queues.
    [[nodiscard]] LANEWAY_FN std::uint32_t shallowest_of(Ctx& ctx, std::uint32_t shard, std::uint32_t channel,
                                                         std::uint32_t least) const {
        const channel_set_ref& set = view_.set;
        const std::uint32_t first = set.channels[channel].first_queue, end = first + set.channels[channel].levels;
        for (std::uint32_t word = first / 32; word < (end + 31) / 32; ++word) {
            std::uint32_t open = raised(ctx, shard, word) & set.bits_between(word, first, end);
            for (; open != 0; open &= open - 1) {
                const std::uint32_t q = 32 * word + static_cast<std::uint32_t>(Ctx::first_lane(open));
                if (ready_in(ctx, set.words[shard * set.queues_a_shard + q]).count >= least) return q - first;
            }
        }
        return ~std::uint32_t{0};
    }

    /// The lane has seen so many ready elements in a queue of the PE. It remembers what it has noted of the last one,
    /// or of the same queue of another shard, as they are counted together: so hardly any look costs a memory
    /// operation.
    LANEWAY_FN void note_ready(Ctx& ctx, std::uint32_t of_pe, std::uint32_t ready) {
        const std::uint32_t inside = of_pe % view_.set.queues_a_shard;
        if (inside == noted_ && ready <= peak_) return;
        noted_ = inside;
        peak_ = ready;
        view_.set.note_ready(ctx, of_pe, ready);
    }

    /// How dispatches went.
    [[nodiscard]] LANEWAY_FN dispatch_history& history() { return history_; }
    [[nodiscard]] LANEWAY_FN const dispatch_history& history() const { return history_; }

private:
    /// Which of 32 queues the lane looks at.
    static LANEWAY_FN std::uint32_t lane_bits(const Ctx& ctx) {
        static_assert(32 % Ctx::warp_lanes == 0);
        constexpr std::uint64_t of_first = 0xffffffffull / ((std::uint64_t{1} << Ctx::warp_lanes) - 1);
        return static_cast<std::uint32_t>(of_first) << ctx.lane();
    }
    /// The queues of one word of flags whose flag is raised, of those that this lane looks at.
    LANEWAY_FN std::uint32_t raised(Ctx& ctx, std::uint32_t shard, std::uint32_t word) const {
        const channel_set_ref& set = view_.set;
        return lane_bits(ctx) & ctx.load(set.flags + shard * set.flags_a_shard() + word, order::relaxed, scope::device);
    }

    /// The highest rank of a channel's queues, of the deepest that hold something: `enough` of them, or a few more.
    LANEWAY_FN std::uint64_t best_of(Ctx& ctx, std::uint32_t shard, std::uint32_t channel, std::uint32_t enough,
                                     unsigned turn) {
        const std::uint32_t first = view_.set.channels[channel].first_queue;
        const std::uint32_t end = first + view_.set.channels[channel].levels;
        std::uint64_t best = 0;
        std::uint32_t ranked = 0;
        for (std::uint32_t word = (end + 31) / 32; word-- > first / 32 && ranked < enough;) {
            std::uint32_t open = raised(ctx, shard, word) & view_.set.bits_between(word, first, end);
            for (; open != 0; open &= open - 1) {
                const std::uint32_t q = 32 * word + static_cast<std::uint32_t>(Ctx::first_lane(open));
                const std::uint64_t mine = rank(ctx, shard, channel, q, turn);
                if (mine > best) best = mine;
                if (mine != 0) ++ranked;
            }
        }
        return best;
    }
    /// The rank of the next queue in turn that holds something, whatever its channel.
    LANEWAY_FN std::uint64_t first_in_turn(Ctx& ctx, std::uint32_t shard, unsigned turn) {
        const channel_set_ref& set = view_.set;
        const std::uint32_t begin = channel_turn_of(history_, turn, set.queues_a_shard);
        std::uint64_t best = 0;
        // The word that it begins in comes last as well, for the queues before it.
        for (std::uint32_t i = 0; i <= set.flags_a_shard() && best == 0; ++i) {
            const std::uint32_t word = (begin / 32 + i) % set.flags_a_shard();
            std::uint32_t open = raised(ctx, shard, word);
            if (i == 0) open &= set.bits_between(word, begin, set.queues_a_shard);
            for (; open != 0; open &= open - 1) {
                const std::uint32_t q = 32 * word + static_cast<std::uint32_t>(Ctx::first_lane(open));
                const std::uint64_t mine = rank(ctx, shard, set.channel_of(q), q, turn);
                if (mine > best) best = mine;
            }
        }
        return best;
    }
    /// The queue's word of a choice, see channel_rank_queues.
    LANEWAY_FN std::uint64_t rank(Ctx& ctx, std::uint32_t shard, std::uint32_t channel, std::uint32_t q,
                                  unsigned turn) {
        const channel_set_ref& set = view_.set;
        const std::uint64_t ready = ready_in(ctx, set.words[shard * set.queues_a_shard + q]).count;
        std::uint64_t found = 0;
        if (ready != 0) {
            const channel_load load = set.load(channel, q, ready);
            note_ready(ctx, shard * set.queues_a_shard + q, load.ready);
            found = channel_rank(view_.policy, load, set.channels[channel].rule, q, set.queues_a_shard, history_, turn);
        }
        // Where a policy says "not now" the flag goes as well, and the next look at all queues asks again.
        if (found == 0) set.lower_flag(ctx, shard, q);
        return found;
    }

    const View& view_;
    dispatch_history history_;
    std::uint32_t corrected_ = 0;  ///< word of flags that was corrected last
    std::uint32_t noted_ = ~std::uint32_t{0};
    std::uint32_t peak_ = 0;
};

}  // namespace laneway

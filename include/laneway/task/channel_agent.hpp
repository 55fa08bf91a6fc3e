// What a warp does for the channels of a graph: it looks which queue to serve, claims elements, one for each lane, and
// runs the kernel that consumes them. Each warp is its own aggregator, so no dispatch goes through another one.
#pragma once

#include "laneway/comm/roles.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/channel_board.hpp"
#include "laneway/task/channel_moving.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// Members are called as component.hpp says; a body's lanes call talloc and enq.
template <class Ctx, class Out, class View>
class channel_agent {
public:
    static constexpr bool polls = true;

    struct choice {
        bool exists;
        bool fills_warp;
        std::uint32_t queue;
    };

    LANEWAY_FN channel_agent(const View& view, Out& out, const roles& mine)
        : view_(view), out_(out), own_(static_cast<std::uint32_t>(mine.team_number) % view.set.n_shards), victim_(own_),
          of_body_(view.set, own_, ~std::uint32_t{0}) {}

    /// As channel_node's, for the first level of a channel. Does not wait: a body that finds no space does something
    /// else, or returns.
    template <class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc(Ctx& ctx, channel<T> to, std::uint32_t count = 1) {
        return of_body_.talloc(ctx, to, count);
    }
    template <class T>
    LANEWAY_FN void enq(Ctx& ctx, const reserved_elements<T>& elements) {
        of_body_.enq(ctx, elements);
    }

    LANEWAY_FN void enq_place(Ctx& ctx, std::uint32_t queue, std::uint32_t place) {
        of_body_.enq_place(ctx, queue, place);
    }

    LANEWAY_FN void open(Ctx&) const {}
    LANEWAY_FN void refresh(Ctx&) const {}
    LANEWAY_FN bool poll(Ctx& ctx) {
        ++turn_;
        if constexpr (View::moves) {
            if (turn_ % turns_to_give == 0 && ctx.n_pes() > 1) give(ctx);
            if (!serve(ctx)) {
                if (++idle_turns_ % turns_to_ask == 0 && ctx.n_pes() > 1 && ctx.lane() == 0) view_.moving.ask(ctx);
                return false;
            }
            idle_turns_ = 0;
            return true;
        } else {
            return serve(ctx);
        }
    }
    LANEWAY_FN void close(Ctx& ctx) {
        std::uint64_t sums[] = {stalls_ + of_body_.stalls(), yields_, items_, moved_};
        warp_sums(ctx, sums);
        const std::uint64_t least = warp_min(ctx, ~peak_);
        out_.count_items(ctx, ctx.lane() == 0 ? sums[2] : 0);
        if (ctx.lane() != 0) return;
        channel_totals& totals = *view_.set.totals;
        ctx.fetch_add(&totals.dispatches, dispatches_, order::relaxed, scope::device);
        ctx.fetch_add(&totals.full_dispatches, full_, order::relaxed, scope::device);
        ctx.fetch_add(&totals.stalls, sums[0], order::relaxed, scope::device);
        ctx.fetch_add(&totals.yields, sums[1], order::relaxed, scope::device);
        ctx.fetch_add(&totals.moved, sums[3], order::relaxed, scope::device);
        ctx.fetch_max(&totals.peak, ~least, order::relaxed, scope::device);
    }

    // For one that decides for others, or follows orders: see channel_ordered_agent.hpp.

    /// The queue of a shard that should be served next, of those whose flag is raised, or of all. The whole warp.
    [[nodiscard]] LANEWAY_FN choice choose_next(Ctx& ctx, std::uint32_t shard, bool all) {
        ++turn_;
        return choose(ctx, shard, all);
    }
    [[nodiscard]] LANEWAY_FN dispatch_history& history() { return history_; }
    /// Runs the elements of one queue, one for each lane. The whole warp; false where others were faster.
    LANEWAY_FN bool dispatch(Ctx& ctx, std::uint32_t number) {
        const channel_queue_ref queue = view_.set.queue(number);
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, static_cast<std::uint32_t>(Ctx::warp_lanes), place);
        if (count == 0) return false;
        const std::uint32_t inside = number % view_.set.queues_a_shard;
        const channel_layout& layout = view_.set.channels[view_.set.channel_of(inside)];
        const bool mine = ctx.lane() < count;
        std::byte* element = queue.element(place);
        std::uint32_t level = inside - layout.first_queue;
        moved_header moved{};
        if (View::moves && layout.is_arrivals != 0) {
            if (mine) moved = *reinterpret_cast<const moved_header*>(element);
            level = moved.level;
            element += sizeof(moved_header);
        }
        // What is first in its queue keeps all behind it from being freed: in a cycle of channels it might wait for
        // them.
        const bool is_first = history_.stuck != 0 && mine && queue.is_first(ctx, place);
        channel_node node(view_.set, own_, level, is_first ? number : none);
        outcome out = outcome::done;
        if (mine) {
            come_behind(ctx, queue.element(place));
            out = consume(ctx, layout.consumer, element, node);
        }
        ctx.sync(full_warp<Ctx>);
        const lane_mask yielded = ctx.ballot(full_warp<Ctx>, mine && out == outcome::yield);
        const lane_mask done = ctx.ballot(full_warp<Ctx>, mine && out == outcome::done);
        if (mine && out == outcome::done) {
            (void)queue.release(ctx, done, place);
            if constexpr (View::moves) {
                if (moved.count != 0) view_.moving.note_freed(ctx, moved.source, moved.count);
            }
        }
        if (mine && out == outcome::yield) {
            go_before(ctx, queue.element(place));
            queue.publish_place(ctx, yielded, place);
            if (elected(ctx, yielded)) view_.set.raise_flag(ctx, number);
        }
        note(ctx, number, node, count, done, yielded);
        ctx.sync(full_warp<Ctx>);
        // An element that was put back has been counted once more by then.
        if (ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(count));
        if (++sends_ % 16 == 0) (void)out_.flush_old(ctx);
        return true;
    }

private:
    static constexpr unsigned max_age = 64;  ///< turns of a warp that part of a warp's elements may wait for
    static constexpr unsigned turns_to_give = 8, turns_to_ask = 16;
    static constexpr std::uint32_t none = channel_node::no_queue;

    /// Runs what is to run next; false where nothing was found.
    LANEWAY_FN bool serve(Ctx& ctx) {
        if (follow(ctx)) return true;
        const bool looks_at_all = turn_ % max_age == 0;
        const choice mine = choose(ctx, own_, looks_at_all);
        // A part of a warp runs when nothing else can, and now and then, so that it need not wait for that.
        if (mine.exists && (mine.fills_warp || looks_at_all)) return dispatch(ctx, mine.queue);
        const choice other = choose(ctx, next_victim(), false);
        if (other.exists && other.fills_warp) return dispatch(ctx, other.queue);
        if (mine.exists) return dispatch(ctx, mine.queue);
        if (other.exists) return dispatch(ctx, other.queue);
        const choice any = choose(ctx, victim_, true);
        return any.exists && dispatch(ctx, any.queue);
    }

    /// The queue of a shard that is to be served next, of those whose flag is raised, or of all. The whole warp; each
    /// lane looks at other queues.
    LANEWAY_FN choice choose(Ctx& ctx, std::uint32_t shard, bool all) {
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
                const std::uint64_t mine = rank(ctx, shard, q);
                if (all && mine != 0) set.raise_flag(ctx, shard * set.queues_a_shard + q);
                if (!all && mine == 0) set.lower_flag(ctx, shard, q);
                if (mine > best) best = mine;
            }
        }
        for (int distance = Ctx::warp_lanes / 2; distance > 0; distance /= 2) {
            const std::uint64_t other = ctx.shuffle(full_warp<Ctx>, best, ctx.lane() ^ distance);
            if (other > best) best = other;
        }
        return {best != 0, (best & fills) != 0, shard * set.queues_a_shard + static_cast<std::uint32_t>(best % queues)};
    }
    /// Which of 32 queues the lane looks at.
    static LANEWAY_FN std::uint32_t lane_bits(const Ctx& ctx) {
        std::uint32_t bits = 0;
        for (int b = ctx.lane(); b < 32; b += Ctx::warp_lanes) bits |= std::uint32_t{1} << b;
        return bits;
    }
    /// What speaks for a queue, above its number; 0: nothing.
    LANEWAY_FN std::uint64_t rank(Ctx& ctx, std::uint32_t shard, std::uint32_t q) {
        const channel_set_ref& set = view_.set;
        const channel_words& words = set.words[shard * set.queues_a_shard + q];
        const std::uint64_t dispatched = ctx.load(&words.dispatched, order::relaxed, scope::device);
        const std::uint64_t ready = ctx.load(&words.ready, order::relaxed, scope::device);
        if (ready == dispatched) return 0;
        const std::uint32_t c = set.channel_of(q);
        const channel_load load = set.load(c, q, ready - dispatched);
        if (load.ready > peak_) peak_ = load.ready;
        // Where a policy says "not now" its flag goes, and the next look at all queues asks again.
        return channel_rank(view_.policy, load, set.channels[c].at_least, q, set.queues_a_shard, history_, turn_);
    }

    /// Goes on with what the last dispatch has produced, or with the rest of its own queue.
    LANEWAY_FN bool follow(Ctx& ctx) {
        if constexpr (!follows<decltype(view_.policy)>) return false;
        if (history_.stuck != 0 || turn_ % max_age == 0) return false;
        for (const std::uint32_t queue : {filled_, served_}) {
            if (queue == none) continue;
            const bool fills_warp = once(ctx, full_warp<Ctx>, [&] {
                                        const auto all = static_cast<std::uint32_t>(Ctx::warp_lanes);
                                        const std::uint32_t ready = view_.set.queue(queue).fill(ctx);
                                        if (ready > peak_) peak_ = ready;
                                        return std::uint32_t{ready >= all};
                                    }) != 0;
            if (fills_warp && dispatch(ctx, queue)) return true;
        }
        filled_ = served_ = none;
        return false;
    }

    LANEWAY_FN std::uint32_t next_victim() {
        victim_ = victim_ + 1 < view_.set.n_shards ? victim_ + 1 : 0;
        return victim_;
    }

    /// Keeps what the next choice and the report need.
    LANEWAY_FN void note(Ctx& ctx, std::uint32_t number, const channel_node& node, int count, lane_mask done,
                         lane_mask yielded) {
        const lane_mask producers = ctx.ballot(full_warp<Ctx>, node.filled() != none);
        const int any = producers != 0 ? Ctx::first_lane(producers) : 0;
        filled_ = ctx.shuffle(full_warp<Ctx>, node.filled(), any);
        served_ = number;
        stalls_ += node.stalls();
        history_.note(done == 0, yielded != 0);
        ++dispatches_;
        full_ += count == Ctx::warp_lanes ? 1 : 0;
        if ((yielded >> ctx.lane() & 1) != 0) ++yields_;
        if ((done >> ctx.lane() & 1) != 0) ++items_;
    }

    LANEWAY_FN outcome consume(Ctx& ctx, std::uint32_t kernel, std::byte* at, channel_node& node) {
        outcome out = outcome::done;
        view_.kernels.visit(kernel, [&]<class Kernel>(const Kernel& code) {
            auto& element = *reinterpret_cast<typename Kernel::element*>(at);
            if constexpr (std::is_void_v<decltype(code(ctx, element, node))>) {
                run_user_code(ctx, {user_code::functor}, code, ctx, element, node);
            } else {
                out = run_user_code(ctx, {user_code::functor}, code, ctx, element, node);
            }
        });
        return out;
    }

    /// Sends part of the least deep elements of this block's shard to a PE that has asked for work.
    LANEWAY_FN void give(Ctx& ctx) {
        const int pe = view_.moving.pe_that_asks(ctx);
        if (pe < 0) return;
        const std::uint32_t inside = least_deep(ctx);
        if (inside == none || !takes(ctx, pe)) return;
        const channel_queue_ref queue = view_.set.queue(own_ * view_.set.queues_a_shard + inside);
        const std::uint32_t half = once(ctx, full_warp<Ctx>, [&] { return (queue.fill(ctx) + 1) / 2; });
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, half, place);
        if (count == 0 && ctx.lane() == 0) view_.moving.leave(ctx, pe);
        ctx.sync(full_warp<Ctx>);
        if (count == 0) return;
        const channel_layout& layout = view_.set.channels[view_.set.channel_of(inside)];
        const moved_header header{inside - layout.first_queue, static_cast<std::uint32_t>(ctx.pe()),
                                  static_cast<std::uint32_t>(count)};
        const bool mine = ctx.lane() < count;
        if (mine) send(ctx, pe, layout.consumer, header, queue.element(place));
        ctx.sync(full_warp<Ctx>);
        const lane_mask sent = ctx.ballot(full_warp<Ctx>, mine);
        if (mine) {
            (void)queue.release(ctx, sent, place);
            ++moved_;
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(count));
    }
    LANEWAY_FN bool takes(Ctx& ctx, int pe) {
        return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{view_.moving.take(ctx, pe)}; }) != 0;
    }
    LANEWAY_FN void send(Ctx& ctx, int pe, std::uint32_t kernel, const moved_header& header, const std::byte* at) {
        come_behind(ctx, at);
        view_.kernels.visit(kernel, [&]<class Kernel>(const Kernel&) {
            if constexpr (moves_elements<Kernel>) {
                const auto& element = *reinterpret_cast<const typename Kernel::element*>(at);
                (void)out_.post(ctx, pe, moved_element<Kernel>{header, element});
            }
        });
    }
    /// Number within its shard of the least deep queue of this block's that has elements to give; none: there is none.
    LANEWAY_FN std::uint32_t least_deep(Ctx& ctx) const {
        const channel_set_ref& set = view_.set;
        std::uint64_t best = ~std::uint64_t{0};
        for (auto q = static_cast<std::uint32_t>(ctx.lane()); q < set.queues_a_shard; q += Ctx::warp_lanes) {
            const std::uint32_t c = set.channel_of(q);
            bool moves = set.channels[c].is_arrivals == 0;
            view_.kernels.visit(set.channels[c].consumer,
                                [&]<class Kernel>(const Kernel&) { moves = moves && moves_elements<Kernel>; });
            if (!moves || set.queue(own_ * set.queues_a_shard + q).fill(ctx) < 2) continue;
            const std::uint64_t mine = set.depth(c, q - set.channels[c].first_queue) * queues + q;
            if (mine < best) best = mine;
        }
        best = warp_min(ctx, best);
        return best == ~std::uint64_t{0} ? none : static_cast<std::uint32_t>(best % queues);
    }

    static constexpr std::uint64_t queues = channel_rank_queues, fills = channel_rank_fills;

    const View& view_;
    Out& out_;
    std::uint32_t own_;     ///< the shard of this block
    std::uint32_t victim_;  ///< the other shard that was looked at last
    channel_node of_body_;
    unsigned turn_ = 0;
    unsigned sends_ = 0;
    dispatch_history history_;
    std::uint32_t filled_ = none;
    std::uint32_t served_ = none;
    unsigned idle_turns_ = 0;
    std::uint64_t stalls_ = 0, yields_ = 0, items_ = 0, moved_ = 0;  ///< of this lane
    std::uint64_t peak_ = 0;                                         ///< most ready elements that it has seen
    std::uint64_t dispatches_ = 0, full_ = 0;                        ///< of the warp
};

}  // namespace laneway

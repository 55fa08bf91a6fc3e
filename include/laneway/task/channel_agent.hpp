// What a warp does for the channels of a graph: it looks which queue to serve, claims elements, one for each lane, and
// runs the kernel that consumes them. Each warp decides for itself, so no dispatch goes through another one.
#pragma once

#include "laneway/comm/roles.hpp"
#include "laneway/task/channel_chooser.hpp"
#include "laneway/task/channel_consuming.hpp"
#include "laneway/task/channel_moving.hpp"
#include "laneway/task/channel_team.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// Members are called as component.hpp says; a body's lanes call talloc and enq.
template <class Ctx, class Out, class View>
class channel_agent {
public:
    static constexpr bool polls = true;

    using choice = typename channel_chooser<Ctx, View>::choice;

    /// `shared`, `team` and `component`: where the view has kernels that take a block, see component.hpp.
    LANEWAY_FN channel_agent(const View& view, Out& out, const roles& mine, std::byte* shared,
                             block_team<Ctx>* team = nullptr, std::uint32_t component = 0)
        : view_(view), out_(out), chooser_(view),
          own_(static_cast<std::uint32_t>(mine.team_number) % view.set.n_shards), victim_(own_),
          of_body_(node_of(~std::uint32_t{0}, none)),
          team_(reinterpret_cast<channel_team_shared*>(shared), team, component) {}

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

    /// As remote_node's, where a kernel receives.
    template <class T>
    [[nodiscard]] LANEWAY_FN bool send(Ctx& ctx, int pe, channel<T> to, const std::type_identity_t<T>& element) {
        return of_body_.send(ctx, pe, to, element);
    }

    LANEWAY_FN void enq_place(Ctx& ctx, std::uint32_t queue, std::uint32_t place) {
        of_body_.enq_place(ctx, queue, place);
    }

    LANEWAY_FN void open(Ctx& ctx) { team_.open(ctx); }
    LANEWAY_FN void refresh(Ctx&) const {}
    LANEWAY_FN bool poll(Ctx& ctx) {
        if (help_block(ctx)) return true;
        if (is_called_away(ctx)) return false;
        ++turn_;
        if constexpr (View::moves) {
            if (turn_ % turns_to_give == 0 && ctx.n_pes() > 1) give(ctx);
            if (!serve(ctx)) {
                if (++idle_turns_ % turns_to_ask == 0 && ctx.n_pes() > 1 && ctx.lane() == 0) view_.moving.ask(ctx);
                return false;
            }
            idle_turns_ = 0;
            return !waits_for_rooms();
        } else {
            return serve(ctx) && !waits_for_rooms();
        }
    }
    LANEWAY_FN void close(Ctx& ctx) {
        if constexpr (View::receives) sent_ += of_body_.sent();
        std::uint64_t sums[] = {stalls_ + of_body_.stalls(), yields_, items_, moved_, sent_};
        warp_sums(ctx, sums);
        const std::uint64_t least = warp_min(ctx, ~chooser_.peak());
        out_.count_items(ctx, ctx.lane() == 0 ? sums[2] : 0);
        if (ctx.lane() != 0) return;
        channel_totals& totals = *view_.set.totals;
        ctx.fetch_add(&totals.dispatches, dispatches_, order::relaxed, scope::device);
        ctx.fetch_add(&totals.full_dispatches, full_, order::relaxed, scope::device);
        ctx.fetch_add(&totals.stalls, sums[0], order::relaxed, scope::device);
        ctx.fetch_add(&totals.yields, sums[1], order::relaxed, scope::device);
        ctx.fetch_add(&totals.moved, sums[3], order::relaxed, scope::device);
        ctx.fetch_add(&totals.sent, sums[4], order::relaxed, scope::device);
        ctx.fetch_max(&totals.peak, ~least, order::relaxed, scope::device);
    }

    // For one that decides for others, or follows orders: see channel_ordered_agent.hpp.

    [[nodiscard]] LANEWAY_FN channel_chooser<Ctx, View>& chooser() { return chooser_; }
    /// Whether the last dispatch brought nothing, so that what has been aggregated should leave now: rooms come back
    /// for it.
    [[nodiscard]] LANEWAY_FN bool waits_for_rooms() { return View::receives && chooser_.history().stuck != 0; }
    /// Takes part in what the block has begun, if it has. The whole warp.
    LANEWAY_FN bool help_block(Ctx& ctx) {
        if constexpr (View::has_blocks) {
            if (!team_.is_called(ctx)) return false;
            work_with_block(ctx);
            return true;
        }
        return false;
    }
    /// Whether the block works for another component, for whose turn this one makes way.
    [[nodiscard]] LANEWAY_FN bool is_called_away([[maybe_unused]] Ctx& ctx) const {
        if constexpr (View::has_blocks) return team_.is_called_away(ctx);
        return false;
    }
    /// Runs the elements of one queue, one for each lane. The whole warp; false where others were faster.
    LANEWAY_FN bool dispatch(Ctx& ctx, std::uint32_t number) {
        if constexpr (View::has_blocks) {
            if (takes_block(number)) return dispatch_to_block(ctx, number);
        }
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
        const bool came = View::receives && layout.is_remote != 0;
        const bool is_first = chooser_.history().stuck != 0 && !came && mine && queue.is_first(ctx, place);
        const std::uint32_t room = came && mine ? view_.set.room_at(number, queue, place) : none;
        const std::uint32_t room_class = channel_rooms_ref::class_of(layout.levels, level);
        auto node = node_of(level, is_first ? number : none, room, room_class);
        outcome out = outcome::done;
        if (mine) {
            come_behind(ctx, queue.element(place));
            out = consume<task_width::warp>(view_.kernels, layout.consumer, element, came,
                                            [&](const auto& code, auto& given) {
                                                return ended(ctx, number, node, call_kernel(ctx, code, given, node));
                                            });
        }
        ctx.sync(full_warp<Ctx>);
        note_node(node);
        if constexpr (View::receives) {
            if (came && mine && out == outcome::done) leave_room(ctx, queue, node.room(), room_class);
            ctx.sync(full_warp<Ctx>);
        }
        end(ctx, number, place, node.filled(), count, mine, out);
        if constexpr (View::moves) {
            // Behind the release: the place must be free.
            if (mine && out == outcome::done && moved.count != 0)
                view_.moving.note_freed(ctx, moved.source, moved.count);
            ctx.sync(full_warp<Ctx>);
        }
        if (++sends_ % 16 == 0) (void)out_.flush_old(ctx);
        return true;
    }

private:
    static constexpr unsigned max_age = 64;  ///< turns of a warp that part of a warp's elements may wait for
    static constexpr unsigned turns_to_give = 8, turns_to_ask = 16;
    static constexpr std::uint32_t none = channel_node::no_queue;
    static_assert(none == channel_rooms_ref::none);

    /// What a kernel has of the channels, for an element of this level.
    LANEWAY_FN auto node_of(std::uint32_t level, std::uint32_t first_in, [[maybe_unused]] std::uint32_t room = none,
                            [[maybe_unused]] std::uint32_t room_class = 0) const {
        if constexpr (View::receives) {
            return remote_node<Out, View>(view_.set, own_, level, first_in, room, room_class, out_);
        } else {
            return channel_node(view_.set, own_, level, first_in);
        }
    }
    template <class Node>
    LANEWAY_FN void note_node(const Node& node) {
        stalls_ += node.stalls();
        if constexpr (View::receives) sent_ += node.sent();
    }
    /// The end of an element of a queue. One whose room has gone on has no place to wait in.
    template <class Node>
    LANEWAY_FN outcome ended(Ctx& ctx, std::uint32_t number, const Node& node, outcome out) const {
        if constexpr (View::receives) {
            if (out == outcome::yield && node.has_forwarded()) {
                const std::uint32_t inside = view_.set.channel_of(number % view_.set.queues_a_shard);
                (void)fail(ctx, status::yielded_after_forward, operation::consume, -1, view_.set.users_number(inside));
                return outcome::done;
            }
        }
        return out;
    }
    /// An element that came in a room is done. The room goes back, unless it has gone on. Any lane.
    LANEWAY_FN void leave_room(Ctx& ctx, const channel_queue_ref& queue, std::uint32_t room, std::uint32_t room_class) {
        const lane_mask all = ctx.converged();
        if (elected(ctx, all)) queue.count_released(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(all)));
        if (room == none) return;
        const std::uint32_t a_pe = view_.set.rooms.a_pe;
        const returned_room<typename View::kernel_types> back{room_class, room % a_pe};
        (void)out_.post(ctx, static_cast<int>(room / a_pe), back);  // a failure ends the run
    }

    /// Runs what is to run next; false where nothing was found.
    LANEWAY_FN bool serve(Ctx& ctx) {
        if (follow(ctx)) return true;
        const bool looks_at_all = turn_ % max_age == 0;
        const choice mine = chooser_.choose(ctx, own_, looks_at_all, turn_);
        // A part of a warp runs when nothing else can, and now and then, so that it need not wait for that.
        if (mine.exists && (mine.fills_warp || looks_at_all)) return dispatch(ctx, mine.queue);
        const choice other = chooser_.choose(ctx, next_victim(), false, turn_);
        if (other.exists && other.fills_warp) return dispatch(ctx, other.queue);
        if (mine.exists) return dispatch(ctx, mine.queue);
        if (other.exists) return dispatch(ctx, other.queue);
        const choice any = chooser_.choose(ctx, victim_, true, turn_);
        return any.exists && dispatch(ctx, any.queue);
    }

    /// Goes on with what the last dispatch has produced, or with the rest of its own queue.
    LANEWAY_FN bool follow(Ctx& ctx) {
        if constexpr (!follows<decltype(view_.policy)>) return false;
        if (chooser_.history().stuck != 0 || turn_ % max_age == 0) return false;
        for (const std::uint32_t queue : {filled_, served_}) {
            if (queue == none) continue;
            const bool fills_warp = once(ctx, full_warp<Ctx>, [&] {
                                        const auto all = static_cast<std::uint32_t>(Ctx::warp_lanes);
                                        const std::uint32_t ready = view_.set.queue(queue).fill(ctx);
                                        chooser_.note_ready(ready);
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

    LANEWAY_FN bool takes_block(std::uint32_t number) const {
        const std::uint32_t channel = view_.set.channel_of(number % view_.set.queues_a_shard);
        bool found = false;
        view_.kernels.visit(view_.set.channels[channel].consumer,
                            [&]<class Kernel>(const Kernel&) { found = width_of<Kernel> == task_width::block; });
        return found;
    }
    /// Claims elements for the whole block and calls its warps. The whole warp.
    LANEWAY_FN bool dispatch_to_block(Ctx& ctx, std::uint32_t number) {
        if (!team_.lead(ctx)) return help_block(ctx);
        const channel_queue_ref queue = view_.set.queue(number);
        // Its share, so that other blocks find some.
        const std::uint32_t limit = once(ctx, full_warp<Ctx>, [&] { return queue.fill(ctx) / (2 * view_.blocks) + 1; });
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, limit, place);
        if (count == 0) {
            team_.dismiss(ctx);
            return false;
        }
        team_.call(ctx, number, static_cast<std::uint32_t>(count), place);
        work_with_block(ctx);
        return true;
    }
    LANEWAY_FN void work_with_block(Ctx& ctx) {
        const channel_set_ref& set = view_.set;
        std::uint32_t filled = none;
        team_.take_part(
            ctx,
            [&](std::uint32_t number, std::uint32_t place, channel_worker<Ctx>& worker) {
                const channel_queue_ref queue = set.queue(number);
                const std::uint32_t inside = number % set.queues_a_shard;
                const channel_layout& layout = set.channels[set.channel_of(inside)];
                const bool is_first = chooser_.history().stuck != 0 && queue.is_first(ctx, place);
                auto node = node_of(inside - layout.first_queue, is_first ? number : none);
                come_behind(ctx, queue.element(place));
                const outcome out = consume<task_width::block>(
                    view_.kernels, layout.consumer, queue.element(place), false,
                    [&](const auto& code, auto& element) { return call_kernel(ctx, code, element, node, worker); });
                note_node(node);
                if (node.filled() != none) filled = node.filled();
                return out;
            },
            [&](std::uint32_t number, std::uint32_t count, std::uint32_t yields) {
                const auto lane = static_cast<std::uint32_t>(ctx.lane());
                const bool mine = lane < count;
                const outcome out = (yields >> lane & 1) != 0 ? outcome::yield : outcome::done;
                end(ctx, number, team_.place(lane), filled, static_cast<int>(count), mine, out);
                if (View::receives && ++sends_ % 16 == 0) (void)out_.flush_old(ctx);
            });
    }

    /// The end of elements that this warp has claimed, one of each lane that is `mine`: those that are done are freed,
    /// others put back.
    LANEWAY_FN void end(Ctx& ctx, std::uint32_t number, std::uint32_t place, std::uint32_t filled, int count, bool mine,
                        outcome out) {
        const channel_queue_ref queue = view_.set.queue(number);
        const lane_mask yielded = ctx.ballot(full_warp<Ctx>, mine && out == outcome::yield);
        const lane_mask done = ctx.ballot(full_warp<Ctx>, mine && out == outcome::done);
        const bool came = View::receives &&
                          view_.set.channels[view_.set.channel_of(number % view_.set.queues_a_shard)].is_remote != 0;
        if (mine && out == outcome::done && !came) (void)queue.release(ctx, done, place);
        if (mine && out == outcome::yield) {
            go_before(ctx, queue.element(place));
            queue.publish_place(ctx, yielded, place);
            if (elected(ctx, yielded)) view_.set.raise_flag(ctx, number);
        }
        note(ctx, number, filled, count, done, yielded);
        ctx.sync(full_warp<Ctx>);
        // An element that was put back has been counted once more by then.
        if (ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(count));
    }

    /// Keeps what the next choice and the report need.
    LANEWAY_FN void note(Ctx& ctx, std::uint32_t number, std::uint32_t filled, int count, lane_mask done,
                         lane_mask yielded) {
        const lane_mask producers = ctx.ballot(full_warp<Ctx>, filled != none);
        const int any = producers != 0 ? Ctx::first_lane(producers) : 0;
        filled_ = ctx.shuffle(full_warp<Ctx>, filled, any);
        served_ = number;
        chooser_.history().note(done == 0, yielded != 0);
        ++dispatches_;
        full_ += count == Ctx::warp_lanes ? 1 : 0;
        if ((yielded >> ctx.lane() & 1) != 0) ++yields_;
        if ((done >> ctx.lane() & 1) != 0) ++items_;
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
            bool moves = set.channels[c].is_arrivals == 0 && set.channels[c].is_remote == 0;
            view_.kernels.visit(set.channels[c].consumer,
                                [&]<class Kernel>(const Kernel&) { moves = moves && moves_elements<Kernel>; });
            if (!moves || set.queue(own_ * set.queues_a_shard + q).fill(ctx) < 2) continue;
            const std::uint64_t mine = set.depth(c, q - set.channels[c].first_queue) * queues + q;
            if (mine < best) best = mine;
        }
        best = warp_min(ctx, best);
        return best == ~std::uint64_t{0} ? none : static_cast<std::uint32_t>(best % queues);
    }

    static constexpr std::uint64_t queues = channel_rank_queues;

    const View& view_;
    Out& out_;
    channel_chooser<Ctx, View> chooser_;
    std::uint32_t own_;     ///< the shard of this block
    std::uint32_t victim_;  ///< the other shard that was looked at last
    std::conditional_t<View::receives, remote_node<Out, View>, channel_node> of_body_;
    std::conditional_t<View::has_blocks, channel_team<Ctx>, no_channel_team<Ctx>> team_;
    unsigned turn_ = 0;
    unsigned sends_ = 0;
    std::uint32_t filled_ = none;
    std::uint32_t served_ = none;
    unsigned idle_turns_ = 0;
    std::uint64_t stalls_ = 0, yields_ = 0, items_ = 0, moved_ = 0, sent_ = 0;  ///< of this lane
    std::uint64_t dispatches_ = 0, full_ = 0;                                   ///< of the warp
};

}  // namespace laneway

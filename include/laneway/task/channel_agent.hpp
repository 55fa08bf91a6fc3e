// What a warp does for the channels of a graph: it runs what it has kept of what it has produced; else it looks which
// queue to serve, claims elements, one for each lane, and runs the kernel that consumes them. Each warp decides for
// itself, so no dispatch goes through another one.
#pragma once

#include "laneway/task/channel_block_work.hpp"
#include "laneway/task/channel_giving.hpp"
#include "laneway/task/channel_kept_work.hpp"
#include "laneway/task/channel_search.hpp"

namespace laneway {

/// Members are called as component.hpp says; a body's lanes call talloc and enq.
template <class Ctx, class Out, class View>
class channel_agent {
public:
    static constexpr bool polls = true;

    /// `shared`, `team` and `component`: where the view has kernels that take a block, see component.hpp.
    LANEWAY_FN channel_agent(const View& view, Out& out, const roles& mine, std::byte* shared,
                             block_team<Ctx>* team = nullptr, std::uint32_t component = 0)
        : warp_(view, out, mine), of_body_(warp_.node_of(~std::uint32_t{0}, warp_.none)), search_(warp_.own),
          blocks_(shared, team, component), kept_(view.set.stacks, mine, warp_.number, shared + View::team_bytes) {}

    /// As channel_node's, for the first level of a channel. Does not wait: a body that finds no space does something
    /// else, or returns.
    template <class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc(Ctx& ctx, channel<T> to, std::uint32_t count = 1) {
        return of_body_.talloc(ctx, to, count);
    }
    template <class T>
    LANEWAY_FN void enq(Ctx& ctx, const reserved_elements<T>& elements) {
        of_body_.enq(ctx, elements);
        of_body_.tell(ctx);
    }

    /// As remote_node's, where a kernel receives.
    template <class T>
    [[nodiscard]] LANEWAY_FN bool send(Ctx& ctx, int pe, channel<T> to, const std::type_identity_t<T>& element) {
        return of_body_.send(ctx, pe, to, element);
    }

    LANEWAY_FN void enq_place(Ctx& ctx, std::uint32_t queue, std::uint32_t place) {
        of_body_.enq_place(ctx, queue, place);
        of_body_.tell(ctx);
    }

    LANEWAY_FN void open(Ctx& ctx) {
        blocks_.open(ctx);
        if constexpr (View::keeps) kept_.open(ctx);
    }
    LANEWAY_FN void refresh(Ctx&) const {}
    LANEWAY_FN bool poll(Ctx& ctx) {
        const bool is_called = blocks_.is_called(ctx);
        if (!is_called && (is_called_away(ctx) || kept_.waits_for_calls())) return false;
        const channel_source from = is_called ? channel_source::block : take_turn(ctx);
        // In one place: with a copy of all kernels for each way to get here, the code would not stay in caches.
        if (from == channel_source::block) blocks_.work(ctx, warp_, kept_);
        if (is_called) return true;
        idle_turns_ = from != channel_source::nothing ? 0 : idle_turns_ + 1;
        if (from != channel_source::nothing) return !waits_for_rooms();
        note_idle();
        if constexpr (View::moves) {
            if (idle_turns_ % turns_to_ask == 0 && ctx.n_pes() > 1 && ctx.lane() == 0) warp_.view.moving.ask(ctx);
        }
        return false;
    }
    LANEWAY_FN void close(Ctx& ctx) {
        warp_.note_node(of_body_);
        if constexpr (View::blocks_keep) {
            if (kept_.is_of_block()) blocks_.close(ctx, warp_, kept_);
        } else if constexpr (View::keeps) {
            kept_.close(ctx, warp_);
        }
        warp_.tell_totals(ctx);
    }

    // For one that decides for others, or follows orders: see channel_ordered_agent.hpp.

    [[nodiscard]] LANEWAY_FN channel_chooser<Ctx, View>& chooser() { return warp_.chooser; }
    /// Whether the last dispatch brought nothing, so that what has been aggregated should leave now: rooms come back
    /// for it.
    [[nodiscard]] LANEWAY_FN bool waits_for_rooms() const { return View::receives && warp_.is_stuck(); }
    LANEWAY_FN void note_idle() { ++warp_.idle_turns; }
    /// Takes part in what the block has begun, if it has. The whole warp.
    LANEWAY_FN bool help_block(Ctx& ctx) {
        if (!blocks_.is_called(ctx)) return false;
        blocks_.work(ctx, warp_, kept_);
        return true;
    }
    /// Whether the block works for another component, for whose turn this one makes way.
    [[nodiscard]] LANEWAY_FN bool is_called_away(Ctx& ctx) const { return blocks_.is_called_away(ctx); }
    /// Runs the elements of one queue, one for each lane. The whole warp; false where others were faster.
    LANEWAY_FN bool dispatch(Ctx& ctx, std::uint32_t number) {
        channel_batch all;
        copy_type copy;
        const channel_source from = claim(ctx, {number}, all, copy);
        run_if(ctx, from, all, copy);
        return from == channel_source::block ? help_block(ctx) : from != channel_source::nothing;
    }

private:
    static constexpr unsigned turns_to_give = 8, turns_to_ask = 16;
    static constexpr std::uint32_t none = channel_node::no_queue;

    using copy_type = typename copies_of<typename View::kernel_types>::type;
    using claims = channel_claims<Ctx, Out, View>;

    LANEWAY_FN channel_source take_turn(Ctx& ctx) {
        ++warp_.turn;
        if constexpr (View::moves) {
            if (warp_.turn % turns_to_give == 0 && ctx.n_pes() > 1) give(ctx);
        }
        return serve(ctx);
    }
    /// Runs what is to run next, or has called the block to it; nothing where none was found.
    LANEWAY_FN channel_source serve(Ctx& ctx) {
        const bool of_block = kept_.is_of_block();
        if (of_block && !blocks_.lead(ctx)) {  // another component is at work
            --warp_.turn;                      // what is done in turn waits for this one
            return channel_source::nothing;
        }
        channel_batch all;
        copy_type copy;
        const channel_source from =
            kept_.take(ctx, warp_, all, copy, [&](Ctx& here) { return take_shared(here, all, copy); });
        if (of_block && from == channel_source::stack) {
            if (all.count != 0) {
                blocks_.call_to_kept(ctx, warp_, kept_, all);
                return channel_source::block;
            }
        } else {
            run_if(ctx, from, all, copy);
        }
        if (of_block && from != channel_source::block) blocks_.dismiss(ctx);
        return from;
    }
    /// Takes elements that any warp might run.
    LANEWAY_FN channel_source take_shared(Ctx& ctx, channel_batch& all, copy_type& copy) {
        for (const bool follows_last : {true, false}) {
            const found_queue found =
                follows_last ? search_.follow(ctx, warp_) : found_queue{search_.choose(ctx, warp_, idle_turns_)};
            const channel_source from = found.number == none ? channel_source::nothing : claim(ctx, found, all, copy);
            if (from != channel_source::nothing) return from;
        }
        return channel_source::nothing;
    }
    LANEWAY_FN channel_source claim(Ctx& ctx, found_queue from, channel_batch& all, copy_type& copy) {
        if (!blocks_.takes(warp_, from.number)) return claims::claim(ctx, warp_, from.number, all, copy, from.next);
        const bool leads = kept_.is_of_block();  // already
        if (!leads && !blocks_.lead(ctx)) {
            return blocks_.is_called(ctx) ? channel_source::block : channel_source::nothing;
        }
        if (blocks_.call_to_claimed(ctx, warp_, kept_, from.number)) return channel_source::block;
        if (!leads) blocks_.dismiss(ctx);
        return channel_source::nothing;
    }
    /// Runs a batch, if there is one, and ends it.
    LANEWAY_FN void run_if(Ctx& ctx, channel_source from, channel_batch& all, copy_type& copy) {
        all.from = from;
        if (from == channel_source::nothing || from == channel_source::block) return;
        if constexpr (View::keeps) kept_.look_for_requests(ctx);
        const outcome out = run(ctx, all, copy);
        if (from == channel_source::queue) {
            claims::end_batch(ctx, warp_, all, out, View::keeps ? kept_.owed() : nullptr);
            if (++sends_ % 16 == 0) (void)warp_.out.flush_old(ctx);
        } else if constexpr (View::keeps) {
            all.made.tell(ctx, warp_.view.set);
            kept_.end_batch(ctx, warp_, all, copy, all.made.queue(), out);
        }
        if constexpr (View::keeps) kept_.share(ctx, warp_);
    }
    /// Runs a channel_batch. The whole warp; how it ended on this lane.
    LANEWAY_FN outcome run(Ctx& ctx, channel_batch& all, copy_type& copy) {
        const channel_layout& layout = warp_.view.set.channels[all.channel];
        const bool came = View::receives && layout.is_remote != 0;
        const std::uint32_t room_class = channel_rooms_ref::class_of(layout.levels, all.level);
        std::uint32_t top = 0;
        if constexpr (View::keeps) top = kept_.top();
        auto node =
            warp_.node_of(all.level, all.first_in, all.room, room_class, View::keeps ? &kept_.stack() : nullptr);
        outcome out = outcome::done;
        ctx.sync(full_warp<Ctx>);  // what lanes share is as the warp has left it
        if (all.mine) {
            out = consume<task_width::warp>(
                warp_.view.kernels, layout.consumer, all.element, came, copy,
                [&](const auto& code, auto& given) {
                    return ended(ctx, all.queue, node, call_kernel(ctx, code, given, node));
                },
                all.queue != none);
        }
        ctx.sync(full_warp<Ctx>);
        if constexpr (View::keeps) kept_.reclaim(ctx, node.kept_end(top));
        kept_.end_tasks(ctx, node);
        warp_.note_node(node);
        if constexpr (View::receives) all.room = node.room();
        all.made = node.made();
        return out;
    }
    /// The end of an element of a queue. One whose room has gone on has no place to wait in.
    template <class Node>
    LANEWAY_FN outcome ended(Ctx& ctx, std::uint32_t number, const Node& node, outcome out) const {
        if constexpr (View::receives) {
            if (out != outcome::done && node.has_forwarded()) {
                const channel_set_ref& set = warp_.view.set;
                const std::uint32_t inside = set.channel_of(number % set.queues_a_shard);
                (void)fail(ctx, status::yielded_after_forward, operation::consume, -1,
                           set.in_faults(set.users_number(inside)));
                return outcome::done;
            }
        }
        return out;
    }
    /// Sends work to a PE that has asked for it.
    LANEWAY_FN void give(Ctx& ctx) {
        channel_giving<Ctx, Out, View>::give(ctx, warp_, [&](Ctx& here) {
            if constexpr (View::keeps) kept_.give_half(here, warp_);
        });
    }

    channel_warp<Ctx, Out, View> warp_;
    std::conditional_t<View::receives, remote_node<Out, View>, channel_node> of_body_;
    channel_search<Ctx, Out, View> search_;
    std::conditional_t<View::has_blocks, channel_block_work<Ctx, Out, View>, no_channel_block_work<Ctx, Out, View>>
        blocks_;
    channel_kept_work<Ctx, Out, View> kept_;
    unsigned sends_ = 0;
    unsigned idle_turns_ = 0;
};

}  // namespace laneway

// Elements that a whole block works on: the warp that finds some claims them and calls the others, see
// channel_team.hpp. Where blocks keep what they produce that is the first warp of the team, which then takes one
// element after the other from the block's stack while the others stay: see channel_kept_work.hpp.
#pragma once

#include "laneway/task/channel_claims.hpp"
#include "laneway/task/channel_kept_work.hpp"
#include "laneway/task/channel_team.hpp"

namespace laneway {

/// One lane's. All members are called by whole warps.
template <class Ctx, class Out, class View>
class channel_block_work {
public:
    using warp_type = channel_warp<Ctx, Out, View>;
    using kept_type = channel_kept_work<Ctx, Out, View>;
    using copy_type = typename copies_of<typename View::kernel_types>::type;

    /// `component`: see component.hpp.
    LANEWAY_FN channel_block_work(std::byte* shared, block_team<Ctx>* team, std::uint32_t component)
        : team_(shared, team, component) {}

    LANEWAY_FN void open(Ctx& ctx) { team_.open(ctx); }
    /// Counts what the block still keeps, and an element that it was stopped at.
    LANEWAY_FN void close(Ctx& ctx, const warp_type& warp, kept_type& kept) const {
        if (!kept.waits_for_calls()) team_.say_bottom(ctx, kept.bottom());
        if (!team_.is_last(ctx)) return;
        kept.join(team_.bottom());
        if (team_.is_stopped() && ctx.lane() == 0) kept.note_unfreed(ctx, warp, team_.tag());
        kept.close(ctx, warp);
    }
    /// Whether the block has begun something that this warp has no part in yet.
    [[nodiscard]] LANEWAY_FN bool is_called(Ctx& ctx) const { return team_.is_called(ctx); }
    /// Whether the block works for another component, for whose turn this one makes way.
    [[nodiscard]] LANEWAY_FN bool is_called_away(Ctx& ctx) const { return team_.is_called_away(ctx); }
    /// Whether the elements of a queue are for blocks.
    [[nodiscard]] LANEWAY_FN bool takes(const warp_type& warp, std::uint32_t queue) const {
        return warp.layout_of(queue).takes_block != 0;
    }
    /// Makes this warp the one that claims for the block; false while another is. It calls the block with what it has
    /// got, or dismisses it.
    LANEWAY_FN bool lead(Ctx& ctx) const { return team_.lead(ctx); }
    LANEWAY_FN void dismiss(Ctx& ctx) const { team_.dismiss(ctx); }
    /// Claims elements for the block, which this warp leads, and calls its warps, this one too. False where others were
    /// faster.
    LANEWAY_FN bool call_to_claimed(Ctx& ctx, warp_type& warp, kept_type& kept, std::uint32_t number) {
        const channel_queue_ref queue = warp.view.set.queue(number);
        std::uint32_t limit = 0;
        const std::uint64_t next = once(ctx, full_warp<Ctx>, [&] {
            const channel_queue_ref::queue_view seen = queue.look(ctx);
            limit = are_long(warp.view, number) ? 1 : share_of(warp.view, seen.ready);
            return seen.next;
        });
        limit = ctx.shuffle(full_warp<Ctx>, limit, Ctx::first_lane(full_warp<Ctx>));
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, limit, place, ~std::uint64_t{0}, next);
        if (count == 0) return false;
        if (kept.is_of_block()) say_stack(ctx, warp, kept);
        team_.say(ctx, number, static_cast<std::uint32_t>(count), place);
        team_.call(ctx);
        return true;
    }
    /// The same with an element that the block had kept.
    LANEWAY_FN void call_to_kept(Ctx& ctx, warp_type& warp, kept_type& kept, const channel_batch& taken) const {
        say_kept(ctx, warp, kept, taken);
        team_.call(ctx);
    }
    /// Takes part in what the leader has named, and in what it names behind that.
    LANEWAY_FN void work(Ctx& ctx, warp_type& warp, kept_type& kept) {
        std::uint32_t filled = warp_type::none;
        bool led = false;
        unsigned runs = 0;
        team_.take_part(
            ctx, kept.is_of_block(),
            [&](std::uint32_t number, std::uint32_t place, channel_worker<Ctx>& worker) {
                if (kept.is_of_block()) kept.join(team_.bottom());
                const bool is_taken = kept.is_of_block() && number == warp_type::none;
                const begun_element begun = is_taken ? taken(warp) : claimed(ctx, warp, kept, number, place);
                return run(ctx, warp, kept, begun, worker, filled);
            },
            [&](std::uint32_t number, std::uint32_t count, std::uint32_t yields) {
                led = true;
                if constexpr (View::blocks_keep) {
                    if (kept.is_of_block()) {
                        end_and_go_on(ctx, warp, kept, number, count, yields, filled, ++runs < runs_a_turn);
                        return;
                    }
                }
                end_claimed(ctx, warp, number, count, yields, filled, nullptr);
            });
        if (!led) warp.note_filled(ctx, filled);  // it may lead next
    }

private:
    static constexpr unsigned runs_a_turn = 32;  ///< of elements that the block had kept, one behind the other

    /// What the lanes of the block run.
    struct begun_element {
        const channel_layout* layout;
        std::uint32_t level;
        std::uint32_t first_in;
        std::byte* element;
    };

    /// Whether the kernel of a queue's elements says that they take long.
    static LANEWAY_FN bool are_long(const View& view, std::uint32_t queue) {
        bool found = false;
        view.kernels.visit(view.set.channels[view.set.channel_of(queue % view.set.queues_a_shard)].consumer,
                           [&]<class Kernel>(const Kernel&) { found = takes_long<Kernel>; });
        return found;
    }
    /// Of elements ready in a queue, so that other blocks find some; a queue is in one shard, which few blocks look at.
    static LANEWAY_FN std::uint32_t share_of(const View& view, std::uint32_t ready) {
        return static_cast<std::uint32_t>(std::uint64_t{ready} * view.set.n_shards / (2 * view.blocks)) + 1;
    }
    LANEWAY_FN void say_stack(Ctx& ctx, const warp_type& warp, kept_type& kept) const {
        kept.look_for_requests(ctx);
        team_.say_stack(ctx, kept.bottom(), kept.stack().size(), warp.is_stuck());
    }
    LANEWAY_FN void say_kept(Ctx& ctx, const warp_type& warp, kept_type& kept, const channel_batch& taken) const {
        say_stack(ctx, warp, kept);
        team_.say_kept(ctx, taken.place, taken.base, kept.slot(taken), kept.stack().slot_bytes());
    }
    /// An element at a place of a queue.
    LANEWAY_FN begun_element claimed(Ctx& ctx, const warp_type& warp, const kept_type& kept, std::uint32_t number,
                                     std::uint32_t place) const {
        const channel_set_ref& set = warp.view.set;
        const channel_queue_ref queue = set.queue(number);
        const std::uint32_t inside = number % set.queues_a_shard;
        const channel_layout& layout = set.channels[set.channel_of(inside)];
        const bool is_stuck = kept.is_of_block() ? team_.is_stuck() : warp.is_stuck();
        const bool is_first = is_stuck && queue.is_first(ctx, place);
        come_behind(ctx, queue.element(place));
        return {&layout, inside - layout.first_queue, is_first ? number : warp_type::none, queue.element(place)};
    }
    /// One that the block had kept.
    LANEWAY_FN begun_element taken(const warp_type& warp) const {
        const std::uint32_t tag = team_.tag();
        return {&warp.view.set.channels[stack_tag::channel(tag)], stack_tag::level(tag), warp_type::none,
                team_.element()};
    }
    /// This lane's part in it.
    LANEWAY_FN outcome run(Ctx& ctx, warp_type& warp, const kept_type& kept, const begun_element& begun,
                           channel_worker<Ctx>& worker, std::uint32_t& filled) const {
        auto node =
            warp.node_of(begun.level, begun.first_in, warp_type::none, 0, View::blocks_keep ? &kept.stack() : nullptr);
        copy_type unused;
        const outcome out = consume<task_width::block>(
            warp.view.kernels, begun.layout->consumer, begun.element, false, unused,
            [&](const auto& code, auto& given) { return call_kernel(ctx, code, given, node, worker); }, true);
        if (node.made().queue() != warp_type::none) filled = node.made().queue();
        node.tell(ctx);
        warp.note_node(node);
        if (node.has_kept()) team_.note_end(ctx, node.kept_end(0));
        return out;
    }
    /// The end of elements of a queue. `owed`: as channel_claims::end_batch says.
    LANEWAY_FN void end_claimed(Ctx& ctx, warp_type& warp, std::uint32_t number, std::uint32_t count,
                                std::uint32_t yields, std::uint32_t filled, std::uint64_t* owed) {
        const channel_set_ref& set = warp.view.set;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        channel_batch all;
        all.queue = number;
        all.count = static_cast<int>(count);
        all.mine = lane < count;
        all.place = team_.place(lane);
        const outcome out = (yields >> lane & 1) != 0 ? outcome::yield : outcome::done;
        warp.tallies.note(ctx, set.channel_of(number % set.queues_a_shard));
        channel_claims<Ctx, Out, View>::end(ctx, warp, all, filled, out, owed == nullptr);
        if (owed != nullptr) *owed += count;
        if (View::receives && ++sends_ % 16 == 0) (void)warp.out.flush_old(ctx);
    }
    /// The end of one that the block had kept.
    LANEWAY_FN void end_taken(Ctx& ctx, warp_type& warp, kept_type& kept, std::uint32_t yields,
                              std::uint32_t filled) const {
        channel_batch all;
        all.from = channel_source::stack;
        all.base = team_.base();
        all.count = 1;
        all.mine = ctx.lane() == 0;
        all.place = team_.tag();
        all.channel = stack_tag::channel(all.place);
        all.level = stack_tag::level(all.place);
        kept.end_batch(ctx, warp, all, *reinterpret_cast<const copy_type*>(team_.element()), filled,
                       yields != 0 ? outcome::yield : outcome::done);
    }
    /// The end of what the block has run, where it keeps something, and what it runs next. The leader.
    LANEWAY_FN void end_and_go_on(Ctx& ctx, warp_type& warp, kept_type& kept, std::uint32_t number, std::uint32_t count,
                                  std::uint32_t yields, std::uint32_t filled, bool may_go_on) {
        kept.reclaim(ctx, team_.end(ctx));
        if (number == warp_type::none) {
            end_taken(ctx, warp, kept, yields, filled);
        } else {
            end_claimed(ctx, warp, number, count, yields, filled, kept.owed());
        }
        kept.share(ctx, warp);
        channel_batch next;
        copy_type unused;
        if (may_go_on && kept.take_next(ctx, warp, next, unused)) {
            say_kept(ctx, warp, kept, next);
        } else {
            team_.say_none(ctx);
        }
    }

    channel_team<Ctx> team_;
    unsigned sends_ = 0;
};

/// In place of one where no kernel takes a block.
template <class Ctx, class Out, class View>
class no_channel_block_work {
public:
    using warp_type = channel_warp<Ctx, Out, View>;
    using kept_type = channel_kept_work<Ctx, Out, View>;

    LANEWAY_FN no_channel_block_work(std::byte*, block_team<Ctx>*, std::uint32_t) {}
    LANEWAY_FN void open(Ctx&) const {}
    [[nodiscard]] LANEWAY_FN bool is_called(Ctx&) const { return false; }
    LANEWAY_FN void work(Ctx&, warp_type&, kept_type&) const {}
    [[nodiscard]] LANEWAY_FN bool is_called_away(Ctx&) const { return false; }
    [[nodiscard]] LANEWAY_FN bool takes(const warp_type&, std::uint32_t) const { return false; }
    LANEWAY_FN bool lead(Ctx&) const { return false; }
    LANEWAY_FN void dismiss(Ctx&) const {}
    LANEWAY_FN bool call_to_claimed(Ctx&, warp_type&, kept_type&, std::uint32_t) const { return false; }
    LANEWAY_FN void call_to_kept(Ctx&, warp_type&, kept_type&, const channel_batch&) const {}
};

}  // namespace laneway

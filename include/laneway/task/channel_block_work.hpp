// Elements that a whole block works on: the warp that finds some claims them and calls the others, see
// channel_team.hpp.
#pragma once

#include "laneway/task/channel_claims.hpp"
#include "laneway/task/channel_team.hpp"

namespace laneway {

/// One lane's. All members are called by whole warps.
template <class Ctx, class Out, class View>
class channel_block_work {
public:
    using warp_type = channel_warp<Ctx, Out, View>;
    using copy_type = typename copies_of<typename View::kernel_types>::type;

    /// `component`: see component.hpp.
    LANEWAY_FN channel_block_work(std::byte* shared, block_team<Ctx>* team, std::uint32_t component)
        : team_(shared, team, component) {}

    LANEWAY_FN void open(Ctx& ctx) { team_.open(ctx); }
    /// Takes part in what the block has begun, if it has.
    LANEWAY_FN bool help(Ctx& ctx, warp_type& warp) {
        if (!team_.is_called(ctx)) return false;
        work(ctx, warp);
        return true;
    }
    /// Whether the block works for another component, for whose turn this one makes way.
    [[nodiscard]] LANEWAY_FN bool is_called_away(Ctx& ctx) const { return team_.is_called_away(ctx); }
    /// Whether the elements of a queue are for blocks.
    [[nodiscard]] LANEWAY_FN bool takes(const warp_type& warp, std::uint32_t queue) const {
        return warp.layout_of(queue).takes_block != 0;
    }
    /// Claims elements for the whole block and calls its warps. The whole warp.
    LANEWAY_FN bool dispatch(Ctx& ctx, warp_type& warp, std::uint32_t number) {
        if (!team_.lead(ctx)) return help(ctx, warp);
        const channel_queue_ref queue = warp.view.set.queue(number);
        std::uint32_t limit = 0;
        const std::uint64_t next = once(ctx, full_warp<Ctx>, [&] {
            const channel_queue_ref::queue_view seen = queue.look(ctx);
            limit = share_of(warp.view, seen.ready);
            return seen.next;
        });
        limit = ctx.shuffle(full_warp<Ctx>, limit, Ctx::first_lane(full_warp<Ctx>));
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, limit, place, ~std::uint64_t{0}, next);
        if (count == 0) {
            team_.dismiss(ctx);
            return false;
        }
        team_.call(ctx, number, static_cast<std::uint32_t>(count), place);
        work(ctx, warp);
        return true;
    }

private:
    /// Of elements ready in a queue, so that other blocks find some; a queue is in one shard, which few blocks look at.
    static LANEWAY_FN std::uint32_t share_of(const View& view, std::uint32_t ready) {
        return static_cast<std::uint32_t>(std::uint64_t{ready} * view.set.n_shards / (2 * view.blocks)) + 1;
    }
    LANEWAY_FN void work(Ctx& ctx, warp_type& warp) {
        const channel_set_ref& set = warp.view.set;
        std::uint32_t filled = warp_type::none;
        bool led = false;
        team_.take_part(
            ctx,
            [&](std::uint32_t number, std::uint32_t place, channel_worker<Ctx>& worker) {
                const channel_queue_ref queue = set.queue(number);
                const std::uint32_t inside = number % set.queues_a_shard;
                const channel_layout& layout = set.channels[set.channel_of(inside)];
                const bool is_first = warp.is_stuck() && queue.is_first(ctx, place);
                auto node = warp.node_of(inside - layout.first_queue, is_first ? number : warp_type::none);
                come_behind(ctx, queue.element(place));
                copy_type copy;
                const outcome out = consume<task_width::block>(
                    warp.view.kernels, layout.consumer, queue.element(place), false, copy,
                    [&](const auto& code, auto& element) { return call_kernel(ctx, code, element, node, worker); },
                    true);
                if (node.made().queue() != warp_type::none) filled = node.made().queue();
                node.tell(ctx);
                warp.note_node(node);
                return out;
            },
            [&](std::uint32_t number, std::uint32_t count, std::uint32_t yields) {
                const auto lane = static_cast<std::uint32_t>(ctx.lane());
                led = true;
                channel_batch all;
                all.queue = number;
                all.count = static_cast<int>(count);
                all.mine = lane < count;
                all.place = team_.place(lane);
                const outcome out = (yields >> lane & 1) != 0 ? outcome::yield : outcome::done;
                warp.tallies.note(ctx, set.channel_of(number % set.queues_a_shard));
                channel_claims<Ctx, Out, View>::end(ctx, warp, all, filled, out, true);
                if (View::receives && ++sends_ % 16 == 0) (void)warp.out.flush_old(ctx);
            });
        if (!led) warp.note_filled(ctx, filled);  // it may lead next
    }

    channel_team<Ctx> team_;
    unsigned sends_ = 0;
};

/// In place of one where no kernel takes a block.
template <class Ctx, class Out, class View>
class no_channel_block_work {
public:
    using warp_type = channel_warp<Ctx, Out, View>;

    LANEWAY_FN no_channel_block_work(std::byte*, block_team<Ctx>*, std::uint32_t) {}
    LANEWAY_FN void open(Ctx&) const {}
    LANEWAY_FN bool help(Ctx&, warp_type&) const { return false; }
    [[nodiscard]] LANEWAY_FN bool is_called_away(Ctx&) const { return false; }
    [[nodiscard]] LANEWAY_FN bool takes(const warp_type&, std::uint32_t) const { return false; }
    LANEWAY_FN bool dispatch(Ctx&, warp_type&, std::uint32_t) const { return false; }
};

}  // namespace laneway

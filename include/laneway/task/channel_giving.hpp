// What a warp gives to PEs without work that have asked for it; channel_moving.hpp has the requests.
#pragma once

#include "laneway/task/channel_warp.hpp"

namespace laneway {

/// Functions of whole warps.
template <class Ctx, class Out, class View>
struct channel_giving {
    using warp_type = channel_warp<Ctx, Out, View>;

    /// Sends part of the least deep elements of this block's shard to a PE that has asked for work, if one has.
    /// `share(ctx)` lets the warp's shard have part of what the warp keeps.
    template <class Share>
    static LANEWAY_FN void give(Ctx& ctx, warp_type& warp, const Share& share) {
        const int pe = warp.view.moving.pe_that_asks(ctx);
        if (pe < 0) return;
        share(ctx);
        const std::uint32_t inside = shallowest(ctx, warp);
        if (inside == none || !takes(ctx, warp, pe)) return;
        const channel_queue_ref queue = warp.view.set.queue(warp.own * warp.view.set.queues_a_shard + inside);
        const std::uint32_t half = once(ctx, full_warp<Ctx>, [&] { return (queue.fill(ctx) + 1) / 2; });
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, half, place);
        if (count == 0 && ctx.lane() == 0) warp.view.moving.leave(ctx, pe);
        ctx.sync(full_warp<Ctx>);
        if (count == 0) return;
        const channel_layout& layout = warp.view.set.channels[warp.view.set.channel_of(inside)];
        const moved_header header{inside - layout.first_queue, static_cast<std::uint32_t>(ctx.pe()),
                                  static_cast<std::uint32_t>(count)};
        const bool mine = ctx.lane() < count;
        if (mine) send(ctx, warp, pe, layout.consumer, header, queue.element(place));
        ctx.sync(full_warp<Ctx>);
        const lane_mask sent = ctx.ballot(full_warp<Ctx>, mine);
        if (mine) {
            (void)queue.release(ctx, sent, place);
            ++warp.moved;
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) warp.out.complete(ctx, static_cast<std::uint32_t>(count));
    }

private:
    static constexpr std::uint32_t none = channel_node::no_queue;
    static constexpr std::uint64_t queues = channel_rank_queues;

    static LANEWAY_FN bool takes(Ctx& ctx, const warp_type& warp, int pe) {
        return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{warp.view.moving.take(ctx, pe)}; }) != 0;
    }
    static LANEWAY_FN void send(Ctx& ctx, warp_type& warp, int pe, std::uint32_t kernel, const moved_header& header,
                                const std::byte* at) {
        come_behind(ctx, at);
        warp.view.kernels.visit(kernel, [&]<class Kernel>(const Kernel&) {
            if constexpr (moves_elements<Kernel>) {
                const auto& element = *reinterpret_cast<const typename Kernel::element*>(at);
                (void)warp.out.post(ctx, pe, moved_element<Kernel>{header, element});
            }
        });
    }
    /// Number within its shard of the least deep queue of this block's that has elements to give; none: there is none.
    static LANEWAY_FN std::uint32_t shallowest(Ctx& ctx, const warp_type& warp) {
        const channel_set_ref& set = warp.view.set;
        std::uint64_t best = ~std::uint64_t{0};
        for (std::uint32_t c = 0; c < set.n_channels; ++c) {
            bool moves = set.channels[c].is_arrivals == 0 && set.channels[c].is_remote == 0;
            warp.view.kernels.visit(set.channels[c].consumer,
                                    [&]<class Kernel>(const Kernel&) { moves = moves && moves_elements<Kernel>; });
            if (!moves) continue;
            const std::uint32_t level = warp.chooser.shallowest_of(ctx, warp.own, c, 2);
            const std::uint64_t mine = set.depth(c, level) * queues + set.channels[c].first_queue + level;
            if (level != none && mine < best) best = mine;
        }
        best = warp_min(ctx, best);
        return best == ~std::uint64_t{0} ? none : static_cast<std::uint32_t>(best % queues);
    }
};

}  // namespace laneway

// What the parts of a warp's work for channels have in common: elements that it runs together, what it has seen and
// done.
#pragma once

#include "laneway/comm/roles.hpp"
#include "laneway/task/channel_chooser.hpp"
#include "laneway/task/channel_consuming.hpp"
#include "laneway/task/channel_moving.hpp"
#include "laneway/task/channel_remote.hpp"
#include "laneway/task/channel_tallies.hpp"

namespace laneway {

/// Where the elements of a batch come from; those for a block are run by the block, which is called to them.
enum class channel_source : std::uint32_t { nothing, queue, stack, frames, block };

/// Elements that the lanes of a warp run together, one a lane at most.
struct channel_batch {
    static constexpr std::uint32_t no_queue = channel_node::no_queue;

    channel_source from = channel_source::nothing;
    std::uint32_t queue = no_queue;  ///< of the PE, where they come from one
    std::uint32_t base = 0;          ///< of the stack: position of the first
    int count = 0;

    // Of this lane's.
    bool mine = false;  ///< whether it has one
    std::uint32_t channel = 0;
    std::uint32_t level = 0;
    std::uint32_t place = 0;  ///< in its queue, or of its frame; of the stack, its tag
    std::byte* element = nullptr;
    std::uint32_t first_in = no_queue;
    std::uint32_t room = no_queue;  ///< that it came in, and still has
    moved_header moved{};           ///< of one that has moved here
    ready_elements made;            ///< what the lane has produced for others
};

/// One lane's. Members that take a context are called by whole warps.
template <class Ctx, class Out, class View>
struct channel_warp {
    static constexpr std::uint32_t none = channel_node::no_queue;
    static_assert(none == channel_rooms_ref::none);

    LANEWAY_FN channel_warp(const View& of_pe, Out& to, const roles& mine)
        : view(of_pe), out(to), chooser(of_pe),
          number(static_cast<std::uint32_t>(of_pe.set.by_blocks != 0 ? mine.team_number : mine.worker_index)),
          own(shard_of(number)) {}

    const View& view;
    Out& out;
    channel_chooser<Ctx, View> chooser;
    std::uint32_t number;  ///< among the warps that decide, or the blocks
    std::uint32_t own;     ///< the shard of this warp
    unsigned turn = 0;
    std::uint32_t filled = none;  ///< the queue that the last dispatch has produced into
    std::uint32_t served = none;  ///< the queue that was served last
    std::uint64_t yields = 0, items = 0, moved = 0, sent = 0, given = 0;  ///< of this lane
    std::uint64_t dispatches = 0, full = 0, idle_turns = 0;               ///< of the warp
    channel_tallies<Ctx> tallies;

    /// The shard of a warp, or block, of this number.
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_of(std::uint32_t of_number) const {
        return of_number % view.set.n_shards;
    }
    /// Whether the last dispatch found no space for any of its elements.
    [[nodiscard]] LANEWAY_FN bool is_stuck() const { return chooser.history().stuck != 0; }
    [[nodiscard]] LANEWAY_FN const channel_layout& layout_of(std::uint32_t queue) const {
        return view.set.channels[view.set.channel_of(queue % view.set.queues_a_shard)];
    }

    /// What a kernel has of the channels, for an element of this level.
    LANEWAY_FN auto node_of(std::uint32_t level, std::uint32_t first_in, [[maybe_unused]] std::uint32_t room = none,
                            [[maybe_unused]] std::uint32_t room_class = 0, const warp_stack* stack = nullptr) const {
        if constexpr (View::receives) {
            return remote_node<Out, View>(view.set, own, level, first_in, room, room_class, out, stack);
        } else {
            return channel_node(view.set, own, level, first_in, stack);
        }
    }
    template <class Node>
    LANEWAY_FN void note_node([[maybe_unused]] const Node& node) {
        if constexpr (View::receives) sent += node.sent();
    }
    /// Keeps a queue that a lane of the warp has produced into.
    LANEWAY_FN void note_filled(Ctx& ctx, std::uint32_t into) {
        const lane_mask producers = ctx.ballot(full_warp<Ctx>, into != none);
        const int any = producers != 0 ? Ctx::first_lane(producers) : 0;
        filled = ctx.shuffle(full_warp<Ctx>, into, any);
    }
    /// Keeps what the next choice and the report need. `queue`: that was served; none: the warp's own stack.
    LANEWAY_FN void note(Ctx& ctx, std::uint32_t queue, std::uint32_t into, int count, bool mine, outcome how) {
        note_filled(ctx, into);
        if (queue != none) served = queue;  // what comes between is what these elements have produced
        const lane_mask yielded = ctx.ballot(full_warp<Ctx>, mine && how == outcome::yield);
        const lane_mask went_on = ctx.ballot(full_warp<Ctx>, mine && how != outcome::yield);
        chooser.history().note(went_on == 0 && yielded != 0, yielded != 0);
        dispatches += count != 0 ? 1 : 0;  // what a warp takes off its stack may be places of what others completed
        full += count == Ctx::warp_lanes ? 1 : 0;
        if (mine && how == outcome::yield) ++yields;
        if (mine && how == outcome::done) ++items;
    }

    /// Adds what the warp has done to the totals of its PE.
    LANEWAY_FN void tell_totals(Ctx& ctx) {
        std::uint64_t sums[] = {yields, items, moved, sent, given};
        warp_sums(ctx, sums);
        tallies.tell(ctx, view.set);
        out.count_items(ctx, ctx.lane() == 0 ? sums[1] : 0);
        if (ctx.lane() != 0) return;
        channel_totals& totals = *view.set.totals;
        ctx.fetch_add(&totals.dispatches, dispatches, order::relaxed, scope::device);
        ctx.fetch_add(&totals.full_dispatches, full, order::relaxed, scope::device);
        ctx.fetch_add(&totals.yields, sums[0], order::relaxed, scope::device);
        ctx.fetch_add(&totals.moved, sums[2], order::relaxed, scope::device);
        ctx.fetch_add(&totals.sent, sums[3], order::relaxed, scope::device);
        ctx.fetch_add(&totals.given, sums[4], order::relaxed, scope::device);
        ctx.fetch_add(&totals.idle_turns, idle_turns, order::relaxed, scope::device);
    }
};

}  // namespace laneway

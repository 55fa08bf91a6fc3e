// Elements that a warp takes from a queue of its PE, one for each lane, and what becomes of them there when they have
// run.
#pragma once

#include "laneway/task/channel_warp.hpp"

namespace laneway {

/// Functions of whole warps.
template <class Ctx, class Out, class View>
struct channel_claims {
    using warp_type = channel_warp<Ctx, Out, View>;
    using copy_type = typename copies_of<typename View::kernel_types>::type;

    /// Claims the elements of one queue. `next`: as channel_queue_ref::claim says.
    static LANEWAY_FN channel_source claim(Ctx& ctx, warp_type& warp, std::uint32_t number, channel_batch& all,
                                           copy_type& copy, std::uint64_t next) {
        const channel_queue_ref queue = warp.view.set.queue(number);
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, static_cast<std::uint32_t>(Ctx::warp_lanes), place, ~std::uint64_t{0}, next);
        if (count == 0) return channel_source::nothing;
        all.queue = number;
        all.count = count;
        all.place = place;
        const std::uint32_t inside = number % warp.view.set.queues_a_shard;
        all.channel = warp.view.set.channel_of(inside);
        const channel_layout& layout = warp.view.set.channels[all.channel];
        all.mine = ctx.lane() < all.count;
        all.element = queue.element(all.place);
        all.level = inside - layout.first_queue;
        if (View::moves && layout.is_arrivals != 0) {
            if (all.mine) all.moved = *reinterpret_cast<const moved_header*>(all.element);
            all.level = all.moved.level;
            all.element += sizeof(moved_header);
        }
        // What is first in its queue keeps all behind it from being freed: in a cycle of channels it might wait for
        // them.
        const bool came = View::receives && layout.is_remote != 0;
        const bool is_first = warp.is_stuck() && !came && all.mine && queue.is_first(ctx, all.place);
        if (is_first) all.first_in = number;
        if (came && all.mine) all.room = warp.view.set.room_at(number, queue, all.place);
        if (all.mine) {
            come_behind(ctx, queue.element(all.place));
            copy_element(warp.view.kernels, layout.consumer, all.element, copy);
        }
        return channel_source::queue;
    }
    /// `owed`: elements that are completed when the warp keeps nothing any more; null: it keeps nothing.
    static LANEWAY_FN void end_batch(Ctx& ctx, warp_type& warp, channel_batch& all, outcome out, std::uint64_t* owed) {
        const channel_layout& layout = warp.view.set.channels[all.channel];
        if constexpr (View::receives) {
            const bool came = layout.is_remote != 0;
            const std::uint32_t room_class = channel_rooms_ref::class_of(layout.levels, all.level);
            if (came && all.mine && out == outcome::done)
                leave_room(ctx, warp, warp.view.set.queue(all.queue), all.room, room_class);
            ctx.sync(full_warp<Ctx>);
        }
        warp.tallies.note(ctx, all.channel);
        end(ctx, warp, all, all.made.queue(), out, owed == nullptr);
        // What the warp keeps of what these have produced is part of them: nobody else counts it.
        if (owed != nullptr) *owed += static_cast<std::uint32_t>(all.count);
        if constexpr (View::moves) {
            // Behind the release: the place must be free.
            if (all.mine && out == outcome::done && all.moved.count != 0)
                warp.view.moving.note_freed(ctx, all.moved.source, all.moved.count);
            ctx.sync(full_warp<Ctx>);
        }
    }
    /// The end of elements that this warp has claimed, one of each lane that has one: those that are done are freed,
    /// others put back, and what the lanes have made ready is shown, all behind one fence. `into`: the queue that the
    /// lane has produced into. `completes`: they count as completed.
    static LANEWAY_FN void end(Ctx& ctx, warp_type& warp, channel_batch& all, std::uint32_t into, outcome out,
                               bool completes) {
        const channel_queue_ref queue = warp.view.set.queue(all.queue);
        const bool came = View::receives && warp.layout_of(all.queue).is_remote != 0;
        const bool frees = all.mine && out == outcome::done && !came;
        const lane_mask freed = ctx.ballot(full_warp<Ctx>, frees);
        all.made.announce(ctx, warp.view.set);
        ready_elements back;
        if (all.mine && out != outcome::done) {
            go_before(ctx, queue.element(all.place));
            back = {all.queue, all.place, 1};
            back.announce(ctx, warp.view.set);
        }
        ctx.sync(full_warp<Ctx>);  // what each has read and counted comes before what any of them tells
        shared_fence(ctx, order::release, scope::device);
        channel_queue_ref::freed_bits bits;
        if (frees) bits = queue.free(ctx, freed, all.place);
        all.made.show(ctx, warp.view.set);
        back.show(ctx, warp.view.set);
        // What these have created, and themselves once more where they were put back, has been counted above.
        if (completes && ctx.lane() == 0)
            warp.out.complete(ctx, static_cast<std::uint32_t>(all.count), behind_fence<Ctx>);
        warp.note(ctx, all.queue, into, all.count, all.mine, out);
        if (frees) (void)queue.check(ctx, all.place, bits);
        ctx.sync(full_warp<Ctx>);
    }

private:
    /// An element that came in a room is done. The room goes back, unless it has gone on. Any lane.
    static LANEWAY_FN void leave_room(Ctx& ctx, warp_type& warp, const channel_queue_ref& queue, std::uint32_t room,
                                      std::uint32_t room_class) {
        const lane_mask all = ctx.converged();
        if (elected(ctx, all)) queue.count_released(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(all)));
        if (room == warp_type::none) return;
        const std::uint32_t a_pe = warp.view.set.rooms.a_pe;
        const returned_room<typename View::kernel_types> back{room_class, room % a_pe};
        (void)warp.out.post(ctx, static_cast<int>(room / a_pe), back);  // a failure ends the run
    }
};

}  // namespace laneway

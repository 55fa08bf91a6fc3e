// Kernels of the user's own, as the lanes of a PE see them: requests to the host's launch thread of the PE, in the
// order in which it serves them, and whom to tell when each has returned.
#pragma once

#include "laneway/queue/work_group_queue.hpp"
#include "laneway/task/remote_names.hpp"

namespace laneway {

/// What the host's launch thread gets.
struct remote_launch {
    std::uint32_t kernel = 0;
    std::int32_t source = 0;      ///< the PE that has posted it; -1: a host thread
    std::byte* landed = nullptr;  ///< on the PE that launches it
    std::uint64_t landed_bytes = 0;
    remote_bytes arguments;
};

/// A launch that has not returned, in PE memory.
struct pending_launch {
    completion_signal told;
    std::uint64_t released = 0;  ///< 1 more than the number of the last launch that has been told of here
};

/// Null where the remote queue has no kernels.
struct remote_launches_ref {
    work_group_sender<remote_launch> queue;
    pending_launch* pending = nullptr;  ///< one a slot of the queue
    std::uint64_t* told = nullptr;      ///< launches of whose end lanes have begun to tell

    /// Whether one more would find room, as far as this lane knows.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool has_room(Ctx& ctx) const {
        if (pending == nullptr) return false;
        const std::uint64_t done = ctx.load(told, order::relaxed, scope::device);
        return ctx.load(queue.tail, order::relaxed, scope::device) - done < queue.all_slots();
    }
    /// Whether some have been requested of whose end nobody has told.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any_pending(Ctx& ctx) const {
        if (pending == nullptr) return false;
        const std::uint64_t done = ctx.load(told, order::relaxed, scope::device);
        return ctx.load(queue.tail, order::relaxed, scope::device) > done;
    }

    /// Hands a request to the host. One lane; waits for a slot, which depends on the host alone; `idle()` meanwhile,
    /// which finishes launches.
    template <class Ctx, class Idle>
    LANEWAY_FN status push(Ctx& ctx, const remote_launch& launch, const completion_signal& signal, Idle&& idle) const {
        column_position position;
        const status reserved = queue.reserve(ctx, position, idle);
        if (reserved != status::ok) return reserved;
        pending_launch& mine = pending[position.slot];
        if (position.ticket >= queue.all_slots()) {
            const std::uint64_t before = position.ticket - queue.all_slots() + 1;
            // Partner: the release store in finish.
            const status free = wait_until(
                ctx, {operation::launch, ctx.pe(), launch.kernel},
                [&] { return ctx.load(&mine.released, order::acquire, scope::device) == before; }, idle);
            if (free != status::ok) return free;
        }
        mine.told = signal;
        queue.write(position.slot, 0, launch);
        queue.publish(ctx, lane_mask{1} << ctx.lane(), position, 1);
        return status::ok;
    }

    /// Calls `tell(signal)` for each launch that has returned and that no other lane tells of. One lane; does not wait.
    template <class Ctx, class Tell>
    LANEWAY_FN bool finish(Ctx& ctx, Tell&& tell) const {
        bool any = false;
        while (any_pending(ctx)) {
            std::uint64_t next = ctx.load(told, order::relaxed, scope::device);
            column_position position;
            position.ticket = position.turn = next;
            position.slot = queue.slot_of(0, next);
            // What the launch thread did comes before; and that, what the lane that has pushed it wrote.
            if (!queue.is_served(ctx, position)) return any;
            if (!ctx.compare_exchange(told, next, next + 1, order::relaxed, scope::device)) continue;
            pending_launch& launch = pending[position.slot];
            const completion_signal signal = launch.told;
            // Partner: the acquire load in push.
            ctx.store(&launch.released, next + 1, order::release, scope::device);
            tell(signal);
            any = true;
        }
        return any;
    }
};

}  // namespace laneway

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
    std::uint32_t* taking = nullptr;    ///< 1 while a lane takes a command that needs a slot

    /// Whether one more would find room, as far as this lane knows.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool has_room(Ctx& ctx) const {
        return pending != nullptr && is_free(ctx, ctx.load(queue.tail, order::relaxed, scope::device));
    }
    /// Whether some have been requested of whose end nobody has told.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any_pending(Ctx& ctx) const {
        if (pending == nullptr) return false;
        const std::uint64_t done = ctx.load(told, order::relaxed, scope::device);
        return ctx.load(queue.tail, order::relaxed, scope::device) > done;
    }

    /// Takes a command by `claim()` where there is a slot for its launch, which is `ticket` from then on and must be
    /// pushed; whether it has come to that. One lane; does not wait: where another lane takes one there is nothing for
    /// this one now.
    template <class Ctx, class Claim>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, std::uint64_t& ticket, Claim&& claim) const {
        if (pending == nullptr || ctx.load(taking, order::relaxed, scope::device) != 0) return false;
        // Partner: the release store below.
        if (ctx.exchange(taking, 1u, order::acquire, scope::device) != 0) return false;
        ticket = ctx.load(queue.tail, order::relaxed, scope::device);
        const bool taken = is_free(ctx, ticket) && claim();
        if (taken) ctx.store(queue.tail, ticket + 1, order::relaxed, scope::device);
        ctx.store(taking, 0u, order::release, scope::device);
        return taken;
    }
    /// Hands a request to the host, in the slot that was found for it. One lane.
    template <class Ctx>
    LANEWAY_FN void push(Ctx& ctx, std::uint64_t ticket, const remote_launch& launch,
                         const completion_signal& signal) const {
        const column_position position = at(ticket);
        pending[position.slot].told = signal;
        go_before(ctx, &pending[position.slot]);
        queue.write(position.slot, 0, launch);
        queue.publish(ctx, lane_mask{1} << ctx.lane(), position, 1);
    }

    /// Calls `tell(signal)` for each launch that has returned and that no other lane tells of. One lane; does not wait.
    template <class Ctx, class Tell>
    LANEWAY_FN bool finish(Ctx& ctx, Tell&& tell) const {
        bool any = false;
        while (any_pending(ctx)) {
            std::uint64_t next = ctx.load(told, order::relaxed, scope::device);
            const column_position position = at(next);
            // What the launch thread did comes before; and that, what the lane that has pushed it wrote.
            if (!queue.is_served(ctx, position)) return any;
            if (!ctx.compare_exchange(told, next, next + 1, order::relaxed, scope::device)) continue;
            pending_launch& launch = pending[position.slot];
            const completion_signal signal = launch.told;
            come_behind(ctx, &launch);
            // Partner: the acquire load in is_free.
            ctx.store(&launch.released, next + 1, order::release, scope::device);
            tell(signal);
            any = true;
        }
        return any;
    }

private:
    /// The queue has one line.
    [[nodiscard]] LANEWAY_FN column_position at(std::uint64_t ticket) const {
        return {ticket, ticket, 0, queue.slot_of(0, ticket)};
    }
    /// Whether the launch that had the slot of this ticket has been told of.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_free(Ctx& ctx, std::uint64_t ticket) const {
        if (ticket < queue.all_slots()) return true;
        // Partner: the release store in finish.
        return ctx.load(&pending[at(ticket).slot].released, order::acquire, scope::device) ==
               ticket - queue.all_slots() + 1;
    }
};

}  // namespace laneway

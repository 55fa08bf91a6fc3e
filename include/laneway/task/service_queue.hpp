// What a block keeps of its queue into a service: tickets, and which slots may be used again. All of it lies in the
// block's shared memory, so posting needs no atomic of the PE's: what a block has posted is told to the PE when its
// bodies return.
#pragma once

#include "laneway/task/service_rings_ref.hpp"

namespace laneway {

/// In shared memory. A slot is free when its last requests have been served and those who waited for them have read
/// what was answered.
struct service_queue {
    static constexpr std::uint32_t max_slots = 64;

    alignas(16) std::uint64_t tail;     ///< next ticket
    std::uint64_t known;                ///< slots done as far as the block knows (ComP-Net's local read index)
    std::uint64_t released[max_slots];  ///< by slot: 1 more than the last ticket whose answers have been read

    /// Goes on behind the `posted` slots of runs before, of which nothing is left. One lane of the block, before use; a
    /// block barrier must follow. `slots`: of the queue.
    LANEWAY_FN void open(std::uint64_t posted, std::uint64_t slots) {
        *this = {};
        tail = known = posted;
        for (std::uint64_t t = posted < slots ? 0 : posted - slots; t < posted; ++t) released[t % slots] = t + 1;
    }

    /// Draws the next ticket if its slot is free. One lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool try_draw(Ctx& ctx, const service_ring& ring, std::uint64_t& ticket) {
        const std::uint64_t slots = ring.requests.n_slots;
        ticket = ctx.load(&tail, order::relaxed, scope::block);
        do {
            if (ticket < slots) continue;
            if (!is_done(ctx, ring, ticket - slots)) return false;
            // Partner: release. The answers have been read before others are stored there.
            if (ctx.load(&released[ring.requests.slot_of(ticket)], order::acquire, scope::block) !=
                ticket - slots + 1) {
                return false;
            }
        } while (!ctx.compare_exchange(&tail, ticket, ticket + 1, order::relaxed, scope::block));
        return true;
    }

    /// Whether a slot has been served; the server's word is read only where the block's own does not say so.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_done(Ctx& ctx, const service_ring& ring, std::uint64_t ticket) {
        // Partner: the fetch_max below.
        if (ctx.load(&known, order::acquire, scope::block) > ticket) return true;
        // Partner: the release store in service_slot::close.
        const std::uint64_t now = ring.load_done(ctx);
        ctx.fetch_max(&known, now, order::release, scope::block);
        return now > ticket;
    }

    /// The answers of a slot have been read, or nobody wants them. One lane, for those that have met it.
    template <class Ctx>
    LANEWAY_FN void release(Ctx& ctx, const service_ring& ring, std::uint64_t ticket) {
        ctx.store(&released[ring.requests.slot_of(ticket)], ticket + 1, order::release, scope::block);
    }
};

}  // namespace laneway

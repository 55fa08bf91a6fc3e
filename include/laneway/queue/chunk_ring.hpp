// The ticketed chunk ring: one direction between two PEs.
//
// Many warps of the source send, warps of the destination receive. Every shared word has one writing PE, so no remote
// atomic is needed: a slot's flag and payload are written by the source, its credit by the destination. Tickets are
// drawn from a counter in the source's own memory; ticket t uses slot t mod n_slots. Slots are filled and drained
// independently: the ring keeps no order between chunks.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// Where the parts of one ring lie. Each pointer is valid on the side that the view belongs to.
struct chunk_ring_layout {
    std::byte* slots = nullptr;        ///< n_slots × slot_bytes, readable by the destination
    std::uint64_t* flags = nullptr;    ///< n_slots; (ticket + 1) << 20 | kind << 16 | messages, beside the slots
    std::uint64_t* credits = nullptr;  ///< n_slots; ticket + 1 of the last chunk served there, readable by the source
    std::uint64_t* tail = nullptr;     ///< next ticket; source memory
    std::uint32_t n_slots = 0;
    std::uint32_t slot_bytes = 0;  ///< multiple of 16
};

inline constexpr std::uint32_t max_chunk_messages = 0xffff;
inline constexpr std::uint32_t max_chunk_kinds = 16;

/// What a chunk's flag says of it: `kind << 16 | messages`; 0 where nothing has arrived.
struct chunk_label {
    std::uint32_t bits = 0;

    [[nodiscard]] LANEWAY_FN std::uint32_t messages() const { return bits & max_chunk_messages; }
    [[nodiscard]] LANEWAY_FN std::uint32_t kind() const { return bits >> 16; }
};

/// The source's view of a ring.
class chunk_sender : public chunk_ring_layout {
public:
    /// Draws a ticket and waits until its slot is free, calling `idle()` meanwhile. Called by exactly the lanes of the
    /// mask, together; all get the same answer. On ok `ticket` holds the place; it must be published, as a ticket that
    /// is never published blocks the ring.
    template <class Ctx, class Idle>
    [[nodiscard]] LANEWAY_FN status reserve(Ctx& ctx, lane_mask mask, int peer, std::uint64_t& ticket,
                                            Idle&& idle) const {
        ticket = once(ctx, mask, [&] { return ctx.fetch_add(tail, 1, order::relaxed, scope::device); });
        const std::uint64_t free_at = ticket < n_slots ? 0 : ticket - n_slots + 1;
        const std::uint64_t* credit = credits + ticket % n_slots;
        // Partner: chunk_receiver::give_back. The payload of the last lap has been read before we overwrite it.
        return wait_together(
            ctx, mask, {operation::reserve_slot, peer, ticket},
            [&] { return ctx.load(credit, order::acquire, scope::system) == free_at; }, static_cast<Idle&&>(idle));
    }

    [[nodiscard]] LANEWAY_FN std::byte* slot(std::uint64_t ticket) const {
        return slots + (ticket % n_slots) * slot_bytes;
    }

    /// Makes the chunk visible. Called by exactly the lanes of the mask, which wrote the slot between them.
    template <class Ctx>
    LANEWAY_FN void publish(Ctx& ctx, lane_mask mask, std::uint64_t ticket, std::uint32_t messages,
                            std::uint32_t kind = 0) const {
        ctx.sync(mask);
        if (elected(ctx, mask)) {
            // Partner: chunk_receiver::arrived. Cumulative over the other lanes' writes through the barrier.
            ctx.store(flags + ticket % n_slots, (ticket + 1) << 20 | kind << 16 | messages, order::release,
                      scope::system);
        }
    }
};

/// The destination's view of a ring.
class chunk_receiver : public chunk_ring_layout {
public:
    /// Label of the chunk with this ticket, 0 while it has not arrived (an empty chunk is never sent). Any lane; does
    /// not wait. The caller owns the ticket: tickets are shared out among the receiving warps beforehand.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_label arrived(Ctx& ctx, std::uint64_t ticket) const {
        const std::uint64_t* flag = flags + ticket % n_slots;
        if (ctx.load(flag, order::relaxed, scope::system) >> 20 != ticket + 1) return {};
        // Partner: chunk_sender::publish. Loaded again with acquire only on arrival: polling must stay cheap.
        return {static_cast<std::uint32_t>(ctx.load(flag, order::acquire, scope::system) & 0xfffff)};
    }

    [[nodiscard]] LANEWAY_FN const std::byte* slot(std::uint64_t ticket) const {
        return slots + (ticket % n_slots) * slot_bytes;
    }

    /// Frees the slot. Called by exactly the lanes of the mask, after their last read of it.
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, lane_mask mask, std::uint64_t ticket) const {
        ctx.sync(mask);
        if (elected(ctx, mask)) {
            // Partner: chunk_sender::reserve and quiet.
            ctx.store(credits + ticket % n_slots, ticket + 1, order::release, scope::system);
        }
    }
};

}  // namespace laneway

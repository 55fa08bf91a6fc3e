// What one warp of a block has taken from a ring for the others: chunks that lie one behind the other.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// In a block's shared memory; for single lanes.
struct remote_hand_out {
    alignas(16) std::uint64_t first;  ///< ticket of the first chunk
    std::uint32_t place;              ///< of the ring
    std::uint32_t open;               ///< chunks that nobody has yet; in the upper half, how often some were laid out

    /// Lays out chunks. One lane of the block at a time, behind those that have before, when none is open.
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, std::uint32_t of_place, std::uint64_t ticket, std::uint32_t chunks) {
        ctx.store(&place, of_place, order::relaxed, scope::block);
        ctx.store(&first, ticket, order::relaxed, scope::block);
        const std::uint32_t before = ctx.load(&open, order::relaxed, scope::block);
        // Partner: the acquire load in take.
        ctx.store(&open, (before / one_time + 1) * one_time + chunks, order::release, scope::block);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any(Ctx& ctx) const {
        return ctx.load(&open, order::relaxed, scope::block) % one_time != 0;
    }
    /// Takes one, if any is open.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, std::uint32_t& of_place, std::uint64_t& ticket) {
        // Partner: the release store in put.
        std::uint32_t seen = ctx.load(&open, order::acquire, scope::block);
        while (seen % one_time != 0) {
            // Of these, not of those that may be laid out next: else the exchange fails.
            of_place = ctx.load(&place, order::relaxed, scope::block);
            ticket = ctx.load(&first, order::relaxed, scope::block) + seen % one_time - 1;
            if (ctx.compare_exchange(&open, seen, seen - 1, order::acq_rel, scope::block)) return true;
        }
        return false;
    }

private:
    static constexpr std::uint32_t one_time = 1u << 16;
};

}  // namespace laneway

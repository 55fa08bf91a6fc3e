// A ring of 31-bit ids with many producers and one consuming block.
//
// The ring never refuses a push: its capacity must be at least the number of ids that can be inside at once, which
// the caller guarantees (a worklist that holds each id at most once needs as many places as there are ids). Producers
// claim places one by one from a counter; consumers look at the places themselves, not at the counter, so an id is
// seen as soon as it is written. The consumers' head lies in their block's shared memory: claiming costs no traffic.
// A place also says in which lap it was written, odd or even: a consumer that has claimed a place and not yet emptied
// it would else offer its id once more to those who come round.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

class id_ring_ref {
public:
    /// `places`: `capacity` words, a power of two, zeroed before use; `tail`: a zeroed word. Both in PE memory.
    LANEWAY_FN id_ring_ref(std::uint32_t* places, std::uint64_t capacity, std::uint64_t* tail)
        : places_(places), mask_(capacity - 1), tail_(tail) {}

    static constexpr std::uint32_t max_ids = 0x7fffffff;

    /// Adds an id below max_ids. Any lane. Waits only for a consumer that has claimed the place a lap ago and not yet
    /// emptied it. `how`: relaxed where all that a consumer reads of the id is one word, which both change by atomics.
    template <class Ctx>
    LANEWAY_FN status push(Ctx& ctx, std::uint32_t id, order how = order::release) const {
        const std::uint64_t position = ctx.fetch_add(tail_, 1, order::relaxed, scope::device);
        std::uint32_t* place = places_ + (position & mask_);
        return wait_until(ctx, {operation::push_id, -1, position}, [&] {
            std::uint32_t empty = 0;
            // Partner: the acquire load in pop. What the producer knows of the id is visible to its consumer.
            return ctx.compare_exchange(place, empty, (id + 1) | lap_bit(position), how, scope::device);
        });
    }

    /// Takes ids that have been written, at most one a lane, in the order of their places, and only places before
    /// `limit`, a number of pushes. All lanes of a warp of the consuming block, together; does not wait. Returns
    /// whether this lane got one. A warp that finds few takes a quarter of them and leaves the rest to its siblings.
    /// `how`: acquire, or as for push.
    template <class Ctx>
    LANEWAY_FN bool pop(Ctx& ctx, std::uint64_t* head, std::uint32_t& id, std::uint64_t limit = ~std::uint64_t{0},
                        order how = order::acquire) const {
        constexpr lane_mask all = full_warp<Ctx>;
        std::uint64_t first = once(ctx, all, [&] { return ctx.load(head, order::relaxed, scope::block); });
        const std::uint64_t mine = first + static_cast<std::uint64_t>(ctx.lane());
        std::uint32_t* place = places_ + (mine & mask_);
        // Partner: the release in push. What is read here stays as it is if the claim below succeeds.
        const std::uint32_t seen = mine < limit && mine - first <= mask_ ? ctx.load(place, how, scope::device) : 0;
        const bool is_new = seen != 0 && (seen & lap_mask) == lap_bit(mine);
        const lane_mask missing = ~ctx.ballot(all, is_new) & all;
        const int written = missing == 0 ? Ctx::warp_lanes : Ctx::first_lane(missing);
        if (written == 0) return false;
        const int part = written == Ctx::warp_lanes ? written : (written + 3) / 4;
        const bool claimed = once(ctx, all, [&]() -> std::uint32_t {
                                 return ctx.compare_exchange(head, first, first + static_cast<std::uint64_t>(part),
                                                             order::relaxed, scope::block);
                             }) != 0;
        if (!claimed || ctx.lane() >= part) return false;
        id = (seen & ~lap_mask) - 1;
        // Partner: the compare_exchange in push; coherence of the one word orders it after the load above.
        ctx.store(place, 0, order::relaxed, scope::device);
        return true;
    }

    /// Pushes claimed so far, those still being written included. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t pushes(Ctx& ctx) const {
        return ctx.load(tail_, order::relaxed, scope::device);
    }

private:
    static constexpr std::uint32_t lap_mask = std::uint32_t{1} << 31;
    [[nodiscard]] LANEWAY_FN std::uint32_t lap_bit(std::uint64_t position) const {
        return (position & (mask_ + 1)) != 0 ? lap_mask : 0;
    }

    std::uint32_t* places_;
    std::uint64_t mask_;
    std::uint64_t* tail_;
};

}  // namespace laneway

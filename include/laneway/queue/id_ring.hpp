// A ring of 32-bit ids with many producers and many consumers, all on one PE.
//
// The ring never refuses a push: its capacity must be at least the number of ids that can be inside at once, which
// the caller guarantees (a worklist that holds each id at most once needs as many places as there are ids).
// Places are claimed by whole groups of lanes with one atomic, then filled and emptied one by one.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// Words of the ring that lanes fight over, each on a line of its own.
struct id_ring_ends {
    alignas(destructive_bytes) std::uint64_t head = 0;
    alignas(destructive_bytes) std::uint64_t tail = 0;
};

class id_ring_ref {
public:
    id_ring_ref() = default;
    /// `places`: `capacity` zeroed words, a power of two; PE memory.
    id_ring_ref(std::uint32_t* places, std::uint64_t capacity, id_ring_ends* ends)
        : places_(places), mask_(capacity - 1), ends_(ends) {}

    /// Adds one id for each lane; called by exactly the lanes of the mask. Waits only for a consumer that has claimed
    /// the place a lap ago and not yet read it. Ids are below 2^32 - 1.
    template <class Ctx>
    LANEWAY_FN status push(Ctx& ctx, lane_mask mask, std::uint32_t id) const {
        const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(&ends_->tail, lanes, order::relaxed, scope::device); });
        const std::uint64_t position = first + static_cast<std::uint64_t>(rank_in(ctx, mask));
        std::uint32_t* place = places_ + (position & mask_);
        const status waited = wait_until(ctx, {operation::push_id, -1, position},
                                         [&] { return ctx.load(place, order::relaxed, scope::device) == 0; });
        // Partner: the acquire load in pop. What the producer knows of the id is visible to its consumer.
        if (waited == status::ok) ctx.store(place, id + 1, order::release, scope::device);
        return waited;
    }

    /// Takes at most one id a lane, and no more than this group's part where `sharers` groups share what is there;
    /// called by exactly the lanes of the mask. Returns whether this lane got one. Takes only places before `limit` (a
    /// position as tail() counts them). Does not wait for pushes to come, only for the producers of claimed places.
    template <class Ctx>
    LANEWAY_FN bool pop(Ctx& ctx, lane_mask mask, std::uint64_t sharers, std::uint32_t& id,
                        std::uint64_t limit = ~std::uint64_t{0}) const {
        std::uint64_t first = 0;
        std::uint64_t taken = 0;
        if (elected(ctx, mask)) {
            taken = claim(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(mask)), sharers, limit, first);
        }
        taken = ctx.shuffle(mask, taken, Ctx::first_lane(mask));
        if (taken == 0) return false;
        first = ctx.shuffle(mask, first, Ctx::first_lane(mask));
        const auto rank = static_cast<std::uint64_t>(rank_in(ctx, mask));
        if (rank >= taken) return false;
        std::uint32_t* place = places_ + ((first + rank) & mask_);
        std::uint32_t seen = 0;
        // Partner: the release store in push.
        const status waited = wait_until(ctx, {operation::pop_id, -1, first + rank},
                                         [&] { return (seen = ctx.load(place, order::acquire, scope::device)) != 0; });
        if (waited != status::ok) return false;
        ctx.store(place, 0, order::relaxed, scope::device);  // partner: the wait in push, ordered by coherence alone
        id = seen - 1;
        return true;
    }

    /// Positions claimed by producers so far: the number of pushes ever made. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t tail(Ctx& ctx) const {
        return ctx.load(&ends_->tail, order::acquire, scope::device);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t head(Ctx& ctx) const {
        return ctx.load(&ends_->head, order::relaxed, scope::device);
    }

private:
    template <class Ctx>
    LANEWAY_FN std::uint64_t claim(Ctx& ctx, std::uint64_t most, std::uint64_t sharers, std::uint64_t limit,
                                   std::uint64_t& first) const {
        std::uint64_t head = ctx.load(&ends_->head, order::relaxed, scope::device);
        for (;;) {
            std::uint64_t end = ctx.load(&ends_->tail, order::relaxed, scope::device);
            if (end > limit) end = limit;
            if (head >= end) return 0;
            const std::uint64_t part = (end - head + sharers - 1) / sharers;
            const std::uint64_t wanted = part < most ? part : most;
            if (ctx.compare_exchange(&ends_->head, head, head + wanted, order::relaxed, scope::device)) {
                first = head;
                return wanted;
            }
        }
    }

    std::uint32_t* places_ = nullptr;
    std::uint64_t mask_ = 0;
    id_ring_ends* ends_ = nullptr;
};

}  // namespace laneway

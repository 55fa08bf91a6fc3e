// A queue of numbers in the memory of a PE.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway {

/// A queue of numbers that many lanes put in and take out, of a capacity that they never exceed. Words say in which lap
/// of the queue they were put there.
struct number_queue_ref {
    std::uint64_t* words = nullptr;  ///< zeroed before use
    std::uint64_t* drawn = nullptr;
    std::uint64_t* taken = nullptr;
    std::uint32_t capacity = 1;  ///< a power of two

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A place for each lane; those that come together to one queue draw theirs with one add.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t draw(Ctx& ctx) const {
        const lane_mask mask = mates(ctx, ctx.converged(), drawn);
        const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(drawn, lanes, order::relaxed, scope::device); });
        return first + static_cast<std::uint64_t>(rank_in(ctx, mask));
    }
    /// Puts a number into a place that the lane has drawn.
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, std::uint64_t place, std::uint32_t number) const {
        // Partner: the acquire load in at.
        ctx.store(word(place), lap<Ctx>(place) << 32 | number, order::release, scope::device);
    }
    /// The number at a place, `none` where it has not been put there. What its lane wrote before is visible.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t at(Ctx& ctx, std::uint64_t place) const {
        // Partner: the release store in put.
        const std::uint64_t seen = ctx.load(word(place), order::acquire, scope::device);
        return seen >> 32 == lap<Ctx>(place) ? static_cast<std::uint32_t>(seen) : none;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any(Ctx& ctx) const {
        return any_at(ctx, ctx.load(taken, order::relaxed, scope::device));
    }
    /// The same where `taken` was this when it was looked at.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any_at(Ctx& ctx, std::uint64_t place) const {
        return ctx.load(word(place), order::relaxed, scope::device) >> 32 == lap<Ctx>(place);
    }

private:
    // By shifts: a division takes a GPU as long as a load.
    [[nodiscard]] LANEWAY_FN std::uint64_t* word(std::uint64_t place) const { return words + (place & (capacity - 1)); }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t lap(std::uint64_t place) const {
        return (place >> Ctx::first_lane(capacity)) % 0xffff'ffff + 1;
    }
};

/// The ends of one.
struct alignas(destructive_bytes) number_queue_ends {
    std::uint64_t drawn;
    alignas(destructive_bytes) std::uint64_t taken;
};

}  // namespace laneway

// Numbers of places that are free: many lanes take some and put them back. None waits for another, but for the few
// steps of one that has been promised a number, or a place for one, and is about to take it.
//
// Lanes take by additions, which all succeed: with a compare-and-swap one lane of all that try would succeed for each
// way to memory and back.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// What changes of them, but for the numbers.
struct free_numbers_words {
    alignas(destructive_bytes) std::uint64_t drawn;      ///< places for numbers that are put back
    alignas(destructive_bytes) std::uint64_t taken;      ///< places to take one from
    alignas(destructive_bytes) std::uint64_t available;  ///< numbers that nobody has been promised; below zero for
                                                         ///< moments, where lanes want more than there are
};

struct free_numbers_ref {
    std::uint32_t* places = nullptr;  ///< a number and 1, or 0: any lane that may, takes it, as all are alike
    free_numbers_words* words = nullptr;
    std::uint32_t capacity = 1;  ///< a power of two

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A number for each lane that comes; `none` where there are not as many, or the run is being stopped. What was
    /// done before it was put back is visible.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t take(Ctx& ctx) const {
        const lane_mask mask = mates(ctx, ctx.converged(), places);
        const auto rank = static_cast<std::uint64_t>(rank_in(ctx, mask));
        const auto wanted = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        const std::uint64_t got = once(ctx, mask, [&] { return promise(ctx, wanted); });
        if (got == 0) return none;
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(&words->taken, got, order::relaxed, scope::device); });
        if (rank >= got) return none;
        std::uint32_t* const place = place_of(first + rank);
        bounded_spin spin;
        for (;;) {
            // Partner: the release in put_back.
            const std::uint32_t number = ctx.exchange(place, 0u, order::acquire, scope::device);
            if (number != 0) return number - 1;
            if (spin.next(ctx, site()) != status::ok) return none;
        }
    }
    template <class Ctx>
    LANEWAY_FN void put_back(Ctx& ctx, std::uint32_t number) const {
        const lane_mask mask = mates(ctx, ctx.converged(), places);
        const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(&words->drawn, lanes, order::relaxed, scope::device); });
        std::uint32_t* const place = place_of(first + static_cast<std::uint64_t>(rank_in(ctx, mask)));
        std::uint32_t empty = 0;
        bounded_spin spin;
        // Partner: the acquire in take.
        while (!ctx.compare_exchange(place, empty, number + 1, order::release, scope::device)) {
            if (spin.next(ctx, site()) != status::ok) return;
            empty = 0;
        }
        // Who is promised a number before it is there looks until it is.
        const lane_mask put = mates(ctx, ctx.converged(), places);
        if (!elected(ctx, put)) return;
        const auto numbers = static_cast<std::uint64_t>(Ctx::count_lanes(put));
        (void)ctx.fetch_add(&words->available, numbers, order::relaxed, scope::device);
    }

private:
    static LANEWAY_FN wait_site site() { return {operation::use_request, -1, 0}; }

    [[nodiscard]] LANEWAY_FN std::uint32_t* place_of(std::uint64_t place) const {
        return places + (place & (capacity - 1));
    }
    /// How many of `wanted` numbers the lanes get. One lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t promise(Ctx& ctx, std::uint64_t wanted) const {
        // Looks first: lanes that wait for a number are not to keep one that comes from others.
        if (is_none(ctx.load(&words->available, order::relaxed, scope::device))) return 0;
        const std::uint64_t seen = ctx.fetch_add(&words->available, 0 - wanted, order::relaxed, scope::device);
        const std::uint64_t got = is_none(seen) ? 0 : seen < wanted ? seen : wanted;
        if (got != wanted) ctx.fetch_add(&words->available, wanted - got, order::relaxed, scope::device);
        return got;
    }
    /// Zero, or below it.
    static LANEWAY_FN bool is_none(std::uint64_t available) { return static_cast<std::int64_t>(available) <= 0; }
};

}  // namespace laneway

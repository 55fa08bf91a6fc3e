// How many pages of a device heap each quota holds, and may hold.
#pragma once

#include "laneway/memory/device_heap_layout.hpp"

namespace laneway {

class page_quota {
public:
    LANEWAY_FN explicit page_quota(const device_heap_layout& heap) : heap_(heap) {}

    /// Counts pages that are about to be claimed; false, and nothing changes, where the quota has no room for them, or
    /// others were faster too often. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, std::uint32_t quota, std::uint64_t count) const {
        std::uint64_t* const counters = heap_.counters_of(quota);
        std::uint64_t* const held = counters + device_heap_layout::pages_held;
        const std::uint64_t allowed =
            ctx.load(counters + device_heap_layout::pages_allowed, order::relaxed, scope::device);
        std::uint64_t now = ctx.load(held, order::relaxed, scope::device);
        for (int tried = 0; now + count <= allowed && tried < max_tries; ++tried) {
            if (!ctx.compare_exchange(held, now, now + count, order::relaxed, scope::device)) continue;
            note_peak(ctx, counters, now + count);
            std::uint64_t* const all = heap_.counters_of(heap_.n_quotas);
            const std::uint64_t before =
                ctx.fetch_add(all + device_heap_layout::pages_held, count, order::relaxed, scope::device);
            note_peak(ctx, all, before + count);
            return true;
        }
        return false;
    }
    /// Those are free again, or were not found.
    template <class Ctx>
    LANEWAY_FN void give(Ctx& ctx, std::uint32_t quota, std::uint64_t count) const {
        for (const std::uint32_t whose : {quota, heap_.n_quotas}) {
            ctx.fetch_add(heap_.counters_of(whose) + device_heap_layout::pages_held, 0 - count, order::relaxed,
                          scope::device);
        }
    }

private:
    static constexpr int max_tries = 256;

    template <class Ctx>
    static LANEWAY_FN void note_peak(Ctx& ctx, std::uint64_t* counters, std::uint64_t held) {
        ctx.fetch_max(counters + device_heap_layout::pages_peak, held, order::relaxed, scope::device);
    }

    const device_heap_layout& heap_;
};

}  // namespace laneway

// How many pages of a device heap each quota holds, and may hold.
#pragma once

#include "laneway/memory/device_heap_layout.hpp"

namespace laneway {

/// What becomes of pages that a quota is asked for. `contended`: others have some in hand that they may not keep.
enum class quota_answer : std::uint32_t { taken, full, contended };

/// A quota's word says how many pages it holds, how many lanes have taken some, or are freeing some, and not decided
/// yet what becomes of them, and how often that was decided. So it is exact: pages of lanes that have not finished may
/// be too many by those that are about to be given back, and count for nobody's refusal.
class page_quota {
public:
    LANEWAY_FN explicit page_quota(const device_heap_layout& heap) : heap_(heap) {}

    /// How many pages the quota may hold.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t pages_allowed(Ctx& ctx, std::uint32_t quota) const {
        return ctx.load(heap_.counters_of(quota) + device_heap_layout::pages_allowed, order::relaxed, scope::device);
    }
    /// Whether it could count so many more, as it is seen.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool has_room(Ctx& ctx, std::uint32_t quota, std::uint64_t count) const {
        const std::uint64_t allowed = pages_allowed(ctx, quota);
        return seen(ctx, quota).pages() + count <= allowed;
    }

    /// Counts pages that are about to be claimed, where the quota has room for them; finish() follows if they are
    /// taken. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN quota_answer take(Ctx& ctx, std::uint32_t quota, std::uint64_t count) const {
        std::uint64_t* const counters = heap_.counters_of(quota);
        std::uint64_t* const held = counters + device_heap_layout::pages_held;
        const std::uint64_t allowed = pages_allowed(ctx, quota);
        // Where there is no room nothing is added, so that lanes that ask in vain do not make each other unsure.
        const quota_word now = seen(ctx, quota);
        if (now.pages() + count > allowed) return refusal(now);
        // Partner: the fence in heap_words::is_same: who sees a page that is claimed next sees that it is in hand.
        const quota_word before{ctx.fetch_add(held, count + quota_word::one_in_hand, order::release, scope::device)};
        if (before.pages() + count > allowed) {
            ctx.fetch_add(held, 0 - count, order::relaxed, scope::device);
            finish(ctx, quota);
            return refusal(before);
        }
        note_peak(ctx, counters, before.pages() + count);
        std::uint64_t* const all = heap_.counters_of(heap_.n_quotas);
        const std::uint64_t all_before =
            ctx.fetch_add(all + device_heap_layout::pages_held, count, order::relaxed, scope::device);
        note_peak(ctx, all, all_before + count);
        return quota_answer::taken;
    }
    /// A lane is about to free pages, or to give them another size; finish() follows when they are in the set of those
    /// that are free, or have room. Relaxed: it changes their words by a release.
    template <class Ctx>
    LANEWAY_FN void hold(Ctx& ctx, std::uint32_t quota) const {
        ctx.fetch_add(heap_.counters_of(quota) + device_heap_layout::pages_held, quota_word::one_in_hand,
                      order::relaxed, scope::device);
    }
    /// It is known whether those pages are kept; what is not has been given.
    template <class Ctx>
    LANEWAY_FN void finish(Ctx& ctx, std::uint32_t quota) const {
        // Behind the claim: who sees that it has finished sees the page.
        ctx.fetch_add(heap_.counters_of(quota) + device_heap_layout::pages_held,
                      quota_word::one_finished - quota_word::one_in_hand, order::release, scope::device);
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
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN quota_word seen(Ctx& ctx, std::uint32_t quota) const {
        return {ctx.load(heap_.counters_of(quota) + device_heap_layout::pages_held, order::relaxed, scope::device)};
    }
    [[nodiscard]] static LANEWAY_FN quota_answer refusal(quota_word seen) {
        return seen.in_hand() == 0 ? quota_answer::full : quota_answer::contended;
    }
    template <class Ctx>
    static LANEWAY_FN void note_peak(Ctx& ctx, std::uint64_t* counters, std::uint64_t held) {
        ctx.fetch_max(counters + device_heap_layout::pages_peak, held, order::relaxed, scope::device);
    }

    const device_heap_layout& heap_;
};

}  // namespace laneway

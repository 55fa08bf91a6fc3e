// Adding up what lies at the other ends of arcs, with all lanes of a warp busy whatever the degrees are.
#pragma once

#include "fixed_rank.hpp"
#include "laneway/flow/balance.hpp"

namespace laneway::apps {

/// Where the lanes find what comes along arcs; PE memory.
template <bool Weighted>
struct arc_shares {
    const std::uint32_t* sources;  ///< one an arc: index of its tail's share
    const std::uint32_t* weights;  ///< one an arc; not looked at unless Weighted
    const float* shares;
};

/// Sum of the words before `position`; the lanes hold those from `first` on, and `sums` is their inclusive scan. The
/// whole warp, together.
template <class Ctx>
LANEWAY_FN std::uint64_t sum_before(Ctx& ctx, std::uint64_t sums, std::uint32_t first, std::uint32_t position) {
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    const std::uint32_t count = position < first ? 0 : position - first < lanes ? position - first : lanes;
    const std::uint64_t sum = ctx.shuffle(full_warp<Ctx>, sums, static_cast<int>(count == 0 ? 0 : count - 1));
    return count == 0 ? 0 : sum;
}

/// Sum of shares[sources[a]], times weights[a] where Weighted, each as a whole number, over the arcs a of this lane's
/// range. Ranges of neighbouring lanes follow each other, as rows of a tile do; the first begins with lane 0's. The
/// whole warp, together.
///
/// Which lane loads what does not depend on where rows end: lanes take neighbouring arcs, several each, with all loads
/// on the way at once. Where one row has all of these, they are added up. Else a scan adds them up from the left, and a
/// row's sum is the difference of two of its sums, which is exact, as the numbers are whole.
///
/// A function of its own: its loads need the registers that its caller's state would take. `ctx` is a copy for it
/// alone, as an object whose address is taken lives in memory.
template <bool Weighted, class Ctx>
LANEWAY_SLOW std::uint64_t sum_shares(Ctx& ctx, arc_range mine, arc_shares<Weighted> in) {
    constexpr lane_mask all = full_warp<Ctx>;
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    constexpr std::uint32_t most = arc_batch::most;
    const std::uint32_t end = inclusive_scan(ctx, all, mine.count);
    const std::uint32_t begin = end - mine.count;
    const std::uint32_t total = ctx.shuffle(all, end, Ctx::warp_lanes - 1);
    const std::uint64_t first = ctx.shuffle(all, mine.begin, 0);
    const std::uint32_t* const sources = in.sources + first;
    [[maybe_unused]] const std::uint32_t* const weights = Weighted ? in.weights + first : nullptr;
    std::uint64_t sum = 0;
    for (std::uint32_t base = 0; base < total; base += lanes * most) {
        const std::uint32_t own = base + static_cast<std::uint32_t>(ctx.lane());
        // Loads without branches, so that none waits for another.
        std::uint32_t source[most];
        [[maybe_unused]] std::uint32_t weight[most];
        for (std::uint32_t k = 0; k < most; ++k) {
            const std::uint32_t arc = own + k * lanes;
            source[k] = sources[arc < total ? arc : total - 1];
            if constexpr (Weighted) weight[k] = weights[arc < total ? arc : total - 1];
        }
        float heard[most];
        for (std::uint32_t k = 0; k < most; ++k) heard[k] = in.shares[source[k]];
        std::uint64_t share[most];
        for (std::uint32_t k = 0; k < most; ++k) {
            const float its = own + k * lanes < total ? heard[k] : 0;
            if constexpr (Weighted) {
                share[k] = weigh_share(its, weight[k]);
            } else {
                share[k] = static_cast<std::uint64_t>(its);
            }
        }
        const std::uint32_t stop = total - base < lanes * most ? total : base + lanes * most;
        const lane_mask owner = ctx.ballot(all, begin <= base && stop <= end);
        if (owner != 0) {
            for (std::uint32_t k = 1; k < most; ++k) share[0] += share[k];
            const std::uint64_t whole = warp_sum(ctx, share[0]);
            if (elected(ctx, owner)) sum += whole;
            continue;
        }
        for (std::uint32_t k = 0; k < most && base + k * lanes < total; ++k) {
            const std::uint64_t sums = inclusive_scan(ctx, all, share[k]);
            sum += sum_before(ctx, sums, base + k * lanes, end) - sum_before(ctx, sums, base + k * lanes, begin);
        }
    }
    return sum;
}

}  // namespace laneway::apps

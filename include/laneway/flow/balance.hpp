// Spreading the arcs of vertices over the lanes of a warp by degree. Longer vertices are split: hub_shards.hpp.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway {

/// Arcs of one vertex: consecutive indices.
struct arc_range {
    std::uint64_t begin = 0;
    std::uint32_t count = 0;
};

/// Some of a range's arcs, for one lane: first, first + stride, ... A lane that gets several can have all their loads
/// on the way at once.
struct arc_batch {
    static constexpr int most = 4;

    std::uint64_t first = 0;
    std::uint32_t stride = 0;
    int count = 0;  ///< 0 to most

    /// Arc k of a batch that has some; where there are fewer, the first one once more.
    [[nodiscard]] LANEWAY_FN std::uint64_t arc(int k) const {
        return first + (k < count ? std::uint64_t{stride} * static_cast<unsigned>(k) : 0);
    }
};

/// Walks the arcs [from, end) of a range that begins at `begin` with all lanes of a warp. `visit` is called by the
/// whole warp, together: where nothing is left for a lane, its batch is empty.
template <class Ctx, class Payload, class Visit>
LANEWAY_FN void walk_range(Ctx& ctx, std::uint64_t begin, std::uint32_t from, std::uint32_t end, Payload payload,
                           Visit&& visit) {
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    for (std::uint32_t base = from; base < end; base += lanes * arc_batch::most) {
        const std::uint32_t i = base + static_cast<std::uint32_t>(ctx.lane());
        const std::uint32_t left = i < end ? (end - i - 1) / lanes + 1 : 0;
        visit(arc_batch{begin + i, lanes, left < arc_batch::most ? static_cast<int>(left) : arc_batch::most}, payload);
    }
}

/// Calls `visit(batch, payload)` so that each arc of each lane's range is in one batch; `payload` is the range's
/// lane's. The whole warp, together, and so are visits: some lanes' batches may be empty. A range as long as the warp
/// is walked by the warp; shorter ones are strung together, so that all lanes are busy whatever the degrees are. Ranges
/// of a warp have less than 2^32 - 128 arcs.
template <class Ctx, class Payload, class Visit>
LANEWAY_FN void for_each_batch(Ctx& ctx, const arc_range& mine, Payload payload, Visit&& visit) {
    constexpr lane_mask all = full_warp<Ctx>;
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    const bool is_long = mine.count >= lanes;
    for (lane_mask rest = ctx.ballot(all, is_long); rest != 0; rest &= rest - 1) {
        const int from = Ctx::first_lane(rest);
        const std::uint64_t begin = ctx.shuffle(all, mine.begin, from);
        const std::uint32_t count = ctx.shuffle(all, mine.count, from);
        walk_range(ctx, begin, 0, count, shuffle_value(ctx, all, payload, from), visit);
    }
    const std::uint32_t count = is_long ? 0 : mine.count;
    const std::uint32_t end = inclusive_scan(ctx, all, count);
    const std::uint32_t total = ctx.shuffle(all, end, Ctx::warp_lanes - 1);
    for (std::uint32_t base = 0; base < total; base += lanes) {
        const std::uint32_t i = base + static_cast<std::uint32_t>(ctx.lane());
        int owner = 0;  // the first lane whose ranges end after i
        for (int step = Ctx::warp_lanes / 2; step > 0; step /= 2) {
            if (ctx.shuffle(all, end, owner + step - 1) <= i) owner += step;
        }
        const std::uint64_t begin = ctx.shuffle(all, mine.begin, owner);
        const std::uint32_t before = ctx.shuffle(all, end - count, owner);
        const Payload theirs = shuffle_value(ctx, all, payload, owner);
        visit(arc_batch{begin + (i - before), 0, i < total ? 1 : 0}, theirs);
    }
}

/// The same where visits run on any lane and may diverge; no batch is empty.
template <class Ctx, class Payload, class Visit>
LANEWAY_FN void for_each_arc(Ctx& ctx, const arc_range& mine, Payload payload, Visit&& visit) {
    for_each_batch(ctx, mine, payload, [&](const arc_batch& batch, const Payload& its) {
        if (batch.count > 0) visit(batch, its);
    });
}

}  // namespace laneway

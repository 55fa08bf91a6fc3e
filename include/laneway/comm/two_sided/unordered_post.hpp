// Posting receives where messages have no order: the lane itself looks into the shard's table, beside whoever turns the
// shard, and takes a message that waits.
#pragma once

#include "laneway/comm/two_sided/message_delivery.hpp"
#include "laneway/simt/lone_lane.hpp"

namespace laneway {

/// Any lanes, each by itself; those that come together count with one add.
template <class Ctx>
class unordered_post {
public:
    LANEWAY_FN unordered_post(const two_sided_ref& view, const message_shard_ref& shard) : view_(view), shard_(shard) {}

    /// Posts the receive of a request that has been filled in. A turn gives it its message, unless that waits already.
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t number) const {
        ctx.fence(order::release, scope::device);  // whose turn finds the request finds it filled in
        const match_result found = shard_.table.post(ctx, view_.requests[number].key, number);
        const bool matched = found.outcome == match_outcome::matched;
        count(ctx, matched ? &shard_.state->met : &shard_.state->counts.receives);
        if (!matched) return;
        as_lone_lane(ctx, [&]<class Alone>(Alone& one) { take<Alone>(one, number, found.handle); });
        // Turns fill places; this one is empty when they find it here.
        shard_.returned.put(ctx, shard_.returned.draw(ctx), found.handle);
    }

private:
    LANEWAY_FN void count(Ctx& ctx, std::uint64_t* counter) const {
        const lane_mask same = mates(ctx, ctx.converged(), counter);
        if (!elected(ctx, same)) return;
        ctx.fetch_add(counter, static_cast<std::uint64_t>(Ctx::count_lanes(same)), order::relaxed, scope::device);
    }
    /// A message that waits; each lane does what a turn does as a warp.
    template <class Alone>
    LANEWAY_FN void take(Alone& one, std::uint32_t number, std::uint32_t place) const {
        const message_delivery<Alone> delivery(view_);
        delivery.give(one, true, number, delivery.kept(one, shard_, place));
        delivery.drop(one, shard_, true, place);
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
};

}  // namespace laneway

// Posting receives where messages have no order: the lane itself looks into the shard's table, beside whoever turns the
// shard, and takes a message that waits.
#pragma once

#include "laneway/comm/two_sided/message_delivery.hpp"

namespace laneway {

/// One lane, as a warp of its own (simt/lone_lane.hpp).
template <class Ctx>
class unordered_post {
public:
    LANEWAY_FN unordered_post(const two_sided_ref& view, const message_shard_ref& shard)
        : view_(view), shard_(shard), delivery_(view) {}

    /// Posts the receive of a request that has been filled in. A turn gives it its message, unless that waits already.
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t number) const {
        ctx.fence(order::release, scope::device);  // whose turn finds the request finds it filled in
        const match_result found = shard_.table.post(ctx, view_.requests[number].key, number);
        const bool matched = found.outcome == match_outcome::matched;
        std::uint64_t* const counter = matched ? &shard_.state->met : &shard_.state->counts.receives;
        ctx.fetch_add(counter, std::uint64_t{1}, order::relaxed, scope::device);
        if (!matched) return;
        delivery_.give(ctx, true, number, delivery_.kept(ctx, shard_, found.handle));
        delivery_.drop(ctx, shard_, true, found.handle);
        // Turns fill places; this one is empty when they find it here.
        shard_.returned.put(ctx, shard_.returned.draw(ctx), found.handle);
    }

private:
    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    message_delivery<Ctx> delivery_;
};

}  // namespace laneway

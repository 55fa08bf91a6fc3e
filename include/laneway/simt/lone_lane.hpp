// A lane that does by itself what whole warps do together.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// A context of one lane whose warp is that lane alone. Code for whole warps runs on it in divergent code as well,
/// where the lane's mates are somewhere else.
template <class Ctx>
class alone_in_warp : public Ctx {
public:
    static constexpr int warp_lanes = 1;

    LANEWAY_FN explicit alone_in_warp(const Ctx& lane) : Ctx(lane) {}

    [[nodiscard]] LANEWAY_FN int lane() const { return 0; }
    LANEWAY_FN lane_mask converged() { return 1; }
    LANEWAY_FN void sync(lane_mask) {}
    LANEWAY_FN lane_mask ballot(lane_mask, bool predicate) { return predicate ? 1 : 0; }
    template <class Key>
    LANEWAY_FN lane_mask match(lane_mask, Key) {
        return 1;
    }
    template <class T>
    LANEWAY_FN T shuffle(lane_mask, T value, int) {
        return value;
    }
};

/// Calls `use` with a context whose warp is this lane.
template <class Ctx, class Use>
LANEWAY_FN auto as_lone_lane(Ctx& ctx, Use&& use) {
    if constexpr (Ctx::warp_lanes == 1) {
        return use(ctx);
    } else {
        alone_in_warp<Ctx> alone(ctx);
        return use(alone);
    }
}

}  // namespace laneway

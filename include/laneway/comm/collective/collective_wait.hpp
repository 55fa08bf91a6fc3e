// How a warp waits in a collective.
#pragma once

#include "laneway/simt/message_order.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// Waits until `look()` holds on all lanes of the warp. The whole warp, together; `idle()` is called by the whole warp
/// between looks and may do what the others depend on. `site()` names what a lane waits for. Returns ok on all lanes or
/// stopped on all: the run is ending, or has been ended by the deadline of this wait.
template <class Ctx, class Look, class Site, class Idle>
[[nodiscard]] LANEWAY_FN status await_all_lanes(Ctx& ctx, Look&& look, Site&& site, Idle&& idle) {
    bounded_spin spin(2);
    for (unsigned looks = 1;; ++looks) {
        const lane_mask missing = ctx.ballot(full_warp<Ctx>, !look());
        if (missing == 0) return status::ok;
        // On a GPU the stop word, the clock and other work are for one look in some: how soon a word is seen is what a
        // round costs.
        if (Ctx::warp_lanes >= 32 && looks % 8 != 0) continue;
        const bool ends = elected(ctx, missing) && spin.next(ctx, site()) != status::ok;
        if (ctx.ballot(full_warp<Ctx>, ends) != 0) return status::stopped;
        idle();
    }
}

}  // namespace laneway

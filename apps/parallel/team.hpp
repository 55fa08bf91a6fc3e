// The warps of a PE that run a functor, numbered, for work that is divided beforehand.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway::apps {

/// A warp's place among the working warps of its PE.
struct team {
    std::uint64_t warp = 0;   ///< its number
    std::uint64_t warps = 0;  ///< how many there are

    /// Numbers the warp. The whole warp, together; `counter`, PE memory, starts at 0, and a barrier must follow.
    template <class Ctx>
    LANEWAY_FN void join(Ctx& ctx, std::uint64_t& counter) {
        warp = once(ctx, full_warp<Ctx>, [&] { return ctx.fetch_add(&counter, 1, order::relaxed, scope::device); });
    }
    /// Behind that barrier: how many have joined. Any lane.
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, const std::uint64_t& counter) {
        warps = ctx.load(&counter, order::relaxed, scope::device);
    }

    /// This lane's number among those of the team, and how many these are.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t lane(const Ctx& ctx) const {
        return warp * Ctx::warp_lanes + static_cast<std::uint64_t>(ctx.lane());
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t lanes(const Ctx&) const {
        return warps * Ctx::warp_lanes;
    }
};

}  // namespace laneway::apps

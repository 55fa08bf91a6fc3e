// The warps of a PE that run a functor, for work that is divided beforehand.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway::apps {

/// A warp's place among the working warps of its PE.
struct working_warp {
    std::uint64_t number = 0;
    std::uint64_t warps = 0;  ///< how many there are

    template <class Ctx>
    LANEWAY_FN static working_warp of(const Ctx& ctx) {
        return {ctx.local_rank() / static_cast<unsigned>(Ctx::warp_lanes),
                ctx.local_size() / static_cast<unsigned>(Ctx::warp_lanes)};
    }

    /// This lane's number among those of all these warps, and how many these are.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t lane(const Ctx& ctx) const {
        return number * Ctx::warp_lanes + static_cast<std::uint64_t>(ctx.lane());
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t lanes(const Ctx&) const {
        return warps * Ctx::warp_lanes;
    }
};

/// Whether all lanes of the warp may go on.
template <class Ctx>
LANEWAY_FN bool all_go_on(Ctx& ctx, status going) {
    return ctx.ballot(full_warp<Ctx>, going != status::ok) == 0;
}

}  // namespace laneway::apps

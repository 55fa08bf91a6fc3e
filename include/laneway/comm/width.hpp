// Which lanes share one bulk operation, and how they share it out.
#pragma once

#include "laneway/memory/copy_bytes.hpp"

namespace laneway {

/// Which lanes share a bulk operation; all of them call it with the same arguments.
/// block: its working warps, which are those that run the functor.
enum class width { lane, warp, block };

/// The part of a bulk operation that a lane does.
template <class Ctx, class Endpoint>
LANEWAY_FN copy_share share_of(const Ctx& ctx, const Endpoint& endpoint, width lanes) {
    if (lanes == width::lane) return {};
    const auto team = lanes == width::block ? endpoint.team() : typename Endpoint::team_position{0, 1, 0};
    return {static_cast<std::uint64_t>(team.index * Ctx::warp_lanes + ctx.lane()),
            static_cast<std::uint64_t>(team.warps * Ctx::warp_lanes)};
}

}  // namespace laneway

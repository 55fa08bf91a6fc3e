// What suites of matching engines share.
#pragma once

#include "laneway/comm/matching/matching_memory.hpp"
#include "unit/sequential_matcher.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// What a random script is made of.
struct script_options {
    std::uint64_t steps = 400;
    std::uint32_t sources = 3, tags = 3;
    double wildcards = 0.2;    ///< share of receives with one, or with both
    std::uint32_t most = 100;  ///< that wait in a queue at once
    std::uint32_t width = 32;  ///< of what is brought together, at most
    match_rules rules;
};

/// Calls `run(team, lanes)` on one team of the PE: a block of warps, or a warp.
template <bool Block, class Ctx, class Run>
LANEWAY_FN void as_team(Ctx& ctx, const Run& run) {
    if (ctx.block() != 0) return;
    if constexpr (Block) {
        match_block<Ctx> team(ctx, reinterpret_cast<match_block_shared*>(ctx.shared()));
        run(team, static_cast<std::uint64_t>(ctx.n_warps() * Ctx::warp_lanes));
    } else if (ctx.warp() == 0) {
        match_warp<Ctx> team(ctx);
        run(team, std::uint64_t{Ctx::warp_lanes});
    }
}

}  // namespace
}  // namespace laneway::test

// Warps of a block that turn a shard together where much waits to be matched.
//
// Who has a shard and finds much in it leads: it opens the team for a moment, and warps that look then join. These have
// no function of a user's on their stack: their bodies have returned, or they serve, and they look between their turns.
// When the leader has closed the team, exactly those that came are in it, and each does the same turn to its end: none
// of them waits for anybody else, so all come to each barrier. Who comes late, or is in other work for long, is not in
// it, and nobody waits for that one.
#pragma once

#include "laneway/comm/block_team.hpp"
#include "laneway/comm/matching/match_team.hpp"

namespace laneway {

/// In a block's shared memory.
struct shard_team_shared {
    static constexpr std::uint32_t max_warps = 8;

    alignas(16) std::uint32_t free;  ///< warps of the block that look here
    std::uint32_t door;              ///< warps in the team that have not left it, and whether more may join
    std::uint32_t shard;             ///< that they turn
    block_team_shared meeting;
    match_warps_shared<max_warps> told;
};

/// A warp's way into the team of its block. All members are for the whole warp, together.
template <class Ctx>
class shard_team {
public:
    /// How a team matches. Its barriers end with the program: see match_block.
    using matching = match_block<Ctx, block_team<Ctx>, match_warps_shared<shard_team_shared::max_warps>>;

    LANEWAY_FN explicit shard_team(shard_team_shared& shared) : shared_(shared) {}

    /// From now on the warp looks here between its turns.
    LANEWAY_FN void be_free(Ctx& ctx) const {
        if (ctx.lane() == 0) ctx.fetch_add(&shared_.free, 1u, order::relaxed, scope::block);
    }
    /// Whether warps may join. Any lane.
    [[nodiscard]] LANEWAY_FN bool is_open(Ctx& ctx) const { return (door(ctx, order::relaxed) & open) != 0; }
    /// Whether there are some to lead, and nobody does. Any lane.
    [[nodiscard]] LANEWAY_FN bool may_lead(Ctx& ctx) const {
        return ctx.load(&shared_.free, order::relaxed, scope::block) > 1 && door(ctx, order::relaxed) == 0;
    }

    /// Who has this shard calls others to it for a moment: `turn(matching)` is made by all that have come, as by those
    /// in join. False where nobody has; then there was no turn.
    template <class Turn>
    LANEWAY_FN bool lead(Ctx& ctx, std::uint32_t shard, Turn&& turn) const {
        const std::uint32_t warps = once(ctx, full_warp<Ctx>, [&] { return gather(ctx, shard); });
        if (warps < 2) return false;
        take_part(ctx, 0, warps, turn);
        return true;
    }
    /// Takes part in the turn of another warp that has opened the team: `turn(matching)` on the shard of that number.
    /// False where there is none.
    template <class Turn>
    LANEWAY_FN bool join(Ctx& ctx, Turn&& turn) const {
        const std::uint32_t place = once(ctx, full_warp<Ctx>, [&] { return step_in(ctx); });
        if (place == 0) return false;
        // Its end is the leader's next step.
        const status closed = wait_together(
            ctx, full_warp<Ctx>, {operation::meet_block, -1, 0},
            [&] { return (door(ctx, order::acquire) & open) == 0; }, [] {});
        if (closed != status::ok) return false;
        const std::uint32_t warps = once(ctx, full_warp<Ctx>, [&] { return door(ctx, order::relaxed); });
        take_part(ctx, place, warps, turn);
        return true;
    }
    /// The shard that the team turns. Lanes of its warps.
    [[nodiscard]] LANEWAY_FN std::uint32_t shard() const { return shared_.shard; }

private:
    static constexpr std::uint32_t open = 1u << 16;
    /// Looks for others that come. On GPUs some microseconds, less than a batch takes one warp.
    static constexpr int max_looks = Ctx::warp_lanes >= 32 ? 48 : 12;

    [[nodiscard]] LANEWAY_FN std::uint32_t door(Ctx& ctx, order o) const {
        return ctx.load(&shared_.door, o, scope::block);
    }
    /// How many warps the team has; 0: another one leads. One lane.
    LANEWAY_FN std::uint32_t gather(Ctx& ctx, std::uint32_t shard) const {
        std::uint32_t nobody = 0;
        // Partner: the release add in take_part.
        if (!ctx.compare_exchange(&shared_.door, nobody, 1u, order::acquire, scope::block)) return 0;
        shared_.shard = shard;
        shared_.meeting.open();
        // Partner: the exchange in step_in.
        ctx.store(&shared_.door, open + 1, order::release, scope::block);
        const std::uint32_t free = ctx.load(&shared_.free, order::relaxed, scope::block);
        const std::uint32_t most = free < shard_team_shared::max_warps ? free : shard_team_shared::max_warps;
        for (int i = 0; i < max_looks && door(ctx, order::relaxed) - open < most; ++i) ctx.pause();
        // Partner: the acquire load in join.
        const std::uint32_t warps = ctx.fetch_add(&shared_.door, ~open + 1, order::acq_rel, scope::block) - open;
        if (warps == 1) ctx.store(&shared_.door, 0u, order::release, scope::block);
        return warps;
    }
    /// The warp's place in the team; 0: there is none for it. One lane.
    LANEWAY_FN std::uint32_t step_in(Ctx& ctx) const {
        std::uint32_t now = door(ctx, order::relaxed);
        while (now > open && now - open < shard_team_shared::max_warps) {
            if (ctx.compare_exchange(&shared_.door, now, now + 1, order::acq_rel, scope::block)) return now - open;
        }
        return 0;
    }
    template <class Turn>
    LANEWAY_FN void take_part(Ctx& ctx, std::uint32_t place, std::uint32_t warps, Turn&& turn) const {
        ctx.sync(full_warp<Ctx>);  // what lane 0 has acquired is visible to all
        const block_team<Ctx> mine(&shared_.meeting, static_cast<int>(place), static_cast<int>(warps));
        matching team(ctx, mine, &shared_.told);
        turn(team);
        team.sync();
        // Partner: the acquire exchange in gather. Who leads next uses the words of the last barrier anew.
        if (ctx.lane() == 0) ctx.fetch_add(&shared_.door, ~0u, order::release, scope::block);
    }

    shard_team_shared& shared_;
};

}  // namespace laneway

// Where the working warps of a block meet for a collective: they come one by one, the last one acts for all, and the
// others wait for a word of the block.
#pragma once

#include "laneway/comm/collective/collective_wait.hpp"
#include "laneway/comm/collective/collectives_ref.hpp"

namespace laneway {

/// In shared memory of a block.
struct collective_state {
    static constexpr int max_warps = 32;
    static constexpr std::uint32_t returned_one = 1u << 16;

    alignas(16) std::uint32_t warps;       ///< that have come, and in the upper half those that have returned
    std::uint32_t opened;                  ///< meetings that are over
    std::uint64_t block_round;             ///< last one of the block's group
    std::uint64_t grid_round;              ///< last one of the PE's group
    std::uint64_t grid_meeting;            ///< last one of the PE's blocks
    std::uint64_t result;                  ///< of the last meeting
    std::uint32_t called[max_warps];       ///< signatures of what each warp came for
    std::uint64_t values[max_warps];       ///< that each warp brings
    std::uint64_t warp_rounds[max_warps];  ///< last one of each warp's group

    /// One lane of the block, before use; a barrier of the block must follow. Each warp sets its own round itself.
    template <class Ctx>
    LANEWAY_FN void open(Ctx& ctx, const collectives_ref& ref, std::uint32_t block) {
        warps = 0;
        opened = 0;
        block_round = ctx.load(ref.block_rounds(block), order::relaxed, scope::device);
        grid_round = ctx.load(ref.grid_rounds(), order::relaxed, scope::device);
        grid_meeting = ctx.load(ref.grid_meetings(), order::relaxed, scope::device);
    }

    enum class arrival : std::uint32_t { waits, leads, uneven };

    /// A warp comes. One lane of it. The last one gets `leads`.
    template <class Ctx>
    LANEWAY_FN arrival arrive(Ctx& ctx, int warp, int team, std::uint32_t signature) {
        called[warp] = signature;
        return count(ctx, 1, team);
    }
    /// A warp's functor has returned. One lane of it. `leads` for the last one of a block whose warps have all
    /// returned; `uneven` where others wait.
    template <class Ctx>
    LANEWAY_FN arrival leave(Ctx& ctx, int team) {
        return count(ctx, returned_one, team);
    }
    /// Warps that have come to the meeting that is not over yet. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t waiting(Ctx& ctx) const {
        return ctx.load(&warps, order::relaxed, scope::block) % returned_one;
    }
    /// Whether all warps came for the same. The whole warp that leads, together.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool agree(Ctx& ctx, int team, std::uint32_t signature) const {
        bool same = true;
        for (int w = ctx.lane(); w < team; w += Ctx::warp_lanes) same = same && called[w] == signature;
        return ctx.ballot(full_warp<Ctx>, !same) == 0;
    }

private:
    template <class Ctx>
    LANEWAY_FN arrival count(Ctx& ctx, std::uint32_t one, int team) {
        // Partner: itself, in other warps. The last one has seen what all have done before.
        const std::uint32_t now = ctx.fetch_add(&warps, one, order::acq_rel, scope::block) + one;
        const std::uint32_t came = now % returned_one, returned = now / returned_one;
        if (came + returned != static_cast<std::uint32_t>(team)) return arrival::waits;
        return came == 0 || returned == 0 ? arrival::leads : arrival::uneven;
    }
};

/// Ends the run, unless it is ending: some warps of the block wait in a collective, and all others have returned. Any
/// lane.
template <class Ctx>
LANEWAY_FN status refuse_meeting(Ctx& ctx, const collective_state& state, int team) {
    if (!stopped(ctx)) {
        (void)fail(ctx, status::collective_incomplete, operation::collective, -1, state.waiting(ctx),
                   static_cast<std::uint64_t>(team));
    }
    return status::collective_incomplete;
}

/// Waits until all `team` warps of the block have come; the last one calls `lead()` before the others go on, unless it
/// fails. What the warps wrote before is seen by all behind it. The whole warp, together; `warp` is its number of
/// `team`. Returns ok, or not ok on all warps.
template <class Ctx, class Idle, class Lead>
LANEWAY_FN status meet_in_block(Ctx& ctx, collective_state& state, int warp, int team, std::uint32_t signature,
                                Idle&& idle, Lead&& lead) {
    using arrival = collective_state::arrival;
    go_before(ctx, &state);
    ctx.sync(full_warp<Ctx>);  // lane 0 speaks for all lanes
    const std::uint64_t met = once(ctx, full_warp<Ctx>, [&] {
        const std::uint64_t opened = ctx.load(&state.opened, order::relaxed, scope::block);
        return opened << 32 | static_cast<std::uint32_t>(state.arrive(ctx, warp, team, signature));
    });
    const auto before = static_cast<std::uint32_t>(met >> 32);
    ctx.sync(full_warp<Ctx>);
    switch (static_cast<arrival>(static_cast<std::uint32_t>(met))) {
        case arrival::uneven: return once(ctx, full_warp<Ctx>, [&] { return refuse_meeting(ctx, state, team); });
        case arrival::leads: {
            come_behind(ctx, &state);
            if (!state.agree(ctx, team, signature)) {
                return once(ctx, full_warp<Ctx>, [&] {
                    return fail(ctx, status::collective_mismatch, operation::collective, -1, before + std::uint64_t{1});
                });
            }
            // Nobody comes again before the meeting is over.
            if (ctx.lane() == 0) ctx.store(&state.warps, 0u, order::relaxed, scope::block);
            const status led = lead();
            if (led != status::ok) return led;
            go_before(ctx, &state);
            ctx.sync(full_warp<Ctx>);
            // Partner: the acquire load below.
            if (ctx.lane() == 0) ctx.store(&state.opened, before + 1, order::release, scope::block);
            return status::ok;
        }
        default: break;
    }
    const auto look = [&] {
        return ctx.lane() != 0 || ctx.load(&state.opened, order::acquire, scope::block) != before;
    };
    const auto site = [&] { return wait_site{operation::collective, -1, before + std::uint64_t{1}}; };
    const status over = await_all_lanes(ctx, look, site, idle);
    ctx.sync(full_warp<Ctx>);
    come_behind(ctx, &state);
    return over;
}

}  // namespace laneway

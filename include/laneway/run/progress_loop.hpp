// The loop that all warps of a persistent kernel run.
#pragma once

#include "laneway/comm/roles.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// What the warps of a block tell each other about the end of the run; in shared memory.
struct loop_state {
    alignas(16) std::uint32_t ended;
    std::uint32_t refreshing;  ///< 1 while a lane refreshes

    /// One lane of the block, before use; a block barrier must follow.
    LANEWAY_FN void open() { *this = {}; }
};

/// Runs a warp's roles in turns until the PE is told that all work everywhere is done, or the run is stopped. The whole
/// warp, together. `control`, `serve`, `work` and `flush` are collective; serving and working return whether there was
/// anything to do, and `work` is told whether this turn has served. Where any warp may serve, one that had no work in
/// its last turn does. `refresh` runs on one lane of the block now and then: words that all blocks poll are read once a
/// block, as a thousand warps that read one word would slow all others.
template <class Ctx, class Control, class Serve, class Work, class Refresh, class Flush>
LANEWAY_FN void progress_loop(Ctx& ctx, const roles& mine, loop_state* state, const termination_ref& termination,
                              Control&& control, Serve&& serve, Work&& work, Refresh&& refresh, Flush&& flush) {
    int turns_to_look = ctx.warp();  // the warps of a block take it in turns
    bool lends = false;
    for (unsigned turn = 0;; ++turn) {
        bool active = false;
        if (mine.control) control();
        if (mine.serves || lends) active = serve();
        if (mine.works) {
            const bool worked = work(active);
            lends = mine.claims && !worked;
            active = worked || active;
        }
        if (mine.flushes) flush();
        const bool my_look = turns_to_look == 0;
        turns_to_look = my_look ? ctx.n_warps() - 1 : turns_to_look - 1;
        // Partner: the release store below. Turns of warps differ in length, so two might look at once.
        if (my_look && ctx.lane() == 0 && ctx.exchange(&state->refreshing, 1, order::acquire, scope::block) == 0) {
            refresh();
            if (termination.has_finished(ctx) || stopped(ctx)) {
                ctx.store(&state->ended, 1u, order::relaxed, scope::block);
            }
            ctx.store(&state->refreshing, 0u, order::release, scope::block);
        }
        if (active) ctx.worked();
        if (active && turn % 64 != 0) continue;
        const std::uint32_t ended =
            once(ctx, full_warp<Ctx>, [&] { return ctx.load(&state->ended, order::relaxed, scope::block); });
        if (ended != 0) return;
        if (!active && (!mine.control || Ctx::warp_lanes == 1)) ctx.pause(0, true);
    }
}

}  // namespace laneway

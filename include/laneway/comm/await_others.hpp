// How lanes of a body wait for what other warps do.
#pragma once

#include "laneway/simt/wait.hpp"

namespace laneway {

/// Looks from one turn to the next of lanes that are assisted: the warp that assists may be at a function of a user's
/// that computes for long.
template <class Ctx>
inline constexpr unsigned looks_a_turn = Ctx::warp_lanes >= 32 ? 2048 : 64;

/// How lanes wait for others.
struct waiting_rules {
    bool leaves_turns = true;   ///< to other warps, where they take some
    bool assisted = false;      ///< a warp of the block takes turns and sends what has waited, all the time
    bool clock_a_turn = false;  ///< looks at the clock after each turn: turns may be long, and who waits should tell
                                ///< what for before others find that nothing goes on
};

/// Waits until `done()` holds, each lane for something of its own: it leaves when that has come, as what another one
/// waits for may depend on what it does next. Where no other warps take turns at the components' work (`out`, the
/// program's endpoint, knows), `turn(mask)` is called between looks, by the lanes of the mask together: it does some of
/// what may be waited for, does not wait, and says whether there was anything to do.
/// `site()` names the wait when it has taken too long.
template <class Ctx, class Out, class Site, class Done, class Turn>
requires std::is_invocable_v<Site>
[[nodiscard]] LANEWAY_FN status await_others(Ctx& ctx, Out& out, Site&& site, Done&& done, Turn&& turn,
                                             const waiting_rules& rules = {}) {
    // Who is assisted only looks, less often the longer it takes: tens of thousands of lanes that look as fast as they
    // can, each at a word of its own, take the memory from the warps whose work they wait for.
    bounded_spin spin(rules.assisted ? 9 : 2);
    unsigned looks = 0, turns = 0;
    while (!done()) {
        // On a GPU how soon a word is seen is what a step costs.
        if (Ctx::warp_lanes >= 32 && !rules.assisted && ++looks % 8 != 0) continue;
        bool worked = false;
        status going = status::ok;
        const bool only_looks = rules.assisted && ++looks % looks_a_turn<Ctx> != 0;
        if (!only_looks && (!rules.leaves_turns || !out.others_take_turns(ctx))) {
            const lane_mask together = ctx.converged();
            worked = turn(together);
            if (worked) ctx.worked();
            going = out.help(ctx, together);
        }
        if (going == status::ok && (!worked || ++turns % 16 == 0)) {
            if (rules.clock_a_turn && ctx.is_late() && !stopped(ctx)) {
                const wait_site at = site();
                return fail(ctx, status::timeout, at.what, at.peer, at.number, at.limit);
            }
            going = spin.next(ctx, site());
        }
        if (going != status::ok) return going;
    }
    return status::ok;
}

template <class Ctx, class Out, class Done, class Turn>
[[nodiscard]] LANEWAY_FN status await_others(Ctx& ctx, Out& out, const wait_site& site, Done&& done, Turn&& turn,
                                             const waiting_rules& rules = {}) {
    return await_others(
        ctx, out, [&] { return site; }, static_cast<Done&&>(done), static_cast<Turn&&>(turn), rules);
}
/// The same for what no component's turn brings.
template <class Ctx, class Out, class Done>
[[nodiscard]] LANEWAY_FN status await_others(Ctx& ctx, Out& out, const wait_site& site, Done&& done) {
    return await_others(ctx, out, site, static_cast<Done&&>(done), [](lane_mask) { return false; });
}

}  // namespace laneway

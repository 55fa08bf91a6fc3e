// Collectives as a component of a program: the device view.
#pragma once

#include "laneway/comm/collective/collectives.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// What a warp does while it waits for others. Where it is one lane with all roles, nobody else serves or sends.
template <class Ctx, class Out>
struct help_while_waiting {
    Ctx& ctx;
    Out& out;

    LANEWAY_FN void operator()() const {
        if constexpr (Ctx::warp_lanes == 1) (void)out.help(ctx, full_warp<Ctx>);  // the wait sees the end itself
    }
};

template <class Ctx, class Out>
struct collectives_agent : collectives<Ctx, help_while_waiting<Ctx, Out>> {
    static constexpr bool meets = true;
    using collectives<Ctx, help_while_waiting<Ctx, Out>>::collectives;
};

struct collectives_component_ref : collectives_ref {
    using routes_type = routes<>;
    static constexpr std::size_t shared_bytes = sizeof(collective_state);

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN collectives_agent<Ctx, Out> agent(Ctx& ctx, Out& out, const roles& role, std::byte* shared) const {
        const group_position position{role.team_number, role.team_index, role.team_warps, role.worker_index};
        return {*this, position, shared, help_while_waiting<Ctx, Out>{ctx, out}};
    }
};

}  // namespace laneway

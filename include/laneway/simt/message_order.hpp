// Tells checked devices what the library promises of the order of messages, so that they can tell accesses that have an
// order from those that only came in one (checked/race_watch.hpp). On other devices nothing is told and nothing costs.
#pragma once

#include "laneway/simt/order.hpp"

namespace laneway {

/// Calls `tell(history)` where a context keeps a lane's history.
template <class Ctx, class Tell>
LANEWAY_FN void tell_history([[maybe_unused]] Ctx& ctx, [[maybe_unused]] Tell&& tell) {
    if constexpr (requires { ctx.history(); }) tell(ctx.history());
}

/// While it lives, the lane does what it does for others: `begin(history)` says what that comes after.
template <class Ctx>
class served_scope {
public:
    template <class Begin>
    LANEWAY_FN served_scope(Ctx& ctx, Begin&& begin) : ctx_(ctx) {
        tell_history(ctx_, begin);
    }
    LANEWAY_FN ~served_scope() {
        tell_history(ctx_, [](auto& history) { history.end_served(); });
    }
    served_scope(const served_scope&) = delete;
    served_scope& operator=(const served_scope&) = delete;

private:
    Ctx& ctx_;
};

/// What this lane has done comes before what those do that come behind `come_behind` with the same place.
template <class Ctx>
LANEWAY_FN void go_before(Ctx& ctx, const void* place) {
    tell_history(ctx, [place](auto& history) {
        history.fence(order::release);
        history.carry(place);
    });
}
template <class Ctx>
LANEWAY_FN void come_behind(Ctx& ctx, const void* place) {
    tell_history(ctx, [place](auto& history) {
        history.hear(place);
        history.fence(order::acquire);
    });
}

}  // namespace laneway

// The mailbox: messages of one type or several, each served by its handler on the PE it is posted to.
#pragma once

#include "laneway/comm/endpoint.hpp"

namespace laneway {

/// Device half of a mailbox. Its agent is the endpoint of the program.
template <class Routes>
struct mailbox_ref {
    using routes_type = Routes;

    Routes routes;

    [[nodiscard]] const Routes& handlers() const { return routes; }

    template <class Ctx, class Out>
    LANEWAY_FN Out& agent(Ctx&, Out& out, const roles&, std::byte*) const {
        return out;
    }
};

/// A mailbox as the host knows it: types of message and the handlers that serve them. Made by runtime::mailbox.
template <class Routes>
struct mailbox_handle {
    using ref_type = mailbox_ref<Routes>;

    Routes handlers;

    [[nodiscard]] ref_type ref(int) const { return {handlers}; }
};

}  // namespace laneway

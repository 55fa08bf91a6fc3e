// The mailbox: messages of one type or several, each served by its handler on the PE it is posted to. What the host
// knows of one: mailbox_handle.hpp.
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

}  // namespace laneway

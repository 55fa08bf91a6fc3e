// A request type of a service that posts a message, so that the lane which asks need not find room for it.
#pragma once

#include "laneway/task/service_request.hpp"

namespace laneway {

/// Posts a message to a PE, of a type that some mailbox of the run carries; it is sent later, in no order, as what
/// handlers forward is:
///   const auto box = runtime.mailbox<edge>(relax{...});
///   lw::service served(runtime.machine(), {}, lw::send_request<edge>{});
///   runtime.run(body, box, served);
///   served.send(ctx, pe, edge{u, v});                 // in the body
template <class Message>
struct send_request {
    struct arguments {
        Message message;
        std::int32_t pe;
    };
    using result = void;
    static constexpr const char* name = "send";
    static constexpr bool forwards = true;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& a, service_call&, Forward& forward) const {
        (void)forward.post(ctx, a.pe, a.message);  // a failure ends the run
    }
};

}  // namespace laneway

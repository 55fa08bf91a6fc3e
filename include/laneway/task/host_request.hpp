// A request type of a service that is a function of the host, whoever serves: lanes of a server hand it on through the
// function's own queue, host threads that serve call it themselves.
#pragma once

#include "laneway/comm/host_calls.hpp"
#include "laneway/task/service_request.hpp"

namespace laneway {

/// Made of a function that runtime::host_calls has given, which it must not outlive:
///   auto log = runtime.host_calls<line>("log", write);
///   lw::service served(runtime.machine(), {}, lw::host_request(log));
///   served.post(ctx, lw::task<lw::host_request<line>>, text);
template <class Request, class Reply = no_reply>
struct host_request {
    using arguments = Request;
    using result = Reply;
    static constexpr const char* name = "host function";

    explicit host_request(const host_calls<Request, Reply>& function)
        : by_lanes_(function.ref()), by_host_(function.direct()) {}

    template <class Ctx>
    LANEWAY_FN Reply operator()(Ctx& ctx, const Request& request, service_call& call) const {
        if constexpr (on_host<Ctx>) {
            return by_host_(request);
        } else {
            const answered<Reply> answer = by_lanes_.call(ctx, request);
            if (!answer) call.refuse(answer.code);
            return answer.value;
        }
    }

private:
    host_calls_ref<Request, Reply> by_lanes_;
    direct_host_call<Request, Reply> by_host_;
};

template <class Request, class Reply>
host_request(const host_calls<Request, Reply>&) -> host_request<Request, Reply>;

}  // namespace laneway

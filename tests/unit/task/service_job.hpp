// What tests of services share.
#pragma once

#include <atomic>

#include "laneway/task/host_request.hpp"
#include "laneway/task/service.hpp"
#include "remote_job.hpp"

namespace laneway::test {

inline constexpr service_by all_servers[] = {service_by::warps, service_by::host, service_by::pe};

/// Counts that the request came, and gives the square.
struct mark_and_square {
    struct arguments {
        std::uint64_t id;
        std::uint64_t value;
    };
    using result = std::uint64_t;
    static constexpr const char* name = "square";
    symmetric_ref<std::uint64_t> marks;  ///< of the PE that has posted it, one a request

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& a, service_call& call) const {
        if (call.reaches_memory()) {
            ctx.fetch_add(address(ctx, marks[a.id], call.pe()), std::uint64_t{1}, order::relaxed, scope::system);
        }
        return a.value * a.value;
    }
};

/// Tells who has asked, and nothing that others see.
struct who_asks {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr const char* name = "who";
    static constexpr bool ordered = false;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& a, service_call& call) const {
        if (a == 7) call.refuse(status::no_room);
        return static_cast<std::uint64_t>(call.pe()) << 40 | static_cast<std::uint64_t>(call.block()) << 20 | a;
    }
};

/// A service by each kind of servers, and what it is called in messages.
inline service_options served_by(service_by by, const options& o) {
    service_options made;
    made.by = by;
    made.pe = 0;
    made.threads = 1 + static_cast<int>(o.seed % 2);
    made.slots = 1u << o.seed % 4;
    made.heap_bytes = 1 << 20;
    return made;
}
/// Host threads order what checked devices do not see.
inline options job_for(service_by by, options o) {
    if (by == service_by::host) o.checked_accesses.races = false;
    o.checked_blocks = 3;
    return o;
}

/// Calls `body(options, service_options)` for each kind of servers, in turn from round to round.
template <class Body>
void every_server(const std::string& devices, Body&& body, std::uint64_t rounds_of_a_server) {
    for (const service_by by : all_servers) {
        SCOPED_TRACE("by " + std::to_string(static_cast<int>(by)));
        repeat_rounds(devices, rounds_of_a_server, [&](const options& o) { body(job_for(by, o), served_by(by, o)); });
    }
}
/// Seeds are shared out among the kinds of servers and the pieces of the suite.
inline std::uint64_t service_rounds(const std::string& devices) { return (rounds_of(devices) + 11) / 12; }

}  // namespace laneway::test

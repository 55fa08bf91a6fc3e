// What tests of services share.
#pragma once

#include <atomic>

#include "laneway/task/host_request.hpp"
#include "laneway/task/service_client.hpp"
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

/// Tells who has asked and who serves, and nothing that others see.
struct who_asks {
    static constexpr std::uint64_t the_host = 99, not_a_server = 98;

    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr const char* name = "who";
    static constexpr bool ordered = false;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& a, service_call& call) const {
        if (a == 7) call.refuse(status::no_room);
        return told(server_of(ctx), call.pe(), call.block(), a);
    }
    static LANEWAY_FN result told(std::uint64_t server, int pe, int block, std::uint64_t asked) {
        return server << 52 | static_cast<std::uint64_t>(pe) << 40 | static_cast<std::uint64_t>(block) << 20 | asked;
    }

private:
    /// Where warps are wide the first block serves, and no lane of a body does.
    template <class Ctx>
    static LANEWAY_FN std::uint64_t server_of(Ctx& ctx) {
        if constexpr (on_host<Ctx>) {
            return the_host;
        } else {
            if (Ctx::warp_lanes > 1 && ctx.block() != 0) return not_a_server;
            return static_cast<std::uint64_t>(ctx.pe());
        }
    }
};

/// A service by each kind of servers, and what it is called in messages.
inline service_options served_by(service_by by, const options& o) {
    service_options made;
    made.by = by;
    made.pe = o.devices.empty() ? 0 : static_cast<int>(o.seed % parse_devices(o.devices).size());
    made.server_share = 0.001;  // one block
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

/// Of a session, in which requests are messages.
inline options session_of(options o, double seconds) {
    o.timeout_seconds = seconds;
    o.chunk_bytes = 1024;
    return o;
}

/// Whether request types of a test's own reach symmetric memory.
inline bool reach_memory(const options& o, const service_options& s) {
    return s.by != service_by::host || !(s.by_copies || o.devices.starts_with("cuda"));
}

/// Calls `body(options, service_options)` for each kind of servers, in turn from round to round; of host threads also
/// for those that copy. One in `parts` of the rounds for each kind; the seeds of a long run are shared out between the
/// two kinds that are lanes.
template <class Body>
void every_server(const std::string& devices, Body&& body, std::uint64_t parts = 6) {
    const auto rounds = [&](service_by by, bool by_copies) {
        SCOPED_TRACE("by " + std::to_string(static_cast<int>(by)) + (by_copies ? ", by copies" : ""));
        const bool shares = by != service_by::host && is_checked(devices) && is_long_run();
        const std::uint64_t times = shares ? (chosen_seeds() + 1) / 2 : few_rounds(devices, parts);
        repeat_rounds(devices, times, [&](const options& o) {
            service_options s = served_by(by, o);
            s.by_copies = by_copies;
            body(job_for(by, o), s);
        });
    };
    for (const service_by by : all_servers) rounds(by, false);
    if (!devices.starts_with("cuda")) rounds(service_by::host, true);  // there they always do
}

}  // namespace laneway::test

// A message that goes from PE to PE and back in several styles of communication, one file a style: what it costs that a
// kernel has something to send, until the other PE's kernel has it.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/options.hpp"

namespace laneway::apps {

enum class ping_pong_style {
    host_driven,       ///< the host waits for a kernel, copies the message, waits, and starts the other PE's kernel
    stream_triggered,  ///< kernels, copies and what they wait for are put into streams; the host waits for none of them
    triggered,         ///< one run; a prepared copy goes off when a warp has written the message
    service_warps,     ///< one run; a lane has warps of its PE copy the message
    service_host,      ///< the same by host threads; not on GPUs, whose memory they cannot touch
};
inline constexpr ping_pong_style ping_pong_styles[] = {ping_pong_style::host_driven, ping_pong_style::stream_triggered,
                                                       ping_pong_style::triggered, ping_pong_style::service_warps,
                                                       ping_pong_style::service_host};
const char* to_string(ping_pong_style style);

struct ping_pong_options {
    options job;
    ping_pong_style style = ping_pong_style::triggered;
    std::uint64_t words = 1;      ///< of 8 bytes, in the message
    std::uint32_t rounds = 1000;  ///< from PE 0 over all others and back
};

struct ping_pong_result {
    std::vector<std::uint64_t> message;  ///< that has come back to PE 0 in the end
    std::uint64_t wrong = 0;             ///< words that PEs found not to be as they must
    double seconds = 0;                  ///< of all rounds
    double computing_seconds = 0;  ///< of these, in which a PE's warp looked at messages and wrote them, on average
    std::uint64_t requests = 0;    ///< that a service has carried out; 0 in styles without one
};

/// The message goes from PE 0 to PE 1, and on to the next; from the last one it goes back to PE 0, alone to itself.
/// Word i is i at first; each PE looks at all words, and adds 1. Throws usage_error for what cannot be, and as
/// runtime::run does.
ping_pong_result ping_pong(const ping_pong_options& options);

}  // namespace laneway::apps

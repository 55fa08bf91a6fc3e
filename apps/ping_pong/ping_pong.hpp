// A message that goes from PE to PE and back in several styles of communication, one file a style: what it costs that a
// kernel has something to send, until the other PE's kernel has it.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "parallel/communication_style.hpp"

namespace laneway::apps {

struct ping_pong_options {
    options job;
    communication_style style = communication_style::triggered;
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

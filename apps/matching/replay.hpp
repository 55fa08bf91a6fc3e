// Replays what arrives at and is received by the ranks of a message-passing program through matching engines.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/comm/matching/match_key.hpp"

namespace laneway {
class runtime;
}

namespace laneway::apps {

/// A message has arrived, or a receive is posted.
struct match_event {
    match_key key;
    std::uint32_t is_message = 0;  ///< 0: a receive
};

/// Events of one communicator of one rank, in their order. Each queue has an engine of its own.
using match_events = std::vector<match_event>;

struct matching_replay {
    static constexpr std::uint32_t unmatched = ~std::uint32_t{0};

    /// For each queue and each of its events: the number of the event that it was matched with, or `unmatched`.
    std::vector<std::vector<std::uint32_t>> partners;
    std::vector<std::uint32_t> max_posted;      ///< receives that waited at once, by queue
    std::vector<std::uint32_t> max_unexpected;  ///< messages that did
    std::uint64_t matches = 0;
    std::uint64_t searches = 0;
    std::uint64_t looks = 0;      ///< entries that these looked at; none where message and receive came together
    std::uint64_t max_depth = 0;  ///< those of one search, at most
    double seconds = 0;           ///< all engines at work, without the copies before and after
};

/// Matches the events of all queues, each in MPI's order, on the devices of a runtime: a warp takes a queue, or a block
/// where there are few and long ones, and as many of its events at a time as it has lanes. Throws usage_error for a
/// message with a wildcard, a receive that breaks the rules, a queue of more than 2^24 - 32 events; timeout_error past
/// the deadline. With `rules.no_unexpected`, messages that find no receive stay unmatched.
matching_replay replay_matches(runtime& devices, const std::vector<match_events>& queues, const match_rules& rules,
                               double timeout_seconds);

}  // namespace laneway::apps

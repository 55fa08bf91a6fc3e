// What comes of bringing a message, or a receive, and counts of it.
#pragma once

#include "laneway/comm/matching/match_key.hpp"

namespace laneway {

enum class match_outcome : std::uint32_t {
    none,     ///< the lane had nothing to match
    matched,  ///< with `handle`
    queued,   ///< it waits
    full,     ///< there is no room for what all lanes bring: nothing has happened
    refused,  ///< it breaks a rule of the communicator: see match_rules
};

struct match_result {
    match_outcome outcome = match_outcome::none;
    std::uint32_t handle = 0;  ///< of what it was matched with, or found
    match_key key{};           ///< of that
};

/// Totals since an engine, or a table, was made, in PE memory.
struct match_counts {
    std::uint64_t messages, receives;
    std::uint64_t unexpected;  ///< messages that had to wait
    std::uint64_t matches;
    std::uint64_t looks;    ///< entries that lanes have looked at: the depth of searches
    std::uint64_t deepest;  ///< those of one search, at most; searches of one entry, which most are, leave it alone

    /// Entries that one search has looked at, at most.
    [[nodiscard]] std::uint64_t max_depth() const { return deepest == 0 && looks != 0 ? 1 : deepest; }
};

}  // namespace laneway

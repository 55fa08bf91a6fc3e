// What comes of bringing a message, or a receive.
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

}  // namespace laneway

// How wide the channels of a fork-join program are. Host only.
#pragma once

#include "laneway/task/channel_memory.hpp"

namespace laneway {

struct fork_join_options {
    /// Depth of the recursion, the first call counted; and one more for each time that a continuation forks.
    std::uint32_t levels = 64;
    /// Elements of each level on a PE; 0: as many as `memory_bytes` hold, but no more than PEs have use for.
    std::uint32_t width = 0;
    std::uint64_t memory_bytes = 64 << 20;  ///< of all channels on a PE
};

/// Elements of each level for channels of these plans, a power of two; `useful`: more are not used where the options do
/// not name a width, as a queue that is wider than needed leaves caches. Throws usage_error where the options leave
/// less than what one function spawns at once.
std::uint32_t fork_join_width(const std::vector<channel_plan>& plans, const fork_join_options& options,
                              std::uint32_t useful);

}  // namespace laneway

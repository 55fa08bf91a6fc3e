// How wide the channels of a fork-join program are. Host only.
#pragma once

#include "laneway/task/channel_memory.hpp"

namespace laneway {

struct fork_join_options {
    /// Depth of the recursion, the first call counted; and one more for each time that a continuation forks.
    std::uint32_t levels = 64;
    /// Elements of each level on a PE; 0: as many as `memory_bytes` hold, but no more than PEs have use for.
    std::uint32_t width = 0;
    std::uint64_t memory_bytes = 64 << 20;  ///< on a PE, of all channels and of what warps keep
};

/// How a fork-join program shares its memory out.
struct fork_join_plan {
    std::uint32_t width = 0;        ///< elements of each level, a power of two
    std::uint64_t stack_bytes = 0;  ///< for what warps keep, see channel_stack.hpp
};

/// The plan for channels of these plans; `useful`: a greater width is not used where the options do not name one, as a
/// queue that is wider than needed leaves caches. `warps_keep`: most elements lie where warps keep them, so channels
/// have a quarter of the memory; else all of it. Throws usage_error where the options leave less than what one function
/// spawns at once.
fork_join_plan plan_fork_join(const std::vector<channel_plan>& plans, const fork_join_options& options,
                              std::uint32_t useful, bool warps_keep = true);

}  // namespace laneway

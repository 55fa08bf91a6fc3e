// Merge sort: halves are sorted at the same time, and merged by many lanes, or blocks, each of which finds its part of
// the result by the merge path (Odeh and others, Merge Path, IPDPSW 2012).
#pragma once

#include <vector>

#include "recursion/recursion.hpp"

namespace laneway::apps {

inline constexpr std::uint32_t max_lane_keys = 64;       ///< that one lane sorts by itself
inline constexpr std::uint32_t max_block_keys = 419328;  ///< that a block does

struct merge_sort_result {
    std::vector<std::uint32_t> keys;
    recursion_report report;
};

/// The keys in ascending order, below 2^31 of them. PEs sort a share each and merge neighbours' in a run for each
/// doubling, in which each fetches what comes to lie on it, by one-sided operations: neighbouring GPUs, or all PEs of
/// a list without any, where each has `grain` keys, or 2^22 on GPUs if the grain is not given; else the first of them
/// alone. `grain`: so many keys one lane sorts, or merges, by itself; above max_lane_keys, so many a whole block does,
/// in its shared memory. 0: 64, as in the thesis, or as suits GPUs and the number of keys. Throws as fork_join and
/// runtime::run, and usage_error above max_block_keys. The report is of all runs together, `channels` of the
/// first, in which PEs sort.
merge_sort_result merge_sort(const std::vector<std::uint32_t>& keys, const recursion_options& options = {});
/// The same on devices that are open.
merge_sort_result merge_sort(runtime& rt, const std::vector<std::uint32_t>& keys, const recursion_options& options);

}  // namespace laneway::apps

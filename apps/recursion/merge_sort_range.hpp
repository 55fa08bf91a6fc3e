// What the tasks of a merge sort are about: ranges of keys, and parts of their merges.
#pragma once

#include "laneway/memory/symmetric_array.hpp"
#include "recursion/merge_path.hpp"

namespace laneway::apps {

/// Two arrays of the PE: `sides[0]` holds the keys at the beginning, and at the end.
struct sort_arrays {
    symmetric_ref<std::uint32_t> sides[2];
    std::uint32_t grain;
};

/// Keys [begin, end) come to lie in order in sides[to].
struct sorted_range {
    std::uint32_t begin, end, to;

    [[nodiscard]] LANEWAY_FN std::uint32_t middle() const { return begin + (end - begin) / 2; }
};

/// Places [first, last) of the result of merging two runs, from the first key of the runs on: into sides[to], from the
/// other one.
struct merged_part {
    two_runs runs;
    std::uint32_t to, first, last;
};

/// The merge of the halves of a range.
LANEWAY_FN merged_part merge_of_halves(const sorted_range& range) {
    return {{range.begin, range.middle(), range.end}, range.to, 0, range.end - range.begin};
}

using nothing = std::uint32_t;  ///< result of functions that are called for what they do

/// All parts of a range are merged.
struct merged {
    struct arguments {};
    using result = nothing;
    static constexpr bool follows = true;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments&, Task& task) const {
        task.finish(ctx, 0);
    }
};

}  // namespace laneway::apps

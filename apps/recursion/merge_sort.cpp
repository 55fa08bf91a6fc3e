#include "recursion/merge_sort.hpp"

#include <bit>

#include "laneway/base/error.hpp"

namespace laneway::apps {

namespace {

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

/// Places [first, last) of the result of merging the halves of a range.
struct merged_part {
    sorted_range range;
    std::uint32_t first, last;
};

/// How many of the first `count` keys of the merged halves come from the left one.
template <class From>
LANEWAY_FN std::uint32_t taken_from_left(const From& from, const sorted_range& range, std::uint32_t count) {
    const std::uint32_t left = range.middle() - range.begin, right = range.end - range.middle();
    std::uint32_t low = count > right ? count - right : 0, high = count < left ? count : left;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        const std::uint32_t mine = from[range.begin + middle];
        const std::uint32_t other = from[range.middle() + (count - 1 - middle)];
        if (mine <= other) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

template <class Ctx>
LANEWAY_FN void merge_part(Ctx& ctx, const sort_arrays& arrays, const merged_part& part) {
    const auto from = arrays.sides[1 - part.range.to].local(ctx), to = arrays.sides[part.range.to].local(ctx);
    std::uint32_t l = taken_from_left(from, part.range, part.first);
    std::uint32_t r = part.range.middle() + (part.first - l);
    l += part.range.begin;
    for (std::uint32_t at = part.range.begin + part.first; at < part.range.begin + part.last; ++at) {
        bool is_left = l < part.range.middle();
        if (is_left && r < part.range.end) {
            const std::uint32_t mine = from[l], other = from[r];
            is_left = mine <= other;
        }
        const std::uint32_t key = from[is_left ? l++ : r++];
        to[at] = key;
    }
}

using nothing = std::uint32_t;  ///< of functions that are called for what they do

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

/// Merges a part of a range, in smaller parts where it is large.
struct merge {
    using arguments = merged_part;
    using result = nothing;
    static constexpr std::uint32_t children = 8;

    sort_arrays arrays;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const merged_part& part, Task& task) const {
        const std::uint32_t keys = part.last - part.first;
        if (keys <= arrays.grain) {
            merge_part(ctx, arrays, part);
            return task.finish(ctx, 0);
        }
        auto fork = task.fork(ctx, laneway::task<merge>, children, laneway::task<merged>);
        if (!fork) return;
        for (std::uint64_t i = 0; i < children; ++i) {
            const auto from = static_cast<std::uint32_t>(i * keys / children);
            const auto to = static_cast<std::uint32_t>((i + 1) * keys / children);
            fork.spawn(ctx, {part.range, part.first + from, part.first + to});
        }
        fork.sync(ctx);
    }
};

/// Both halves of a range are sorted.
struct merge_halves {
    using arguments = sorted_range;
    using result = nothing;
    static constexpr bool follows = true;
    static constexpr std::uint32_t children = 1;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const sorted_range& range, Task& task) const {
        auto fork = task.fork(ctx, laneway::task<merge>, 1, laneway::task<merged>);
        if (!fork) return;
        fork.spawn(ctx, {range, 0, range.end - range.begin});
        fork.sync(ctx);
    }
};

struct sort {
    using arguments = sorted_range;
    using result = nothing;
    static constexpr std::uint32_t children = 2;

    sort_arrays arrays;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const sorted_range& range, Task& task) const {
        if (range.end - range.begin <= arrays.grain) {
            insert_all(ctx, range);
            return task.finish(ctx, 0);
        }
        auto fork = task.fork(ctx, laneway::task<sort>, 2, laneway::task<merge_halves>, range);
        if (!fork) return;
        fork.spawn(ctx, {range.begin, range.middle(), 1 - range.to});
        fork.spawn(ctx, {range.middle(), range.end, 1 - range.to});
        fork.sync(ctx);
    }

private:
    /// Insertion sort, from the first array into the one wanted.
    template <class Ctx>
    LANEWAY_FN void insert_all(Ctx& ctx, const sorted_range& range) const {
        const auto from = arrays.sides[0].local(ctx), to = arrays.sides[range.to].local(ctx);
        for (std::uint32_t i = range.begin; i < range.end; ++i) {
            const std::uint32_t key = from[i];
            std::uint32_t at = i;
            for (; at > range.begin; --at) {
                const std::uint32_t below = to[at - 1];
                if (below <= key) break;
                to[at] = below;
            }
            to[at] = key;
        }
    }
};

/// Levels of the recursion: halvings until ranges are short, then merges of parts of the whole.
std::uint32_t levels_of(std::uint64_t keys, std::uint32_t grain) {
    const auto halvings = static_cast<std::uint32_t>(std::bit_width(keys / grain + 1)) + 1;
    return 2 * halvings + 4;
}

}  // namespace

merge_sort_result merge_sort(const std::vector<std::uint32_t>& keys, const recursion_options& options) {
    runtime rt(options.job);
    return merge_sort(rt, keys, options);
}

merge_sort_result merge_sort(runtime& rt, const std::vector<std::uint32_t>& keys, const recursion_options& options) {
    if (keys.size() >= std::uint64_t{1} << 31) throw usage_error("less than 2^31 keys can be sorted");
    const std::uint32_t grain = options.grain != 0 ? options.grain : 64;
    merge_sort_result made;
    if (keys.empty()) return made;
    auto first = rt.allocate<std::uint32_t>(keys.size());
    const auto second = rt.allocate<std::uint32_t>(keys.size());
    first.copy_in(0, keys);
    const sort_arrays arrays{{first.ref(), second.ref()}, grain};
    fork_join program(rt, fork_join_options_of(options, levels_of(keys.size(), grain)), sort{arrays}, merge{arrays},
                      merge_halves{}, merged{});
    (void)program.template run<sort>({{0, static_cast<std::uint32_t>(keys.size()), 0}});
    made.keys = first.copy_out(0);
    made.report = report_of(program);
    return made;
}

}  // namespace laneway::apps

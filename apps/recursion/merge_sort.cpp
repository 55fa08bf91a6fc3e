#include "recursion/merge_sort.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"
#include "recursion/merge_sort_block.hpp"

namespace laneway::apps {

namespace {

template <class Ctx>
LANEWAY_FN void merge_part(Ctx& ctx, const sort_arrays& arrays, const merged_part& part) {
    const auto from = arrays.sides[1 - part.range.to].local(ctx), to = arrays.sides[part.range.to].local(ctx);
    const two_runs runs{part.range.begin, part.range.middle(), part.range.end};
    std::uint32_t l = taken_from_left(from, runs, part.first, find_alone{});
    std::uint32_t r = runs.middle + (part.first - l);
    l += runs.begin;
    for (std::uint32_t at = part.range.begin + part.first; at < part.range.begin + part.last; ++at) {
        bool is_left = l < runs.middle;
        if (is_left && r < runs.end) {
            const std::uint32_t mine = from[l], other = from[r];
            is_left = mine <= other;
        }
        const std::uint32_t key = from[is_left ? l++ : r++];
        to[at] = key;
    }
}

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

constexpr std::uint64_t min_block_share = 8192, max_block_share = 262144;  ///< keys

/// Levels of the recursion: halvings until ranges are short, then merges of parts of the whole.
std::uint32_t levels_of(std::uint64_t keys, std::uint32_t grain) {
    const auto halvings = static_cast<std::uint32_t>(std::bit_width(keys / grain + 1)) + 1;
    return 2 * halvings + 4;
}

/// Where none is given: on GPUs some 256 blocks' shares, of those sizes that were tried.
std::uint32_t sort_grain(std::uint64_t keys, bool on_gpus) {
    if (!on_gpus || keys <= min_block_share) return max_lane_keys;
    return static_cast<std::uint32_t>(std::clamp(std::bit_ceil(keys / 256), min_block_share, max_block_share));
}

template <class First, class... Functions>
void sort_with(runtime& rt, const recursion_options& options, std::uint32_t levels,
               const std::vector<sorted_range>& parts, merge_sort_result& made, const First& first,
               const Functions&... functions) {
    fork_join program(rt, fork_join_options_of(options, levels), first, functions...);
    (void)call_all<First>(program, options, parts);
    made.report = report_of(program, parts.size());
}

/// Where the keys of each PE begin, and behind them where the last end. CPU devices have a part each, where that is
/// worth it. A GPU alone is faster than the host merges what several have sorted.
std::vector<std::uint64_t> parts_of(runtime& rt, std::uint64_t keys, std::uint32_t grain) {
    const auto pes = static_cast<std::uint64_t>(rt.n_pes());
    const std::uint64_t parts = rt.machine().has_gpus() || keys / pes < grain ? 1 : pes;
    std::vector<std::uint64_t> begins;
    for (std::uint64_t i = 0; i <= parts; ++i) begins.push_back(keys * i / parts);
    return begins;
}

/// Gives PEs their parts of the keys, `most` in each array. Says what to sort: the first range for PE 0, and so on.
std::vector<sorted_range> shares_of(const std::vector<std::uint32_t>& keys, const std::vector<std::uint64_t>& begins,
                                    std::uint64_t most, symmetric_array<std::uint32_t>& to) {
    std::vector<sorted_range> parts;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
        std::vector<std::uint32_t> part(keys.begin() + static_cast<std::ptrdiff_t>(begins[i]),
                                        keys.begin() + static_cast<std::ptrdiff_t>(begins[i + 1]));
        parts.push_back({0, static_cast<std::uint32_t>(part.size()), 0});
        part.resize(most);
        to.copy_in(static_cast<int>(i), part);
    }
    return parts;
}

/// Makes sorted parts one, two neighbours at a time.
void merge_parts(std::vector<std::uint32_t>& keys, std::vector<std::uint64_t> begins) {
    const auto at = [&](std::uint64_t place) { return keys.begin() + static_cast<std::ptrdiff_t>(place); };
    while (begins.size() > 2) {
        std::vector<std::uint64_t> merged{0};
        for (std::size_t i = 0; i + 1 < begins.size(); i += 2) {
            const std::uint64_t end = begins[std::min(i + 2, begins.size() - 1)];
            std::inplace_merge(at(begins[i]), at(begins[i + 1]), at(end));
            merged.push_back(end);
        }
        begins = std::move(merged);
    }
}

}  // namespace

merge_sort_result merge_sort(const std::vector<std::uint32_t>& keys, const recursion_options& options) {
    runtime rt(options.job);
    return merge_sort(rt, keys, options);
}

merge_sort_result merge_sort(runtime& rt, const std::vector<std::uint32_t>& keys, const recursion_options& options) {
    if (keys.size() >= std::uint64_t{1} << 31) throw usage_error("less than 2^31 keys can be sorted");
    const std::uint32_t grain = options.grain != 0 ? options.grain : sort_grain(keys.size(), rt.machine().has_gpus());
    if (grain > max_block_keys) {
        throw usage_error("a grain of " + std::to_string(grain) + " keys: " + std::to_string(max_block_keys) +
                          " at most");
    }
    merge_sort_result made;
    if (keys.empty()) return made;
    const auto begins = parts_of(rt, keys.size(), grain);
    const std::uint64_t most = begins.back() - begins[begins.size() - 2];  // the last part is no smaller than others
    auto first = rt.allocate<std::uint32_t>(most);
    const auto second = rt.allocate<std::uint32_t>(most);
    const auto parts = shares_of(keys, begins, most, first);
    const sort_arrays arrays{{first.ref(), second.ref()}, grain};
    const std::uint32_t levels = levels_of(most, grain);
    if (grain <= max_lane_keys) {
        sort_with(rt, options, levels, parts, made, sort{arrays}, merge{arrays}, merge_halves{}, merged{});
    } else {
        const fork_merges forks{grain};
        sort_with(rt, options, levels, parts, made, sort_by_blocks{grain}, sort_block{arrays}, merge_by_blocks{forks},
                  merge_in_parts{forks}, merge_block{arrays}, merged{});
    }
    for (const sorted_range& part : parts) {
        const auto sorted = first.copy_out(static_cast<int>(&part - parts.data()));
        made.keys.insert(made.keys.end(), sorted.begin(), sorted.begin() + part.end);
    }
    merge_parts(made.keys, begins);
    return made;
}

}  // namespace laneway::apps

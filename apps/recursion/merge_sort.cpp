#include "recursion/merge_sort.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"
#include "laneway/flow/item_work.hpp"
#include "recursion/merge_sort_block.hpp"
#include "recursion/merge_sort_shares.hpp"

namespace laneway::apps {

namespace {

template <class Ctx>
LANEWAY_FN void merge_part(Ctx& ctx, const sort_arrays& arrays, const merged_part& part) {
    const auto from = arrays.sides[1 - part.to].local(ctx), to = arrays.sides[part.to].local(ctx);
    const two_runs& runs = part.runs;
    std::uint32_t l = taken_from_left(from, runs, part.first, find_alone{});
    std::uint32_t r = runs.middle + (part.first - l);
    l += runs.begin;
    for (std::uint32_t at = runs.begin + part.first; at < runs.begin + part.last; ++at) {
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
            fork.spawn(ctx, {part.runs, part.to, part.first + from, part.first + to});
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
        fork.spawn(ctx, merge_of_halves(range));
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
constexpr std::uint32_t min_gpu_share = 1 << 22;  ///< fewer are sorted before GPUs have met as often as they have to

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

/// Who sorts: GPUs that are neighbours, or all PEs where the list has none, if each gets `min_share` keys; else the
/// first of them alone.
key_shares shares_of(runtime& rt, std::uint32_t keys, std::uint32_t min_share) {
    const auto all = static_cast<std::uint32_t>(rt.n_pes());
    const bool on_gpus = rt.machine().has_gpus();
    const auto sorts = [&](std::uint32_t pe) {
        return !on_gpus || rt.machine().device(static_cast<int>(pe))->is_gpu();
    };
    std::uint32_t first = 0, pes = 0;
    while (!sorts(first)) ++first;
    while (first + pes < all && sorts(first + pes)) ++pes;
    if (keys / pes < min_share) pes = 1;
    return {first, pes, (keys + pes - 1) / pes, keys};
}

/// Sorts, and merges what PEs have sorted, in the memory of a runtime's PEs.
class shared_sort {
public:
    shared_sort(runtime& rt, const recursion_options& options, const key_shares& shares, std::uint32_t grain)
        : rt_(rt), options_(options), shares_(shares),
          grain_(grain), sides_{rt.allocate<std::uint32_t>(shares.share), rt.allocate<std::uint32_t>(shares.share)},
          taken_(rt.allocate<std::uint32_t>(2)) {}

    merge_sort_result run(const std::vector<std::uint32_t>& keys) {
        const sort_arrays arrays{{sides_[0].ref(), sides_[1].ref()}, grain_};
        copy_in(keys);
        if (grain_ <= max_lane_keys) {
            sort_with<sort, merge>(sort{arrays}, merge{arrays}, merge_halves{}, merged{});
        } else {
            const fork_merges forks{grain_};
            sort_with<sort_by_blocks, merge_in_parts>(sort_by_blocks{grain_}, sort_block{arrays},
                                                      merge_by_blocks{forks}, merge_in_parts{forks},
                                                      merge_block{arrays}, merged{});
        }
        copy_out();
        return std::move(made_);
    }

private:
    [[nodiscard]] std::uint32_t end_pe() const { return shares_.first_pe + shares_.pes; }

    void copy_in(const std::vector<std::uint32_t>& keys) {
        for (std::uint32_t pe = shares_.first_pe; pe < end_pe(); ++pe) {
            const auto begin = keys.begin() + shares_.begin_of(pe);
            std::vector<std::uint32_t> part(begin, begin + shares_.size_of(pe));
            part.resize(shares_.share);
            sides_[0].copy_in(static_cast<int>(pe), part);
        }
    }
    void copy_out() {
        for (std::uint32_t pe = shares_.first_pe; pe < end_pe(); ++pe) {
            const auto sorted = sides_[0].copy_out(static_cast<int>(pe));
            made_.keys.insert(made_.keys.end(), sorted.begin(), sorted.begin() + shares_.size_of(pe));
        }
    }

    /// `Sort` of a PE's range; `Merge` of a part of two runs.
    template <class Sort, class Merge, class... Functions>
    void sort_with(const Functions&... functions) {
        fork_join program(rt_, fork_join_options_of(options_, levels_of(shares_.share, grain_)), functions...);
        std::vector<sorted_range> ranges;
        for (std::uint32_t pe = 0; pe < end_pe(); ++pe) ranges.push_back({0, shares_.size_of(pe), 0});
        (void)call_all<Sort>(program, options_, ranges);
        made_.report = report_of(program, ranges.size());
        for (std::uint32_t group = 1; group < shares_.pes; group *= 2) {
            const fetch_sources fetch{sides_[0].ref(), sides_[1].ref(), taken_.ref(), shares_, group};
            add_run(made_.report.run, rt_.run(fetch, rt_.one_sided()));
            (void)call_all<Merge>(program, options_, merges_of(group));
            add_run(made_.report.run, program.report());
        }
    }
    /// What each PE has fetched, as two runs.
    [[nodiscard]] std::vector<merged_part> merges_of(std::uint32_t group) const {
        std::vector<merged_part> parts;
        for (std::uint32_t pe = 0; pe < end_pe(); ++pe) {
            const two_runs of_all = shares_.runs_of(pe, group);
            const bool merges = of_all.middle != of_all.end;
            const std::uint32_t size = merges ? shares_.size_of(pe) : 0;
            const auto taken = taken_.copy_out(static_cast<int>(pe));
            parts.push_back({{0, merges ? taken[1] - taken[0] : 0, size}, 0, 0, size});
        }
        return parts;
    }

    runtime& rt_;
    const recursion_options& options_;
    key_shares shares_;
    std::uint32_t grain_;
    symmetric_array<std::uint32_t> sides_[2];
    symmetric_array<std::uint32_t> taken_;
    merge_sort_result made_;
};

}  // namespace

merge_sort_result merge_sort(const std::vector<std::uint32_t>& keys, const recursion_options& options) {
    runtime rt(options.job);
    return merge_sort(rt, keys, options);
}

merge_sort_result merge_sort(runtime& rt, const std::vector<std::uint32_t>& keys, const recursion_options& options) {
    if (keys.size() >= std::uint64_t{1} << 31) throw usage_error("less than 2^31 keys can be sorted");
    if (options.grain > max_block_keys) {
        throw usage_error("a grain of " + std::to_string(options.grain) + " keys: " + std::to_string(max_block_keys) +
                          " at most");
    }
    if (keys.empty()) return {};
    const bool on_gpus = rt.machine().has_gpus();
    const std::uint32_t min_share = options.grain != 0 ? options.grain : on_gpus ? min_gpu_share : max_lane_keys;
    const key_shares shares = shares_of(rt, static_cast<std::uint32_t>(keys.size()), min_share);
    const std::uint32_t grain = options.grain != 0 ? options.grain : sort_grain(shares.share, on_gpus);
    return shared_sort(rt, options, shares, grain).run(keys);
}

}  // namespace laneway::apps

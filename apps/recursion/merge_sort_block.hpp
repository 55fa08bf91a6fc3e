// Merge sort whose ranges are sorted, and merged in parts, by whole blocks.
#pragma once

#include "recursion/merge_sort.hpp"
#include "recursion/merge_sort_range.hpp"
#include "recursion/merge_sort_tile.hpp"

namespace laneway::apps {

/// Sorts a range of `grain` keys at most: its tiles in shared memory, then merges of these.
struct sort_block {
    using arguments = sorted_range;
    using result = nothing;
    static constexpr task_width width = task_width::block;
    static constexpr bool keeps = false;  // it takes long: blocks take one at a time
    static constexpr int block_warps = sort_tile::block_warps;
    static constexpr std::size_t shared_bytes = sizeof(sort_tile);

    sort_arrays arrays;

    template <class Ctx, class Task, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const sorted_range& given, Task& task, Worker& worker) const {
        auto& tile = *reinterpret_cast<sort_tile*>(worker.shared());
        const sorted_range range = given;
        std::uint32_t side = range.to;
        for (std::uint32_t size = sort_tile::keys; size < range.end - range.begin; size *= 2) side = 1 - side;
        const auto from = arrays.sides[0].local(ctx), first = arrays.sides[side].local(ctx);
        for (std::uint32_t at = range.begin; at < range.end; at += sort_tile::keys) {
            if (!tile.sort(ctx, worker, from, first, at, least(sort_tile::keys, range.end - at))) return;
        }
        for (std::uint32_t size = sort_tile::keys; size < range.end - range.begin; size *= 2) {
            const auto before = arrays.sides[side].local(ctx), after = arrays.sides[1 - side].local(ctx);
            for (std::uint32_t at = range.begin; at < range.end; at += least(2 * size, range.end - at)) {
                const two_runs runs{at, at + least(size, range.end - at), at + least(2 * size, range.end - at)};
                if (!tile.merge(ctx, worker, before, after, runs, 0, runs.end - runs.begin)) return;
            }
            if (!worker.sync(ctx)) return;
            side = 1 - side;
        }
        if (worker.lane() == 0) task.finish(ctx, 0);
    }
};

/// Merges a part of a range, of `grain` keys at most.
struct merge_block {
    using arguments = merged_part;
    using result = nothing;
    static constexpr task_width width = task_width::block;
    static constexpr bool keeps = false;  // it takes long: blocks take one at a time
    static constexpr int block_warps = sort_tile::block_warps;
    static constexpr std::size_t shared_bytes = sizeof(sort_tile);

    sort_arrays arrays;

    template <class Ctx, class Task, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const merged_part& given, Task& task, Worker& worker) const {
        auto& tile = *reinterpret_cast<sort_tile*>(worker.shared());
        const merged_part part = given;
        const auto from = arrays.sides[1 - part.to].local(ctx), to = arrays.sides[part.to].local(ctx);
        if (!tile.merge(ctx, worker, from, to, part.runs, part.first, part.last)) return;
        if (worker.sync(ctx) && worker.lane() == 0) task.finish(ctx, 0);
    }
};

static_assert(max_block_keys == sort_tile::max_tiles * sort_tile::keys);

struct merge_in_parts;

/// Forks the merge of a part into parts for blocks, or into parts that are forked themselves.
struct fork_merges {
    static constexpr std::uint32_t most = 32;

    std::uint32_t grain;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const merged_part& part, Task& task) const {
        const std::uint32_t blocks = (part.last - part.first + grain - 1) / grain;
        if (blocks <= most) {
            split<merge_block>(ctx, part, blocks, task);
        } else {
            split<merge_in_parts>(ctx, part, most, task);
        }
    }

private:
    template <class Child, class Ctx, class Task>
    static LANEWAY_FN void split(Ctx& ctx, const merged_part& part, std::uint32_t count, Task& task) {
        auto fork = task.fork(ctx, laneway::task<Child>, count, laneway::task<merged>);
        if (!fork) return;
        const std::uint64_t keys = part.last - part.first;
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto from = static_cast<std::uint32_t>(i * keys / count);
            const auto to = static_cast<std::uint32_t>((i + 1) * keys / count);
            fork.spawn(ctx, {part.runs, part.to, part.first + from, part.first + to});
        }
        fork.sync(ctx);
    }
};

struct merge_in_parts {
    using arguments = merged_part;
    using result = nothing;
    static constexpr std::uint32_t children = fork_merges::most;

    fork_merges forks;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const merged_part& part, Task& task) const {
        forks(ctx, part, task);
    }
};

/// Both halves of a range are sorted.
struct merge_by_blocks {
    using arguments = sorted_range;
    using result = nothing;
    static constexpr bool follows = true;
    static constexpr std::uint32_t children = fork_merges::most;

    fork_merges forks;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const sorted_range& range, Task& task) const {
        forks(ctx, merge_of_halves(range), task);
    }
};

/// Sorts a range, whose halves go to blocks where they are short.
struct sort_by_blocks {
    using arguments = sorted_range;
    using result = nothing;
    static constexpr std::uint32_t children = 2;

    std::uint32_t grain;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const sorted_range& range, Task& task) const {
        if (range.end - range.middle() <= grain) {
            halve<sort_block>(ctx, range, task);
        } else {
            halve<sort_by_blocks>(ctx, range, task);
        }
    }

private:
    template <class Child, class Ctx, class Task>
    static LANEWAY_FN void halve(Ctx& ctx, const sorted_range& range, Task& task) {
        auto fork = task.fork(ctx, laneway::task<Child>, 2, laneway::task<merge_by_blocks>, range);
        if (!fork) return;
        fork.spawn(ctx, {range.begin, range.middle(), 1 - range.to});
        fork.spawn(ctx, {range.middle(), range.end, 1 - range.to});
        fork.sync(ctx);
    }
};

}  // namespace laneway::apps

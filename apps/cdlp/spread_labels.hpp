// The device part of label propagation: every vertex counts its neighbours' labels in a hash table of its own.
#pragma once

#include "graph/mirrored_graph.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// A label for a PE's word `index`.
struct label_message {
    std::uint32_t index;
    std::uint32_t label;
};

/// Serves messages on the PE that mirrors the vertex.
struct hear_label {
    symmetric_ref<std::uint32_t> labels;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const label_message& message) const {
        labels.local(ctx)[message.index] = message.label;  // nobody else touches it before the next barrier
    }
};

/// How a run ended; the same on every PE.
struct label_outcome {
    std::uint64_t rounds;
    std::uint64_t changed;  ///< whether the last round changed a label
};

/// The labels that occur next to a vertex, with their numbers: a hash table of twice as many words as it has arcs, so
/// that there is always room. A word has a label and how often it was counted, both in one, or is 0.
struct label_counts {
    template <class Ctx, class Words>
    LANEWAY_FN static std::uint64_t count(Ctx& ctx, Words words, std::uint64_t size, std::uint32_t label) {
        std::uint64_t at = std::uint64_t{label * 0x9e3779b1u} * size >> 32;
        for (;; at = at + 1 < size ? at + 1 : 0) {
            std::uint64_t word = ctx.load(words + at, order::relaxed, scope::device);
            const std::uint64_t first = std::uint64_t{label} << 32 | 1;
            if (word == 0 && ctx.compare_exchange(words + at, word, first, order::relaxed, scope::device)) return 1;
            // Else it has a label now, which it keeps.
            if (word >> 32 == label) {
                return (ctx.fetch_add(words + at, 1, order::relaxed, scope::device) & 0xffffffff) + 1;
            }
        }
    }
};

/// A round: lanes count the labels at the other ends of arcs, and remember the most frequent one of each row as they
/// count: the last that counts it has its whole number. Behind a barrier rows take theirs and tell those PEs that
/// mirror them, if it is news. Labels have two copies, so what a round reads is not what it writes: a copy holds what
/// was told two rounds ago, and `unknown` before, so equal to it is what its readers have.
struct spread_labels {
    static constexpr double server_share = 0.1;  ///< a message a vertex and PE, beside all arcs that are counted
    static constexpr std::uint32_t unknown = 0xffffffff;
    /// Most values of a PE for which an index fits a message.
    static constexpr std::uint64_t max_values = 0xffffffff / 2;

    symmetric_ref<mirrored_view> view;
    symmetric_ref<std::uint32_t> labels;  ///< two copies of the own rows' and the mirrors'; the first has the rows' own
    symmetric_ref<std::uint64_t> counts;  ///< two words an arc, all 0; see label_counts
    symmetric_ref<std::uint64_t> most;    ///< one a row, 0: the number of the most frequent label, and ~ that label
    symmetric_ref<label_outcome> outcome;
    std::uint64_t rounds = 0;  ///< most

    /// `tiles`: of the own rows, a pass for each round.
    template <class Ctx, class Tiles, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Tiles& tiles, Box& box, Sums& sums) const {
        const mirrored_view& mine = *view.local(ctx);
        const auto place = working_warp::of(ctx, box);
        tell_first(ctx, box, mine, place);
        label_outcome end{0, 1};
        while (end.rounds < rounds && end.changed != 0) {
            if (box.barrier(ctx) != status::ok) return;
            count_labels(ctx, tiles, box, mine, end.rounds);
            if (box.barrier(ctx) != status::ok) return;
            const std::uint64_t changed = take_labels(ctx, box, mine, place, end.rounds++);
            const auto all = sums.all_reduce(ctx, changed, reduction::max{});
            if (!all) return;
            end.changed = all.value;
        }
        if (place.lane(ctx) == 0) *outcome.local(ctx) = end;
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint64_t first_label(std::uint64_t round) const {
        return round % 2 * (labels.size() / 2);
    }

    template <class Ctx, class Box>
    LANEWAY_FN void tell_first(Ctx& ctx, Box& box, const mirrored_view& mine, const working_warp& place) const {
        for (std::uint64_t row = place.lane(ctx); row < mine.tiles.rows; row += place.lanes(ctx)) {
            const std::uint32_t own = labels.local(ctx)[row];
            tell(ctx, box, mine, row, 0, own);
        }
    }

    template <class Ctx, class Tiles, class Box>
    LANEWAY_FN void count_labels(Ctx& ctx, Tiles& tiles, Box& box, const mirrored_view& mine,
                                 std::uint64_t round) const {
        const std::uint64_t first = first_label(round);
        const auto count_tile = [&](std::uint64_t tile) {
            (void)box.progress(ctx);  // on CPU devices nobody else looks at the deadline, or at what the host says
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                for_each_arc(ctx, arcs, row, [&](const arc_batch& batch, std::uint64_t its) {
                    for (int k = 0; k < batch.count; ++k) {
                        const std::uint64_t arc = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
                        const std::uint32_t source = mine.sources[arc];
                        if (source == its) continue;  // a self-loop
                        const std::uint32_t label = labels.local(ctx)[first + source];
                        count_label(ctx, mine, its, label);
                    }
                });
            });
        };
        tiles.for_each_together(ctx, count_tile, static_cast<std::uint32_t>(round));
    }
    template <class Ctx>
    LANEWAY_FN void count_label(Ctx& ctx, const mirrored_view& mine, std::uint64_t row, std::uint32_t label) const {
        const std::uint64_t begin = 2 * mine.tiles.offsets[row];
        const std::uint64_t size = 2 * mine.tiles.offsets[row + 1] - begin;
        const std::uint64_t number = label_counts::count(ctx, counts.local(ctx) + begin, size, label);
        const std::uint64_t here = number << 32 | static_cast<std::uint32_t>(~label);
        auto best = most.local(ctx) + row;
        if (ctx.load(best, order::relaxed, scope::device) < here) {
            ctx.fetch_max(best, here, order::relaxed, scope::device);
        }
    }

    /// Whether one of the lane's rows has another label than before. Leaves counts and `most` as they were at first.
    template <class Ctx, class Box>
    LANEWAY_FN std::uint64_t take_labels(Ctx& ctx, Box& box, const mirrored_view& mine, const working_warp& place,
                                         std::uint64_t round) const {
        std::uint64_t changed = 0;
        for (std::uint64_t row = place.lane(ctx); row < mine.tiles.rows; row += place.lanes(ctx)) {
            const std::uint32_t before = labels.local(ctx)[first_label(round) + row];
            const std::uint64_t best = most.local(ctx)[row];
            const std::uint32_t now = best == 0 ? before : ~static_cast<std::uint32_t>(best);
            most.local(ctx)[row] = 0;
            if (now != before) changed = 1;
            const std::uint64_t at = first_label(round + 1) + row;
            const std::uint32_t told = labels.local(ctx)[at];
            if (told == now) continue;
            labels.local(ctx)[at] = now;
            tell(ctx, box, mine, row, round + 1, now);
        }
        const std::uint64_t words = 2 * mine.tiles.offsets[mine.tiles.rows];
        for (std::uint64_t i = place.lane(ctx); i < words; i += place.lanes(ctx)) counts.local(ctx)[i] = 0;
        return changed;
    }

    /// A post that fails ends the run: the barrier fails as well.
    template <class Ctx, class Box>
    LANEWAY_FN void tell(Ctx& ctx, Box& box, const mirrored_view& mine, std::uint64_t row, std::uint64_t round,
                         std::uint32_t label) const {
        for (std::uint64_t i = mine.target_offsets[row]; i < mine.target_offsets[row + 1]; ++i) {
            const mirror_target to = mine.targets[i];
            const auto index = static_cast<std::uint32_t>(first_label(round) + to.index);
            (void)box.post(ctx, static_cast<int>(to.pe), label_message{index, label});
        }
    }
};

}  // namespace laneway::apps

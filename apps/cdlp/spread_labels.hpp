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

/// Who takes a label when, and which of several that are as frequent.
struct label_rule {
    std::uint32_t classes = 1;  ///< of rows, which take labels one class after the other in each round
    /// Prec-Max of Cordasco and Gargano: a row keeps its label where that is one of them, else takes the greatest, and
    /// a self-loop makes it hear itself. Else the least, and self-loops do not count.
    bool keeps = false;

    static constexpr std::uint32_t own = 0xffffffff;  ///< precedence of the label that a row has; no label

    /// Of all labels. Labels that change places with every round are in two copies what they were two rounds ago, which
    /// their readers know. Where rows keep them they do not.
    [[nodiscard]] LANEWAY_FN std::uint64_t copies() const { return keeps ? 1 : 2; }

    /// Of several labels the one with the greatest precedence is taken.
    [[nodiscard]] LANEWAY_FN std::uint32_t precedence(std::uint32_t label, std::uint32_t before) const {
        if (!keeps) return ~label;
        return label == before ? own : label;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t label_of(std::uint32_t precedence, std::uint32_t before) const {
        if (!keeps) return ~precedence;
        return precedence == own ? before : precedence;
    }
};

/// In a turn lanes count the labels that the rows of one class hear, and remember the first of each row by number and
/// precedence as they count: the last that counts a label has its whole number. Behind a barrier these rows take
/// theirs, and tell those PEs that mirror them, if it is news: a copy of the labels holds what was told when it was
/// written before, and `unknown` at first. A round is a turn for each class.
struct spread_labels {
    static constexpr double server_share = 0.1;  ///< a message a vertex and PE, beside all arcs that are counted
    /// Most values of a PE for which an index fits a message.
    static constexpr std::uint64_t max_values = 0xffffffff / 2;
    static constexpr std::uint32_t unknown = 0xffffffff;

    symmetric_ref<mirrored_view> view;
    symmetric_ref<std::uint32_t> labels;  ///< copies of the own rows' and the mirrors'; the first has the rows' own
    symmetric_ref<std::uint64_t> counts;  ///< two words an arc, all 0; see label_counts
    symmetric_ref<std::uint64_t> most;    ///< one a row, 0: the number of its label to be, and that one's precedence
    symmetric_ref<std::uint32_t> turns;   ///< the class of each row, where there are several
    symmetric_ref<label_outcome> outcome;
    label_rule rule;
    std::uint64_t rounds = 0;  ///< most

    /// `tiles`: of the own rows, a pass for each turn.
    template <class Ctx, class Tiles, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Tiles& tiles, Box& box, Sums& sums) const {
        const mirrored_view& mine = *view.local(ctx);
        const auto place = working_warp::of(ctx);
        tell_first(ctx, box, mine, place);
        label_outcome end{0, 1};
        while (end.rounds < rounds && end.changed != 0) {
            std::uint64_t changed = 0;
            for (std::uint32_t turn = 0; turn < rule.classes; ++turn) {
                if (box.barrier(ctx) != status::ok) return;
                count_labels(ctx, tiles, box, mine, end.rounds, turn);
                if (box.barrier(ctx) != status::ok) return;
                changed |= take_labels(ctx, box, mine, place, end.rounds);
            }
            const std::uint64_t words = 2 * mine.tiles.offsets[mine.tiles.rows];
            for (std::uint64_t i = place.lane(ctx); i < words; i += place.lanes(ctx)) counts.local(ctx)[i] = 0;
            const auto all = sums.all_reduce(ctx, changed, reduction::max{});
            if (!all) return;
            end = {end.rounds + 1, all.value};
        }
        if (place.lane(ctx) == 0) *outcome.local(ctx) = end;
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint64_t first_label(std::uint64_t round) const {
        return rule.copies() == 1 ? 0 : round % 2 * (labels.size() / 2);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool has_turn(Ctx& ctx, std::uint64_t row, std::uint32_t turn) const {
        return rule.classes == 1 || turns.local(ctx)[row] == turn;
    }

    template <class Ctx, class Box>
    LANEWAY_FN void tell_first(Ctx& ctx, Box& box, const mirrored_view& mine, const working_warp& place) const {
        for (std::uint64_t row = place.lane(ctx); row < mine.tiles.rows; row += place.lanes(ctx)) {
            const std::uint32_t own = labels.local(ctx)[row];
            tell(ctx, box, mine, row, 0, own);
        }
    }

    template <class Ctx, class Tiles, class Box>
    LANEWAY_FN void count_labels(Ctx& ctx, Tiles& tiles, Box& box, const mirrored_view& mine, std::uint64_t round,
                                 std::uint32_t turn) const {
        const std::uint64_t first = first_label(round);
        const auto count_tile = [&](std::uint64_t tile) {
            (void)box.progress(ctx);  // on CPU devices nobody else looks at the deadline, or at what the host says
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                const bool hears = arcs.count > 0 && has_turn(ctx, row, turn);
                for_each_arc(ctx, hears ? arcs : arc_range{}, row, [&](const arc_batch& batch, std::uint64_t its) {
                    for (int k = 0; k < batch.count; ++k) {
                        const std::uint64_t arc = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
                        const std::uint32_t source = mine.sources[arc];
                        if (source == its && !rule.keeps) continue;
                        const std::uint32_t label = labels.local(ctx)[first + source];
                        count_label(ctx, mine, its, label, labels.local(ctx)[first + its]);
                    }
                });
            });
        };
        tiles.for_each_together(ctx, count_tile, static_cast<std::uint32_t>(round * rule.classes + turn));
    }
    template <class Ctx>
    LANEWAY_FN void count_label(Ctx& ctx, const mirrored_view& mine, std::uint64_t row, std::uint32_t label,
                                std::uint32_t before) const {
        const std::uint64_t begin = 2 * mine.tiles.offsets[row];
        const std::uint64_t size = 2 * mine.tiles.offsets[row + 1] - begin;
        const std::uint64_t number = label_counts::count(ctx, counts.local(ctx) + begin, size, label);
        const std::uint64_t here = number << 32 | rule.precedence(label, before);
        auto best = most.local(ctx) + row;
        if (ctx.load(best, order::relaxed, scope::device) < here) {
            ctx.fetch_max(best, here, order::relaxed, scope::device);
        }
    }

    /// Of the rows that had their turn: others have heard nobody. Whether one of the lane's has another label than
    /// before. Leaves `most` as it was at first.
    template <class Ctx, class Box>
    LANEWAY_FN std::uint64_t take_labels(Ctx& ctx, Box& box, const mirrored_view& mine, const working_warp& place,
                                         std::uint64_t round) const {
        std::uint64_t changed = 0;
        for (std::uint64_t row = place.lane(ctx); row < mine.tiles.rows; row += place.lanes(ctx)) {
            const std::uint32_t before = labels.local(ctx)[first_label(round) + row];
            const std::uint64_t best = most.local(ctx)[row];
            const std::uint32_t now = best == 0 ? before : rule.label_of(static_cast<std::uint32_t>(best), before);
            most.local(ctx)[row] = 0;
            if (now != before) changed = 1;
            const std::uint64_t at = first_label(round + 1) + row;
            const std::uint32_t told = labels.local(ctx)[at];
            if (told == now) continue;
            labels.local(ctx)[at] = now;
            tell(ctx, box, mine, row, round + 1, now);
        }
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

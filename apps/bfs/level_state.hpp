// What breadth-first search by levels knows: who has been reached, and who has been told.
#pragma once

#include "graph/distributed_graph.hpp"

namespace laneway::apps {

/// "An arc from a vertex of the level before leads to your row."
struct level_message {
    std::uint32_t row;
    std::uint32_t level;  ///< the row's, plus one
};

/// The vertices that a PE has reached, and their levels.
template <class Vertex>
struct level_state {
    symmetric_ref<graph_view<Vertex>> view;  ///< arcs that leave the rows
    symmetric_ref<std::uint32_t> levels;     ///< one a row: its level plus one; 0: not reached
    symmetric_ref<std::uint32_t> list;       ///< the rows that are reached, in the order of levels
    symmetric_ref<std::uint64_t> reached;    ///< how many these are

    /// Gives a row its level and a place in the list, if it has no level yet. Any lane.
    template <class Ctx>
    LANEWAY_FN void reach(Ctx& ctx, std::uint32_t row, std::uint32_t level) const {
        const std::uint32_t rows[] = {row};
        const auto word = levels.local(ctx) + row;
        std::uint32_t before = ctx.load(word, order::relaxed, scope::device);
        const bool is_first = before == 0 && ctx.compare_exchange(word, before, level, order::relaxed, scope::device);
        add(ctx, ctx.converged(), rows, is_first ? 1 : 0);
    }

    /// Puts rows into the list, those whose bit is set in `chosen`. Exactly the lanes of the mask, together: they draw
    /// their places at once, as all lanes of the PE draw them from one word.
    template <class Ctx, int N>
    LANEWAY_FN void add(Ctx& ctx, lane_mask mates, const std::uint32_t (&rows)[N], std::uint32_t chosen) const {
        std::uint32_t before[N], total = 0;
        for (int k = 0; k < N; ++k) {
            const lane_mask with = ctx.ballot(mates, (chosen >> k & 1) != 0);
            before[k] = total + static_cast<std::uint32_t>(rank_in(ctx, with));
            total += static_cast<std::uint32_t>(Ctx::count_lanes(with));
        }
        if (total == 0) return;
        const std::uint64_t place =
            once(ctx, mates, [&] { return ctx.fetch_add(reached.local(ctx), total, order::relaxed, scope::device); });
        for (int k = 0; k < N; ++k) {
            if ((chosen >> k & 1) != 0) list.local(ctx)[place + before[k]] = rows[k];
        }
    }
};

/// Serves messages on the PE that owns the row.
template <class Vertex>
struct hear_level {
    level_state<Vertex> state;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const level_message& message) const {
        state.reach(ctx, message.row, message.level);
    }
};

/// What a PE knows of heads, wherever these are owned: whether they have been told a level.
template <class Vertex>
struct known_heads {
    graph_rows<Vertex> rows;
    std::uint32_t* levels = nullptr;  ///< of own rows
    std::uint32_t* told = nullptr;    ///< a bit a vertex, for those of other PEs

    [[nodiscard]] LANEWAY_FN bool owns(Vertex head) const { return head - rows.first < rows.count; }

    /// What is known of a head: see is_new.
    template <class Ctx>
    LANEWAY_FN std::uint32_t load(Ctx& ctx, Vertex head) const {
        const bool own = owns(head);  // chosen, not branched to
        return ctx.load((own ? levels : told) + (own ? head - rows.first : head / told_bits), order::relaxed,
                        scope::device);
    }
    [[nodiscard]] LANEWAY_FN bool is_new(Vertex head, std::uint32_t known) const {
        return (owns(head) ? known : known >> head % told_bits & 1) == 0;
    }
    /// Notes that a head is told its level, if it has none. Returns what was known of it until then.
    template <class Ctx>
    LANEWAY_FN std::uint32_t tell(Ctx& ctx, Vertex head, std::uint32_t level) const {
        if (!owns(head)) {
            const std::uint32_t bit = std::uint32_t{1} << head % told_bits;
            return ctx.fetch_or(told + head / told_bits, bit, order::relaxed, scope::device);
        }
        std::uint32_t before = 0;
        (void)ctx.compare_exchange(levels + (head - rows.first), before, level, order::relaxed, scope::device);
        return before;
    }

private:
    static constexpr Vertex told_bits = 32;
};

}  // namespace laneway::apps

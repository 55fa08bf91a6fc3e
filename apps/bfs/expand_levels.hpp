// The device part of breadth-first search by levels.
#pragma once

#include "graph/distributed_graph.hpp"
#include "laneway/comm/one_sided.hpp"
#include "parallel/dynamic_for.hpp"
#include "parallel/working_warp.hpp"

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

    /// Gives a row its level and a place in the list, if it has no level yet. Any lane; lanes that come together draw
    /// their places together.
    template <class Ctx>
    LANEWAY_FN void reach(Ctx& ctx, std::uint64_t row, std::uint32_t level) const {
        auto word = levels.local(ctx) + row;
        std::uint32_t before = ctx.load(word, order::relaxed, scope::device);
        const bool first = before == 0 && ctx.compare_exchange(word, before, level, order::relaxed, scope::device);
        if (!first) return;
        const lane_mask mates = ctx.converged();
        const std::uint64_t place = once(ctx, mates, [&] {
            const auto count = static_cast<std::uint64_t>(Ctx::count_lanes(mates));
            return ctx.fetch_add(reached.local(ctx), count, order::relaxed, scope::device);
        });
        list.local(ctx)[place + static_cast<std::uint64_t>(rank_in(ctx, mates))] = static_cast<std::uint32_t>(row);
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

/// How a run ended; the same on every PE.
struct level_outcome {
    std::uint64_t levels;
    std::uint64_t pulled;
};

/// A level: behind a barrier every PE knows which rows have reached it, and all PEs together how many arcs leave them.
/// With few, the rows *push*: they post to the heads that their PE has not yet told. With many, the vertices that are
/// not reached *pull*: each looks for an arc from a vertex of the level and stops at the first; for that all PEs put a
/// bit for each of their rows into each other's memory. Nobody posts before all have read what is in the list, as the
/// sum over all PEs comes in between.
template <class Vertex>
struct expand_levels {
    /// Pulling begins when the arcs of a level are more than this part of those of vertices not reached, and as long as
    /// they are more than that part of all arcs: Beamer's alpha, and about his beta, which counts vertices.
    static constexpr std::uint64_t pull_part = 14, push_part = 24;
    /// Rows with so many arcs are pushed by all warps of the PE, in pieces, the others by a warp each.
    static constexpr std::uint64_t hub_arcs = 8192, hub_piece = 512;
    /// What a hub adds to the sum of the arcs of a level, which are fewer.
    static constexpr std::uint64_t one_hub = std::uint64_t{1} << 40;

    level_state<Vertex> state;
    symmetric_ref<graph_view<Vertex>> inward;  ///< arcs that lead to the rows; the same places
    symmetric_ref<std::uint32_t> frontier;     ///< a bit a row of the level, `words` of each PE one after the other
    symmetric_ref<std::uint32_t> told;         ///< the same of rows that this PE has told of a level
    symmetric_ref<std::uint64_t> next_tile;    ///< to pull, one for each parity of levels that do; 0
    symmetric_ref<std::uint32_t> hubs;    ///< rows of a level and those before with so many arcs that all push them
    symmetric_ref<std::uint64_t> n_hubs;  ///< how many these are
    symmetric_ref<std::uint32_t> seeds;   ///< rows where the search begins: how many, then which
    symmetric_ref<level_outcome> outcome;
    std::uint64_t words = 0;
    std::uint64_t arcs = 0;  ///< of the whole graph
    bool pulls = true;

    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& sums) const {
        one_sided remote(ctx, box);
        const auto place = working_warp::of(ctx, box);
        begin(ctx, place);
        list_part part{}, of_hubs{};
        std::uint64_t explored = 0;
        bool pulled = false;
        level_outcome end{};
        for (std::uint32_t level = 1;; ++level) {
            if (remote.barrier() != status::ok) return;
            part = {part.end, ctx.load(state.reached.local(ctx), order::relaxed, scope::device)};
            const auto sum = sums.all_reduce(ctx, degrees(ctx, place, part), reduction::sum{});
            if (!sum) return;
            const std::uint64_t leaving = sum.value % one_hub;
            if (leaving == 0) break;
            // A sum of values orders nothing else.
            if (sum.value >= one_hub && sums.barrier(ctx) != status::ok) return;
            of_hubs = {of_hubs.end, ctx.load(n_hubs.local(ctx), order::relaxed, scope::device)};
            explored += leaving;
            const std::uint64_t least = pulled ? 0 : (arcs - explored) / pull_part;
            pulled = pulls && leaving > arcs / push_part && leaving > least;
            ++end.levels;
            if (pulled) {
                if (!share_frontier(ctx, remote, place, level)) return;
                if (place.lane(ctx) == 0) next_tile.local(ctx)[(end.pulled + 1) % 2] = 0;
                pull(ctx, box, level, next_tile[end.pulled++ % 2]);
            } else {
                push(ctx, box, place, part, level);
                push_hubs(ctx, box, place, of_hubs, level);
            }
        }
        if (place.lane(ctx) == 0) *outcome.local(ctx) = end;
    }

private:
    /// Places in the list: the rows of a level.
    struct list_part {
        std::uint64_t begin;
        std::uint64_t end;
    };

    template <class Ctx>
    LANEWAY_FN void begin(Ctx& ctx, const working_warp& place) const {
        const std::uint32_t count = seeds.local(ctx)[0];
        for (std::uint64_t i = place.lane(ctx); i < count; i += place.lanes(ctx)) {
            const std::uint32_t row = seeds.local(ctx)[1 + i];
            state.reach(ctx, row, 1);
        }
    }

    /// Arcs that leave this lane's share of the rows, and one_hub for each hub among them; notes which these are.
    template <class Ctx>
    LANEWAY_FN std::uint64_t degrees(Ctx& ctx, const working_warp& place, const list_part& part) const {
        const graph_rows<Vertex>& rows = state.view.local(ctx)->rows;
        std::uint64_t sum = 0;
        for (std::uint64_t i = part.begin + place.lane(ctx); i < part.end; i += place.lanes(ctx)) {
            const std::uint32_t row = state.list.local(ctx)[i];
            sum += rows.degree(row);
            if (rows.degree(row) < hub_arcs) continue;
            const std::uint64_t at = ctx.fetch_add(n_hubs.local(ctx), std::uint64_t{1}, order::relaxed, scope::device);
            ctx.store(hubs.local(ctx) + at, row, order::relaxed, scope::device);
            sum += one_hub;
        }
        return sum;
    }

    /// Rows of the level to the heads of their arcs. Every working warp.
    template <class Ctx, class Box>
    LANEWAY_FN void push(Ctx& ctx, Box& box, const working_warp& place, const list_part& part,
                         std::uint32_t level) const {
        const graph_rows<Vertex>& rows = state.view.local(ctx)->rows;
        constexpr std::uint64_t lanes = Ctx::warp_lanes;
        for (std::uint64_t first = part.begin + place.number * lanes; first < part.end; first += place.warps * lanes) {
            const std::uint64_t at = first + static_cast<std::uint64_t>(ctx.lane());
            arc_range leaving;
            if (at < part.end) {
                const std::uint32_t row = state.list.local(ctx)[at];
                if (rows.degree(row) < hub_arcs) {
                    leaving = {rows.offsets[row], static_cast<std::uint32_t>(rows.degree(row))};
                }
            }
            for_each_arc(ctx, leaving, std::uint32_t{0}, [&](const arc_batch& batch, std::uint32_t) {
                for (int k = 0; k < batch.count; ++k) {
                    const Vertex head =
                        rows.heads[batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k)];
                    tell(ctx, box, rows, head, level + 1);
                }
            });
        }
    }
    /// The same of hubs, each by all working warps.
    template <class Ctx, class Box>
    LANEWAY_FN void push_hubs(Ctx& ctx, Box& box, const working_warp& place, const list_part& part,
                              std::uint32_t level) const {
        const graph_rows<Vertex>& rows = state.view.local(ctx)->rows;
        std::uint64_t before = 0;  // pieces of hubs so far: the next one's go to the warps that follow
        for (std::uint64_t i = part.begin; i < part.end; ++i) {
            const std::uint32_t row = ctx.load(hubs.local(ctx) + i, order::relaxed, scope::device);
            const std::uint64_t arcs_end = rows.offsets[row] + rows.degree(row);
            const std::uint64_t piece = (place.number + place.warps - before % place.warps) % place.warps;
            before += (rows.degree(row) + hub_piece - 1) / hub_piece;
            for (std::uint64_t first = rows.offsets[row] + piece * hub_piece; first < arcs_end;
                 first += place.warps * hub_piece) {
                const std::uint64_t end = first + hub_piece < arcs_end ? first + hub_piece : arcs_end;
                for (std::uint64_t arc = first + static_cast<std::uint64_t>(ctx.lane()); arc < end;
                     arc += Ctx::warp_lanes) {
                    tell(ctx, box, rows, rows.heads[arc], level + 1);
                }
            }
        }
    }

    /// A post that fails ends the run: the barrier fails as well.
    template <class Ctx, class Box>
    LANEWAY_FN void tell(Ctx& ctx, Box& box, const graph_rows<Vertex>& rows, Vertex head, std::uint32_t level) const {
        const int owner = rows.ranges.owner(ctx, head);
        const auto row = static_cast<std::uint32_t>(head - rows.ranges.starts[owner]);
        if (owner == ctx.pe()) {
            state.reach(ctx, row, level);
            return;
        }
        auto word = told.local(ctx) + (static_cast<std::uint64_t>(owner) * words + row / 32);
        const std::uint32_t bit = std::uint32_t{1} << row % 32;
        if ((ctx.load(word, order::relaxed, scope::device) & bit) != 0) return;
        if ((ctx.fetch_or(word, bit, order::relaxed, scope::device) & bit) != 0) return;
        (void)box.post(ctx, owner, level_message{row, level});
    }

    /// Puts the own rows of the level into all PEs' frontiers. Every working warp; false if the run is ending.
    template <class Ctx, class Remote>
    LANEWAY_FN bool share_frontier(Ctx& ctx, Remote& remote, const working_warp& place, std::uint32_t level) const {
        const std::uint64_t count = state.view.local(ctx)->rows.count;
        for (std::uint64_t i = place.lane(ctx); i * 32 < count; i += place.lanes(ctx)) {
            std::uint32_t bits = 0;
            for (std::uint64_t row = i * 32; row < count && row < i * 32 + 32; ++row) {
                const std::uint32_t its = state.levels.local(ctx)[row];
                if (its == level) bits |= std::uint32_t{1} << row % 32;
            }
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                if (remote.put(frontier[static_cast<std::uint64_t>(ctx.pe()) * words + i], pe, bits) != status::ok)
                    break;
            }
        }
        return remote.barrier() == status::ok;
    }

    /// Rows that are not reached look for an arc from a row of the level. Every working warp.
    template <class Ctx, class Box>
    LANEWAY_FN void pull(Ctx& ctx, Box& box, std::uint32_t level, symmetric_ptr<std::uint64_t> counter) const {
        const graph_view<Vertex>& mine = *inward.local(ctx);
        for (;;) {
            const std::uint64_t tile = claim_piece(ctx, box, counter);
            if (tile >= mine.tiles.n_tiles) return;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& entering, bool) {
                if (entering.count == 0) return;
                auto word = state.levels.local(ctx) + row;
                if (ctx.load(word, order::relaxed, scope::device) != 0) return;
                for (std::uint64_t arc = entering.begin; arc < entering.begin + entering.count; ++arc) {
                    if (!is_in_frontier(ctx, mine.rows, mine.rows.heads[arc])) continue;
                    state.reach(ctx, row, level + 1);
                    return;
                }
            });
        }
    }

    template <class Ctx>
    LANEWAY_FN bool is_in_frontier(Ctx& ctx, const graph_rows<Vertex>& rows, Vertex vertex) const {
        const int owner = rows.ranges.owner(ctx, vertex);
        const std::uint64_t row = vertex - rows.ranges.starts[owner];
        const std::uint32_t bits = frontier.local(ctx)[static_cast<std::uint64_t>(owner) * words + row / 32];
        return (bits >> row % 32 & 1) != 0;
    }
};

}  // namespace laneway::apps

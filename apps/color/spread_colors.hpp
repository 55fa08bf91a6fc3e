// The device part of graph colouring: vertices that have chosen tell their neighbours, round after round.
#pragma once

#include "color_state.hpp"
#include "laneway/simt/wait.hpp"
#include "parallel/share_out.hpp"

namespace laneway::apps {

/// A round: warps draw vertices that chose before it, and post their colours to the neighbours that come later.
/// Handlers let the next vertices choose. The run ends with the first round in which no PE had anything to tell.
template <class Vertex>
struct spread_colors {
    color_state<Vertex> state;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const graph_view<Vertex>& mine = *state.view.local(ctx);
        color_counters& counters = *state.counters.local(ctx);
        count_earlier(ctx, mine);
        if (box.barrier(ctx) != status::ok) return;
        start(ctx, mine);
        for (std::uint32_t round = 1;; ++round) {
            if (box.barrier(ctx) != status::ok) return;
            // A PE that went on may have said so of this round already, but only if somebody was busy in the last one.
            const std::uint32_t busy = once(
                ctx, full_warp<Ctx>, [&] { return ctx.load(&counters.busy_round, order::relaxed, scope::device); });
            if (busy + 1 < round) {
                // For the host; every warp says the same.
                if (ctx.lane() == 0) ctx.store(&counters.rounds, busy, order::relaxed, scope::device);
                return;
            }
            spread(ctx, box, mine, counters, round);
        }
    }

private:
    /// Calls `each(head)` for the heads of a batch that come after `row`, or before it; first all words are read.
    template <bool After, class Ctx, class Each>
    LANEWAY_FN void for_heads(Ctx& ctx, const graph_rows<Vertex>& rows, const arc_batch& batch, std::uint64_t row,
                              Each&& each) const {
        const Vertex* turn = state.turn.local(ctx);
        const Vertex own = turn[rows.first + row];
        Vertex heads[arc_batch::most] = {};
        unsigned wanted = 0;
        for (int k = 0; k < arc_batch::most; ++k) {
            if (k < batch.count) {
                heads[k] = rows.heads[batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k)];
            }
        }
        for (int k = 0; k < arc_batch::most; ++k) {
            if (k >= batch.count) continue;
            const Vertex its = turn[heads[k]];
            if (After ? its > own : its < own) wanted |= 1u << k;
        }
        for (; wanted != 0; wanted &= wanted - 1) {
            // Chosen by comparing, not by indexing: so the heads stay in registers.
            Vertex head = heads[0];
            for (int k = 1; k < arc_batch::most; ++k) head = (wanted & (0u - wanted)) == 1u << k ? heads[k] : head;
            each(head);
        }
    }

    template <class Ctx>
    LANEWAY_FN void count_earlier(Ctx& ctx, const graph_view<Vertex>& mine) const {
        for (;;) {
            const std::uint64_t tile = claim(ctx, state.next_tile[0]);
            if (tile >= mine.tiles.n_tiles) return;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                for_each_arc(ctx, arcs, row, [&](const arc_batch& batch, std::uint64_t its) {
                    std::uint32_t earlier = 0;
                    for_heads<false>(ctx, mine.rows, batch, its, [&](Vertex) { ++earlier; });
                    if (earlier == 0) return;
                    ctx.fetch_add(state.slate(ctx, mine.rows, its), earlier, order::relaxed, scope::device);
                });
            });
        }
    }

    /// Lets those choose that come before all their neighbours.
    template <class Ctx>
    LANEWAY_FN void start(Ctx& ctx, const graph_view<Vertex>& mine) const {
        for (;;) {
            const std::uint64_t tile = claim(ctx, state.next_tile[1]);
            if (tile >= mine.tiles.n_tiles) return;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range&, bool begins) {
                if (!begins) return;
                const std::uint32_t* left = state.slate(ctx, mine.rows, row);
                if (ctx.load(left, order::relaxed, scope::device) == 0) state.choose(ctx, mine.rows, row);
            });
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN void spread(Ctx& ctx, Box& box, const graph_view<Vertex>& mine, color_counters& counters,
                           std::uint32_t round) const {
        const std::uint64_t end =
            once(ctx, full_warp<Ctx>, [&] { return ctx.load(&counters.chosen, order::relaxed, scope::device); });
        for (bool busy = false;; busy = true) {
            std::uint64_t first = 0;
            const std::uint64_t count = draw_entries(ctx, counters, end, first);
            if (count == 0) return;
            if (!busy) announce(ctx, box, counters, round);
            std::uint64_t row = 0;
            arc_range arcs;
            if (static_cast<std::uint64_t>(ctx.lane()) < count) {
                arcs = read(ctx, mine.rows, first + static_cast<std::uint64_t>(ctx.lane()), row);
            }
            ctx.sync(full_warp<Ctx>);
            for_each_arc(ctx, arcs, row, [&](const arc_batch& batch, std::uint64_t its) {
                const std::uint32_t color = state.colors.local(ctx)[its];
                for_heads<true>(ctx, mine.rows, batch, its, [&](Vertex head) {
                    const int owner = mine.rows.ranges.owner(ctx, head);
                    const auto local = static_cast<std::uint32_t>(head - mine.rows.ranges.starts[owner]);
                    // A post that fails ends the run: the barrier fails as well.
                    (void)box.post(ctx, owner, color_message{local, color});
                });
            });
            ctx.sync(full_warp<Ctx>);
        }
    }

    /// Draws entries before `end`, at most one a lane; returns how many. Where there are few, the PE's warps share
    /// them. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN std::uint64_t draw_entries(Ctx& ctx, color_counters& counters, std::uint64_t end,
                                          std::uint64_t& first) const {
        std::uint64_t count = 0;
        if (ctx.lane() == 0) {
            const std::uint64_t warps = ctx.size() / static_cast<unsigned>(Ctx::warp_lanes * ctx.n_pes()) + 1;
            first = ctx.load(&counters.told, order::relaxed, scope::device);
            do {
                const std::uint64_t share = (end - first) / warps + 1;
                count = first >= end ? 0 : share < Ctx::warp_lanes ? share : Ctx::warp_lanes;
            } while (count != 0 &&
                     !ctx.compare_exchange(&counters.told, first, first + count, order::relaxed, scope::device));
        }
        first = ctx.shuffle(full_warp<Ctx>, first, 0);
        return ctx.shuffle(full_warp<Ctx>, count, 0);
    }

    /// The arcs that an entry stands for, and their row. Waits for a handler that has claimed the entry and not yet
    /// written it.
    template <class Ctx>
    LANEWAY_FN arc_range read(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t place, std::uint64_t& row) const {
        std::uint64_t entry = 0;
        const status written = wait_until(ctx, {operation::user_code, -1, place}, [&] {
            // Partner: the release store in color_state::choose. The row's colour is there as well.
            entry = ctx.load(state.list.local(ctx) + place, order::acquire, scope::device);
            return entry != 0;
        });
        if (written != status::ok) return {};
        row = (entry >> 32) - 1;
        const std::uint64_t begin = rows.offsets[row] + (entry & 0xffffffff) * piece_arcs;
        const std::uint64_t left = rows.offsets[row + 1] - begin;
        return {begin, left < piece_arcs ? static_cast<std::uint32_t>(left) : piece_arcs};
    }

    /// Says once a PE and round that there is something to tell.
    template <class Ctx, class Box>
    LANEWAY_FN void announce(Ctx& ctx, Box& box, color_counters& counters, std::uint32_t round) const {
        if (ctx.lane() != 0) return;
        if (ctx.fetch_max(&counters.announced, round, order::relaxed, scope::device) >= round) return;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            (void)box.post(ctx, pe, color_message{color_message::no_row, round});
        }
    }
};

}  // namespace laneway::apps

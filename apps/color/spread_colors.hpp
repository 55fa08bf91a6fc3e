// The device part of graph colouring: vertices choose their colours and tell their neighbours, round after round.
#pragma once

#include "color_state.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// A round: the vertices of its list choose their colours and post them to the neighbours that come later. Handlers put
/// those that have then heard from all on the list of the next round. The run ends with the first round in which no PE
/// had anything to tell.
///
/// All warps know which entries of the list are a round's, so they divide them without asking each other. Nothing that
/// a round reads is written during it, and a PE is never more than a round ahead: the barrier is all the order there
/// is.
template <class Vertex>
struct spread_colors {
    color_state<Vertex> state;

    /// `tiles`: of the own rows.
    template <class Ctx, class Tiles, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Tiles& tiles, Box& box) const {
        const graph_view<Vertex>& mine = *state.view.local(ctx);
        color_counters& counters = *state.counters.local(ctx);
        const auto place = working_warp::of(ctx);
        count_earlier(ctx, tiles, mine);
        if (box.barrier(ctx) != status::ok) return;
        start(ctx, tiles, mine);
        std::uint64_t ends[2] = {};  // of what has been told of the two lists: the one now due, then the other
        for (std::uint32_t round = 1;; ++round) {
            if (box.barrier(ctx) != status::ok) return;
            if (counters.busy[(round - 1) % 2] != round - 1) {
                if (place.lane(ctx) == 0) counters.rounds = round - 2;
                return;
            }
            const std::uint64_t end = counters.entries[round % 2];
            if (place.number == 0 && ends[0] < end) announce(ctx, box, round);
            spread(ctx, box, mine, place, {ends[0], end, round});
            ends[0] = ends[1];
            ends[1] = end;
        }
    }

private:
    static constexpr std::uint32_t full_word = ~std::uint32_t{0};

    /// What a round tells: part of the list of its parity.
    struct list_part {
        std::uint64_t begin;
        std::uint64_t end;
        std::uint32_t round;
    };

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

    template <class Ctx, class Tiles>
    LANEWAY_FN void count_earlier(Ctx& ctx, Tiles& tiles, const graph_view<Vertex>& mine) const {
        tiles.for_each_together(ctx, [&](std::uint64_t tile) {
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                for_each_arc(ctx, arcs, row, [&](const arc_batch& batch, std::uint64_t its) {
                    std::uint32_t earlier = 0;
                    for_heads<false>(ctx, mine.rows, batch, its, [&](Vertex) { ++earlier; });
                    if (earlier == 0) return;
                    ctx.fetch_add(state.slate(ctx, mine.rows, its), earlier, order::relaxed, scope::device);
                });
            });
        });
    }

    /// Lists those that come before all their neighbours, for the first round.
    template <class Ctx, class Tiles>
    LANEWAY_FN void start(Ctx& ctx, Tiles& tiles, const graph_view<Vertex>& mine) const {
        const auto start_tile = [&](std::uint64_t tile) {
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range&, bool begins) {
                if (!begins) return;
                const std::uint32_t* left = state.slate(ctx, mine.rows, row);
                if (ctx.load(left, order::relaxed, scope::device) == 0) state.enlist(ctx, mine.rows, row, 1);
            });
        };
        tiles.for_each_together(ctx, start_tile, 1);
    }

    /// Warps take neighbouring entries, at most one a lane, and as few as leave some for all warps.
    template <class Ctx, class Box>
    LANEWAY_FN void spread(Ctx& ctx, Box& box, const graph_view<Vertex>& mine, const working_warp& place,
                           const list_part& part) const {
        constexpr std::uint64_t lanes = Ctx::warp_lanes;
        const std::uint64_t fair = (part.end - part.begin + place.warps - 1) / place.warps;
        const std::uint64_t share = fair < lanes ? fair : lanes;
        for (std::uint64_t first = part.begin + place.number * share; first < part.end; first += place.warps * share) {
            const std::uint64_t at = first + static_cast<std::uint64_t>(ctx.lane());
            const bool has_entry = static_cast<std::uint64_t>(ctx.lane()) < share && at < part.end;
            std::uint64_t entry = 0;
            if (has_entry) entry = *state.entry(ctx, part.round % 2, at);
            const std::uint64_t row = entry >> 32, piece = entry & 0xffffffff;
            const std::uint32_t color = choose(ctx, mine.rows, row, has_entry);
            if (has_entry && piece == 0) state.colors.local(ctx)[row] = color;
            const arc_range arcs = has_entry ? piece_of(mine.rows, row, piece) : arc_range{};
            const std::uint64_t told = row << 32 | color_message::text_of(color, part.round);
            for_each_arc(ctx, arcs, told, [&](const arc_batch& batch, std::uint64_t its) {
                tell(ctx, box, mine.rows, batch, its >> 32, static_cast<std::uint32_t>(its));
            });
            ctx.sync(full_warp<Ctx>);
        }
    }

    /// The least colour that is free for each lane's row; all pieces of a row find the same. Most find it in the first
    /// word of their slate, the others one by one with all lanes. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN std::uint32_t choose(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t row, bool has_row) const {
        constexpr lane_mask all = full_warp<Ctx>;
        const std::uint32_t seen = has_row ? state.slate(ctx, rows, row)[1] : 0;
        std::uint32_t color = lowest_free<Ctx>(seen);
        for (lane_mask rest = ctx.ballot(all, seen == full_word); rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            const std::uint32_t found = choose_together(ctx, rows, ctx.shuffle(all, row, from));
            if (ctx.lane() == from) color = found;
        }
        return color;
    }
    template <class Ctx>
    LANEWAY_FN std::uint32_t choose_together(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t row) const {
        constexpr lane_mask all = full_warp<Ctx>;
        const std::uint32_t* taken = state.slate(ctx, rows, row) + 1;
        const std::uint64_t words = rows.degree(row) / 32 + 1;
        for (std::uint32_t base = 1;; base += Ctx::warp_lanes) {
            const std::uint32_t word = base + static_cast<std::uint32_t>(ctx.lane());
            const std::uint32_t seen = word < words ? taken[word] : full_word;
            const lane_mask free = ctx.ballot(all, seen != full_word);
            if (free == 0) continue;  // a later word has a free one: see slate
            const int from = Ctx::first_lane(free);
            return (base + static_cast<std::uint32_t>(from)) * 32 + lowest_free<Ctx>(ctx.shuffle(all, seen, from));
        }
    }
    template <class Ctx>
    LANEWAY_FN static std::uint32_t lowest_free(std::uint32_t taken) {
        return static_cast<std::uint32_t>(Ctx::first_lane(~taken));
    }

    LANEWAY_FN static arc_range piece_of(const graph_rows<Vertex>& rows, std::uint64_t row, std::uint64_t piece) {
        const std::uint64_t begin = rows.offsets[row] + piece * piece_arcs;
        const std::uint64_t left = rows.offsets[row + 1] - begin;
        return {begin, left < piece_arcs ? static_cast<std::uint32_t>(left) : piece_arcs};
    }

    /// Posts a row's colour to those of its neighbours that come after it. A post that fails ends the run: the barrier
    /// fails as well.
    template <class Ctx, class Box>
    LANEWAY_FN void tell(Ctx& ctx, Box& box, const graph_rows<Vertex>& rows, const arc_batch& batch, std::uint64_t row,
                         std::uint32_t text) const {
        for_heads<true>(ctx, rows, batch, row, [&](Vertex head) {
            const int owner = rows.ranges.owner(ctx, head);
            (void)box.post(ctx, owner,
                           color_message{static_cast<std::uint32_t>(head - rows.ranges.starts[owner]), text});
        });
    }

    /// Tells all PEs that this one has something to tell. One warp of the PE, together.
    template <class Ctx, class Box>
    LANEWAY_FN void announce(Ctx& ctx, Box& box, std::uint32_t round) const {
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            (void)box.post(ctx, pe, color_message{color_message::no_row, round});
        }
        ctx.sync(full_warp<Ctx>);
    }
};

}  // namespace laneway::apps

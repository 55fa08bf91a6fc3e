// What a PE knows of its vertices while they choose their colours, and the handler that lets them choose.
#pragma once

#include "graph/distributed_graph.hpp"

namespace laneway::apps {

/// "A neighbour that comes before your vertex `row` has chosen `color`." With row = no_row: "in round `color` a PE has
/// something to tell".
struct color_message {
    static constexpr std::uint32_t no_row = 0xffffffff;

    std::uint32_t row;
    std::uint32_t color;
};

/// Words of a PE that its warps share.
struct color_counters {
    alignas(destructive_bytes) std::uint64_t told;       ///< entries of the list that warps have drawn
    alignas(destructive_bytes) std::uint64_t chosen;     ///< entries of the list
    alignas(destructive_bytes) std::uint32_t announced;  ///< last round in which this PE said that it has to tell
    std::uint32_t busy_round;                            ///< last round in which some PE said so
    std::uint32_t rounds;                                ///< for the host
};

/// A vertex that has chosen stands in its PE's list until its neighbours are told. One with many arcs stands there
/// several times, with a piece of its arcs each, so that several warps tell.
inline constexpr std::uint32_t piece_arcs = 512;

/// Device view, the same on every PE.
template <class Vertex>
struct color_state {
    symmetric_ref<graph_view<Vertex>> view;
    symmetric_ref<Vertex> turn;              ///< of each vertex of the whole graph: its place in the order
    symmetric_ref<std::uint32_t> slates;     ///< see slate
    symmetric_ref<std::uint32_t> colors;     ///< one a row
    symmetric_ref<std::uint64_t> list;       ///< (row + 1) · 2^32 + piece; 0 where nothing is written yet
    symmetric_ref<std::uint64_t> next_tile;  ///< to count, to start
    symmetric_ref<color_counters> counters;

    /// A row's slate: first the number of neighbours it has yet to hear from, then a bit for each colour up to its
    /// degree, set where it is taken. It never needs more: so many neighbours leave one of so many colours free.
    template <class Ctx>
    LANEWAY_FN std::uint32_t* slate(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t row) const {
        return slates.local(ctx) + slate_words(row, rows.offsets[row]);
    }
    /// Words of the slates of `rows` rows with `arcs` arcs, and enough for them.
    static constexpr std::uint64_t slate_words(std::uint64_t rows, std::uint64_t arcs) { return 2 * rows + arcs / 32; }
    /// Most entries of a list.
    static constexpr std::uint64_t list_entries(std::uint64_t rows, std::uint64_t arcs) {
        return rows + arcs / piece_arcs;
    }

    /// Lets a row that has heard from all take the least colour that is free. Any lane.
    template <class Ctx>
    LANEWAY_FN void choose(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t row) const {
        const std::uint32_t* taken = slate(ctx, rows, row) + 1;
        std::uint32_t word = 0;
        std::uint32_t seen = 0;
        while ((seen = ctx.load(taken + word, order::relaxed, scope::device)) == ~std::uint32_t{0}) ++word;
        colors.local(ctx)[row] = word * 32 + static_cast<std::uint32_t>(Ctx::first_lane(~seen));  // its lowest bit
        const auto pieces = static_cast<std::uint32_t>((rows.degree(row) + piece_arcs - 1) / piece_arcs);
        if (pieces == 0) return;
        std::uint64_t entry = ctx.fetch_add(&counters.local(ctx)->chosen, pieces, order::relaxed, scope::device);
        for (std::uint32_t piece = 0; piece < pieces; ++piece, ++entry) {
            // Partner: the acquire load in spread_colors::read.
            ctx.store(list.local(ctx) + entry, (row + 1) << 32 | piece, order::release, scope::device);
        }
    }
};

/// Serves color messages on the PE that owns the row.
template <class Vertex>
struct hear_color {
    color_state<Vertex> state;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const color_message& message) const {
        if (message.row == color_message::no_row) {
            ctx.fetch_max(&state.counters.local(ctx)->busy_round, message.color, order::relaxed, scope::device);
            return;
        }
        const graph_rows<Vertex>& rows = state.view.local(ctx)->rows;
        std::uint32_t* slate = state.slate(ctx, rows, message.row);
        if (message.color <= rows.degree(message.row)) {
            ctx.fetch_or(slate + 1 + message.color / 32, std::uint32_t{1} << message.color % 32, order::relaxed,
                         scope::device);
        }
        // Partner: itself, in other handlers. The last one sees the bits of all.
        if (ctx.fetch_add(slate, ~std::uint32_t{0}, order::acq_rel, scope::device) != 1) return;
        state.choose(ctx, rows, message.row);
    }
};

}  // namespace laneway::apps

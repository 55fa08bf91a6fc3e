// What a PE knows of its vertices while they choose their colours, and the handler that lets them choose.
#pragma once

#include "graph/distributed_graph.hpp"

namespace laneway::apps {

/// "A neighbour that comes before your vertex `row` has chosen a colour." With row = no_row: "in round `text` a PE has
/// something to tell".
struct color_message {
    static constexpr std::uint32_t no_row = 0xffffffff;

    std::uint32_t row;
    std::uint32_t text;  ///< twice the colour, plus the parity of the round in which it is told

    /// Any colour fits: for one of 2^31 a graph needs 2^61 edges, as each colour stands beside all lower ones.
    static LANEWAY_FN std::uint32_t text_of(std::uint32_t color, std::uint32_t round) { return color << 1 | round % 2; }
    [[nodiscard]] LANEWAY_FN std::uint32_t color() const { return text >> 1; }
    [[nodiscard]] LANEWAY_FN std::uint32_t parity() const { return text & 1; }
};

/// Words of a PE that its warps share. Those with two elements are one for even rounds and one for odd rounds: what
/// handlers write during a round is read in the next one, so that the barrier between them orders it all.
struct color_counters {
    std::uint64_t entries[2];  ///< of the list that is told in such rounds; they only grow
    std::uint32_t busy[2];     ///< last such round in which some PE had something to tell
    std::uint32_t rounds;      ///< for the host
};

/// A vertex that has heard from all neighbours before it stands in its PE's list until those after it are told. One
/// with many arcs stands there several times, with a piece of its arcs each, so that several warps tell: as many arcs
/// as the lanes of a warp read at once.
inline constexpr std::uint32_t piece_arcs = 32 * arc_batch::most;

/// Device view, the same on every PE.
template <class Vertex>
struct color_state {
    symmetric_ref<graph_view<Vertex>> view;
    symmetric_ref<Vertex> turn;           ///< of each vertex of the whole graph: its place in the order
    symmetric_ref<std::uint32_t> slates;  ///< see slate
    symmetric_ref<std::uint32_t> colors;  ///< one a row; 0 is right for those without arcs
    symmetric_ref<std::uint64_t> list;    ///< row · 2^32 + piece; see entry
    symmetric_ref<color_counters> counters;

    /// A row's slate: first the number of neighbours it has yet to hear from, then a bit for each colour up to its
    /// degree, set where it is taken. It never needs more: so many neighbours leave one of so many colours free.
    template <class Ctx>
    LANEWAY_FN std::uint32_t* slate(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t row) const {
        return slates.local(ctx) + slate_words(row, rows.offsets[row]);
    }
    /// Words of the slates of `rows` rows with `arcs` arcs, and enough for them.
    static constexpr std::uint64_t slate_words(std::uint64_t rows, std::uint64_t arcs) { return 2 * rows + arcs / 32; }

    /// Two lists share the array: that of even rounds grows from its begin, that of odd rounds from its end. No vertex
    /// is listed twice, so they never meet.
    template <class Ctx>
    LANEWAY_FN auto entry(Ctx& ctx, std::uint32_t parity, std::uint64_t place) const {
        return list.local(ctx) + (parity == 0 ? place : list.size() - 1 - place);
    }
    /// Most entries of both lists.
    static constexpr std::uint64_t list_entries(std::uint64_t rows, std::uint64_t arcs) {
        return rows + arcs / piece_arcs;
    }

    /// Puts a row that has heard from all on the list of the next round of that parity. Any lane.
    template <class Ctx>
    LANEWAY_FN void enlist(Ctx& ctx, const graph_rows<Vertex>& rows, std::uint64_t row, std::uint32_t parity) const {
        const std::uint64_t pieces = (rows.degree(row) + piece_arcs - 1) / piece_arcs;
        if (pieces == 0) return;
        const std::uint64_t place =
            ctx.fetch_add(&counters.local(ctx)->entries[parity], pieces, order::relaxed, scope::device);
        for (std::uint64_t piece = 0; piece < pieces; ++piece) *entry(ctx, parity, place + piece) = row << 32 | piece;
    }
};

/// Serves color messages on the PE that owns the row.
template <class Vertex>
struct hear_color {
    color_state<Vertex> state;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const color_message& message) const {
        if (message.row == color_message::no_row) {
            // Relaxed, as others store the same: a round's messages are served before the next round begins.
            ctx.store(&state.counters.local(ctx)->busy[message.text % 2], message.text, order::relaxed, scope::device);
            return;
        }
        const graph_rows<Vertex>& rows = state.view.local(ctx)->rows;
        std::uint32_t* slate = state.slate(ctx, rows, message.row);
        const std::uint32_t color = message.color();
        if (color <= rows.degree(message.row)) {
            ctx.fetch_or(slate + 1 + color / 32, std::uint32_t{1} << color % 32, order::relaxed, scope::device);
        }
        // Relaxed: who looks at the row's colours does so behind the next barrier.
        if (ctx.fetch_add(slate, ~std::uint32_t{0}, order::relaxed, scope::device) != 1) return;
        state.enlist(ctx, rows, message.row, 1 - message.parity());
    }
};

}  // namespace laneway::apps

// The device part of PageRank: every row adds up the shares of the vertices that lead to it, round after round, in one
// persistent run.
#pragma once

#include "fixed_rank.hpp"
#include "graph/mirrored_graph.hpp"
#include "parallel/working_warp.hpp"
#include "sum_shares.hpp"

namespace laneway::apps {

/// A number in units of rank for a PE's word `index`: one of its shares, which becomes the number, or behind these one
/// of its totals, to which it is added.
struct rank_message {
    std::uint32_t index;
    float number;
};

/// Words of a PE that messages write.
struct rank_words {
    symmetric_ref<float> shares;          ///< two copies, each of the own rows' shares and mirrors of others'
    symmetric_ref<std::uint64_t> totals;  ///< three copies, each of all PEs' dangling rank and change

    static constexpr std::uint64_t share_copies = 2, total_copies = 3, totals_a_copy = 2;
    /// Most values of a PE for which an index fits a message.
    static constexpr std::uint64_t max_values = (0xffffffff - total_copies * totals_a_copy) / share_copies;

    [[nodiscard]] LANEWAY_FN std::uint64_t first_share(std::uint64_t round) const {
        return round % share_copies * (shares.size() / share_copies);
    }
    [[nodiscard]] LANEWAY_FN static std::uint64_t first_total(std::uint64_t round) {
        return round % total_copies * totals_a_copy;
    }
};

/// Serves messages on the PE that has the word.
struct hear_rank {
    rank_words words;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const rank_message& message) const {
        if (message.index < words.shares.size()) {
            words.shares.local(ctx)[message.index] = message.number;  // nobody else touches it before the next barrier
        } else {
            const auto number = static_cast<std::uint64_t>(message.number);
            atomic_add(ctx, words.totals[message.index - words.shares.size()], number, scope::device);
        }
    }
};

/// Of a row that several tiles have parts of.
struct cut_row {
    std::uint64_t sum;    ///< of the parts that have been added up
    std::uint64_t parts;  ///< how many these are
};

/// Words of a PE that its warps share.
struct rank_counters {
    std::uint64_t updated;   ///< tiles whose rows have been looked at in this round
    std::uint64_t dangling;  ///< rank of own vertices that no arc leaves
    std::uint64_t change;    ///< of own ranks, against the round before
};

/// Of a row, where walks do not start anywhere alike; in units of rank.
struct start_shares {
    std::uint64_t started;      ///< of the rank that does not follow arcs
    std::uint64_t of_dangling;  ///< its part of the rank of vertices without arcs
};

/// How a run ended; the same on every PE.
struct rank_outcome {
    std::uint64_t rounds;
    std::uint64_t change;
};

/// Round 0 updates the first ranks, and every other one those that follow from the shares of the round before. A PE
/// stores the new shares of its rows, posts them to the PEs that mirror them, and its last warp posts the PE's part of
/// the totals. Then all meet at the one barrier of the round.
///
/// One is enough, as no PE is more than one round ahead of another, and what a round writes is not what PEs may still
/// read in that round or the one before:
///   - Shares of a round are read in the next one only, and have two copies. Who writes a copy again has passed the
///     barrier behind that next round, where all readers had arrived.
///   - Totals of a round are read behind its barrier and in the next round, and have three copies: that of round r + 1
///     was last read in round r - 1 and is cleared in round r, when no message for it can be on its way.
///   - Cut rows and counters of the PE go back to zero by whoever finds them complete, in the same round.
/// Where `Weighted`, a vertex hands out its rank in proportion to the arcs' weights, and a share is that of a weight
/// of 1.
template <bool Weighted>
struct pull_ranks {
    static constexpr double server_share = 0.1;  ///< a message a vertex and PE, beside all arcs that are added up

    symmetric_ref<mirrored_view> view;
    rank_words words;
    symmetric_ref<std::uint64_t> ranks;
    symmetric_ref<cut_row> cut_rows;  ///< one a tile: of the row that begins in it and goes on behind it
    symmetric_ref<rank_counters> counters;
    symmetric_ref<rank_outcome> outcome;
    symmetric_ref<start_shares> starts;  ///< one a row, where walks do not start anywhere alike
    bool anywhere = true;                ///< whether they do
    bool ranked = false;                 ///< whether `ranks` holds the first ones, which are equal otherwise
    std::uint64_t vertices = 1;          ///< of the whole graph
    std::uint64_t alpha = 0;             ///< in units of rank
    std::uint64_t limit = 0;             ///< ranks have converged when a round changes them by less
    std::uint64_t rounds = 0;            ///< most
    bool all_rounds = false;             ///< whether they go on when ranks have converged

    /// `tiles`: of the own rows, a pass for each round.
    template <class Ctx, class Tiles, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Tiles& tiles, Box& box) const {
        const mirrored_view& mine = *view.local(ctx);
        for (std::uint64_t round = 0;; ++round) {
            if (working_warp::of(ctx).lane(ctx) == 0) prepare(ctx, round);
            update(ctx, tiles, box, mine, round);
            if (box.barrier(ctx) != status::ok) return;
            const std::uint64_t change = total(ctx, round, change_of);
            if (round == rounds || (!all_rounds && round > 0 && change < limit)) {
                if (ctx.lane() == 0) end(ctx, round, change);
                return;
            }
        }
    }

private:
    static constexpr std::uint64_t dangling_of = 0, change_of = 1;

    /// Sums of a lane over the rows that it updates.
    struct own_sums {
        std::uint64_t dangling = 0;
        std::uint64_t change = 0;
    };

    template <class Ctx>
    LANEWAY_FN std::uint64_t total(Ctx& ctx, std::uint64_t round, std::uint64_t which) const {
        const std::uint64_t* all = words.totals.local(ctx);
        return ctx.load(all + rank_words::first_total(round) + which, order::relaxed, scope::device);
    }

    /// Tells the host; every warp says the same.
    template <class Ctx>
    LANEWAY_FN void end(Ctx& ctx, std::uint64_t round, std::uint64_t change) const {
        ctx.store(&outcome.local(ctx)->rounds, round, order::relaxed, scope::device);
        ctx.store(&outcome.local(ctx)->change, change, order::relaxed, scope::device);
    }

    /// Clears what the next round adds to. One lane of the PE, in each round.
    template <class Ctx>
    LANEWAY_FN void prepare(Ctx& ctx, std::uint64_t round) const {
        std::uint64_t* all = words.totals.local(ctx) + rank_words::first_total(round + 1);
        for (std::uint64_t i = 0; i < rank_words::totals_a_copy; ++i) all[i] = 0;
    }

    template <class Ctx, class Tiles, class Box>
    LANEWAY_FN void update(Ctx& ctx, Tiles& tiles, Box& box, const mirrored_view& mine, std::uint64_t round) const {
        const float* heard = words.shares.local(ctx) + words.first_share(round + 1);  // the copy of the round before
        std::uint64_t dangling = round == 0 ? 0 : total(ctx, round - 1, dangling_of);
        if (anywhere) dangling /= vertices;
        own_sums sums;
        std::uint64_t updated = 0;  // tiles
        const auto update_tile = [&](std::uint64_t tile) {
            ++updated;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& in_tile, bool begins) {
                std::uint64_t sum = 0;
                bool complete = begins;
                if (round > 0) {
                    const arc_range arcs = arcs_to_add(mine.tiles, row, in_tile, begins);
                    Ctx here(ctx);
                    sum = sum_shares(here, arcs, arc_shares<Weighted>{mine.sources, mine.weights, heard});
                    complete = complete_sum(ctx, mine.tiles, row, arcs, begins, sum);
                }
                float share = 0;
                if (complete) share = update_row(ctx, mine, row, round, sum, dangling, sums);
                tell(ctx, box, mine, row, round, complete, share);
            });
        };
        tiles.for_each_together(ctx, update_tile, static_cast<std::uint32_t>(round));
        account(ctx, box, mine.tiles.n_tiles, updated, round, warp_sum(ctx, sums.dangling), warp_sum(ctx, sums.change));
    }

    /// A row with no more arcs than a tile has places is left to the tile that it begins in, so that only longer rows
    /// are cut.
    LANEWAY_FN static arc_range arcs_to_add(const row_tiles_ref& tiles, std::uint64_t row, const arc_range& in_tile,
                                            bool begins) {
        if (row == tiles.rows) return in_tile;
        const std::uint64_t first = tiles.offsets[row];
        const std::uint64_t end = tiles.offsets[row + 1];
        if (end - first > tiles.tile_places) return in_tile;
        return begins ? arc_range{first, static_cast<std::uint32_t>(end - first)} : arc_range{end, 0};
    }

    /// Whether `sum`, over `arcs`, is now that over all arcs of the row. A row that is cut is complete where the last
    /// part of it is added up.
    template <class Ctx>
    LANEWAY_FN bool complete_sum(Ctx& ctx, const row_tiles_ref& tiles, std::uint64_t row, const arc_range& arcs,
                                 bool begins, std::uint64_t& sum) const {
        if (!begins && arcs.count == 0) return false;  // no part of it is in this tile
        if (begins && arcs.begin + arcs.count == tiles.offsets[row + 1]) return true;
        const tile_span span = tiles.span(row);
        cut_row& all = cut_rows.local(ctx)[span.first];
        ctx.fetch_add(&all.sum, sum, order::relaxed, scope::device);
        // Partner: the load below, in the warp that comes last.
        if (ctx.fetch_add(&all.parts, 1, order::release, scope::device) + 1 != span.count) return false;
        // Partner: the adds above, in all warps. Only here, as an acquire empties a multiprocessor's cache, which holds
        // shares that are needed often.
        (void)ctx.load(&all.parts, order::acquire, scope::device);
        sum = ctx.load(&all.sum, order::relaxed, scope::device);
        all = {};
        return true;
    }

    /// Gives a row its rank, `followed` being what arcs have handed it, and `dangling` what vertices without arcs hand
    /// to each row, or to all rows together where walks do not start anywhere alike; returns the row's new share.
    template <class Ctx>
    LANEWAY_FN float update_row(Ctx& ctx, const mirrored_view& mine, std::uint64_t row, std::uint64_t round,
                                std::uint64_t followed, std::uint64_t dangling, own_sums& sums) const {
        const auto rank = ranks.local(ctx) + row;
        std::uint64_t updated = ranked ? *rank : whole_rank / vertices;
        if (round > 0) {
            std::uint64_t started = (whole_rank - alpha) / vertices;
            if (!anywhere) {
                const start_shares own = starts.local(ctx)[row];
                started = own.started;
                dangling = multiply_ranks(dangling, own.of_dangling);
            }
            updated = started + multiply_ranks(alpha, followed + dangling);
            const std::uint64_t before = *rank;
            sums.change += updated > before ? updated - before : before - updated;
        }
        *rank = updated;
        const std::uint64_t outgoing = mine.outgoing[row];
        if (outgoing == 0) sums.dangling += updated;
        const float share = outgoing == 0 ? 0 : share_of(updated, outgoing);
        words.shares.local(ctx)[words.first_share(round) + row] = share;
        return share;
    }

    /// Of a rank, for an arc, or for a weight of 1. The quotient of doubles is rounded alike everywhere.
    LANEWAY_FN static float share_of(std::uint64_t rank, std::uint64_t outgoing) {
        if constexpr (Weighted) {
            return static_cast<float>(static_cast<double>(rank) / static_cast<double>(outgoing));
        } else {
            return static_cast<float>(rank / outgoing);
        }
    }

    /// Posts the shares of the rows that are complete to the PEs that mirror them, if there will be a next round. The
    /// whole warp, together.
    template <class Ctx, class Box>
    LANEWAY_FN void tell(Ctx& ctx, Box& box, const mirrored_view& mine, std::uint64_t row, std::uint64_t round,
                         bool complete, float share) const {
        if (ctx.n_pes() == 1 || round == rounds) return;
        arc_range to;
        if (complete) {
            to.begin = mine.target_offsets[row];
            to.count = static_cast<std::uint32_t>(mine.target_offsets[row + 1] - to.begin);
        }
        for_each_arc(ctx, to, share, [&](const arc_batch& batch, float its) {
            for (int k = 0; k < batch.count; ++k) {
                const mirror_target target = mine.targets[batch.first + std::uint64_t{batch.stride} * unsigned(k)];
                const auto index = static_cast<std::uint32_t>(words.first_share(round) + target.index);
                // A post that fails ends the run: the barrier fails as well.
                (void)box.post(ctx, static_cast<int>(target.pe), rank_message{index, its});
            }
        });
    }

    /// Adds up what the PE's warps have updated; the last of them tells all PEs. The whole warp, together.
    template <class Ctx, class Box>
    LANEWAY_FN void account(Ctx& ctx, Box& box, std::uint64_t n_tiles, std::uint64_t tiles, std::uint64_t round,
                            std::uint64_t dangling, std::uint64_t change) const {
        if (ctx.lane() != 0 || tiles == 0) return;
        rank_counters& all = *counters.local(ctx);
        ctx.fetch_add(&all.dangling, dangling, order::relaxed, scope::device);
        ctx.fetch_add(&all.change, change, order::relaxed, scope::device);
        // Partner: itself, in other warps. The last one sees what all have added.
        if (ctx.fetch_add(&all.updated, tiles, order::acq_rel, scope::device) + tiles != n_tiles) return;
        const std::uint64_t first = words.shares.size() + rank_words::first_total(round);
        post_total(ctx, box, first + dangling_of, all.dangling);
        post_total(ctx, box, first + change_of, all.change);
        all = {};
    }

    /// Adds to a total of all PEs, in pieces that a float holds exactly.
    template <class Ctx, class Box>
    LANEWAY_FN void post_total(Ctx& ctx, Box& box, std::uint64_t index, std::uint64_t value) const {
        constexpr int float_bits = 24;
        for (int shift = 0; shift < 64 && value >> shift != 0; shift += float_bits) {
            const auto piece = static_cast<float>((value >> shift & 0xffffff) << shift);
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                (void)box.post(ctx, pe, rank_message{static_cast<std::uint32_t>(index), piece});
            }
        }
    }
};

}  // namespace laneway::apps

// The device part of PageRank: every vertex pushes its rank along its arcs, round after round, in one persistent run.
#pragma once

#include "fixed_rank.hpp"
#include "graph/distributed_graph.hpp"
#include "parallel/share_out.hpp"

namespace laneway::apps {

/// "Add `share`, in units of rank, to the sum `index` of your PE." Shares are rounded to float wherever their vertex
/// is.
struct rank_share {
    std::uint32_t index;
    float share;
};

/// Serves shares on the PE that owns the sum.
struct add_share {
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const rank_share& message) const {
        atomic_add(ctx, sums[message.index], static_cast<std::uint64_t>(message.share));
    }
};

/// Words of a PE that its warps share.
struct rank_counters {
    std::uint64_t settled;   ///< tiles whose ranks are settled in this round
    std::uint64_t dangling;  ///< rank of own vertices without arcs
    std::uint64_t change;    ///< of own ranks, against the round before
};

/// How a run ended; the same on every PE.
struct rank_outcome {
    std::uint64_t rounds;
    std::uint64_t change;
};

/// A round pushes and settles, with a barrier behind each. Round 0 only settles the first ranks.
///
/// A PE's sums have one element a row and behind these two for each parity of rounds: all PEs' dangling rank and
/// change. The warp that settles a PE's last tile posts the PE's own part of them to all PEs. Those of a round are read
/// in the next one; they are cleared while nobody reads or adds.
template <class Vertex>
struct push_ranks {
    symmetric_ref<graph_view<Vertex>> view;
    symmetric_ref<std::uint64_t> ranks;
    symmetric_ref<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> next_tile;  ///< to push, to settle
    symmetric_ref<rank_counters> counters;
    symmetric_ref<rank_outcome> outcome;
    std::uint64_t vertices = 1;  ///< of the whole graph
    std::uint64_t damping = 0;   ///< in units of rank
    std::uint64_t tolerance = 0;
    std::uint64_t rounds = 0;  ///< most

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const graph_view<Vertex>& mine = *view.local(ctx);
        for (std::uint64_t round = 0;; ++round) {
            settle(ctx, box, mine, round);
            if (box.barrier(ctx) != status::ok) return;
            const std::uint64_t change = total(ctx, round, change_of);
            if (round == rounds || (round > 0 && change < tolerance)) {
                if (ctx.lane() == 0) end(ctx, round, change);
                return;
            }
            push(ctx, box, mine, round);
            if (box.barrier(ctx) != status::ok) return;
        }
    }

private:
    static constexpr std::uint64_t to_push = 0, to_settle = 1;
    static constexpr std::uint64_t dangling_of = 0, change_of = 1;

    [[nodiscard]] LANEWAY_FN std::uint64_t total_index(std::uint64_t round, std::uint64_t which) const {
        return ranks.size() + round % 2 * 2 + which;
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t total(Ctx& ctx, std::uint64_t round, std::uint64_t which) const {
        return ctx.load(sums.local(ctx) + total_index(round, which), order::relaxed, scope::device);
    }

    /// Tells the host; every warp says the same.
    template <class Ctx>
    LANEWAY_FN void end(Ctx& ctx, std::uint64_t round, std::uint64_t change) const {
        ctx.store(&outcome.local(ctx)->rounds, round, order::relaxed, scope::device);
        ctx.store(&outcome.local(ctx)->change, change, order::relaxed, scope::device);
    }

    template <class Ctx, class Box>
    LANEWAY_FN void push(Ctx& ctx, Box& box, const graph_view<Vertex>& mine, std::uint64_t round) const {
        const std::uint64_t* rank = ranks.local(ctx);
        for (;;) {
            const std::uint64_t tile = claim(ctx, next_tile[to_push]);
            if (tile == 0 && ctx.lane() == 0) {  // one warp of the PE: prepares what the next settling needs
                *local(ctx, next_tile[to_settle]) = 0;
                sums.local(ctx)[total_index(round + 1, dangling_of)] = 0;
                sums.local(ctx)[total_index(round + 1, change_of)] = 0;
            }
            if (tile >= mine.tiles.n_tiles) return;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                const float share = arcs.count == 0 ? 0 : static_cast<float>(rank[row] / mine.rows.degree(row));
                for_each_arc(ctx, arcs, share,
                             [&](const arc_batch& batch, float its) { post_batch(ctx, box, mine.rows, batch, its); });
            });
        }
    }

    /// First all heads are read, then anything is posted, which may wait.
    template <class Ctx, class Box>
    LANEWAY_FN void post_batch(Ctx& ctx, Box& box, const graph_rows<Vertex>& rows, const arc_batch& batch,
                               float share) const {
        Vertex heads[arc_batch::most] = {};
        for (int k = 0; k < arc_batch::most; ++k) {
            if (k < batch.count) {
                heads[k] = rows.heads[batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k)];
            }
        }
        for (int next = 0; next < batch.count; ++next) {
            // Chosen by comparing, not by indexing: so the heads stay in registers.
            Vertex head = heads[0];
            for (int k = 1; k < arc_batch::most; ++k) head = k == next ? heads[k] : head;
            const int owner = rows.ranges.owner(ctx, head);
            // A post that fails ends the run: the barrier fails as well.
            (void)box.post(ctx, owner, rank_share{static_cast<std::uint32_t>(head - rows.ranges.starts[owner]), share});
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN void settle(Ctx& ctx, Box& box, const graph_view<Vertex>& mine, std::uint64_t round) const {
        const std::uint64_t dangling = round == 0 ? 0 : total(ctx, round - 1, dangling_of) / vertices;
        std::uint64_t now_dangling = 0;
        std::uint64_t change = 0;
        std::uint64_t tiles = 0;
        for (;; ++tiles) {
            const std::uint64_t tile = claim(ctx, next_tile[to_settle]);
            if (tile == 0 && ctx.lane() == 0) *local(ctx, next_tile[to_push]) = 0;
            if (tile >= mine.tiles.n_tiles) break;
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range&, bool begins) {
                if (!begins) return;
                const std::uint64_t rank = settle_row(ctx, row, round, dangling, change);
                if (mine.rows.degree(row) == 0) now_dangling += rank;
            });
        }
        account(ctx, box, mine.tiles.n_tiles, tiles, round, warp_sum(ctx, now_dangling), warp_sum(ctx, change));
    }

    template <class Ctx>
    LANEWAY_FN std::uint64_t settle_row(Ctx& ctx, std::uint64_t row, std::uint64_t round, std::uint64_t dangling,
                                        std::uint64_t& change) const {
        std::uint64_t& rank = ranks.local(ctx)[row];
        std::uint64_t& sum = sums.local(ctx)[row];
        std::uint64_t settled = whole_rank / vertices;
        if (round > 0) {
            settled = (whole_rank - damping) / vertices + multiply_ranks(damping, sum + dangling);
            change += settled > rank ? settled - rank : rank - settled;
            sum = 0;
        }
        return rank = settled;
    }

    /// Adds up what the PE's warps have settled; the last of them tells all PEs. The whole warp, together.
    template <class Ctx, class Box>
    LANEWAY_FN void account(Ctx& ctx, Box& box, std::uint64_t n_tiles, std::uint64_t tiles, std::uint64_t round,
                            std::uint64_t dangling, std::uint64_t change) const {
        if (ctx.lane() != 0 || tiles == 0) return;
        rank_counters& all = *counters.local(ctx);
        ctx.fetch_add(&all.dangling, dangling, order::relaxed, scope::device);
        ctx.fetch_add(&all.change, change, order::relaxed, scope::device);
        // Partner: itself, in other warps. The last one sees what all have added.
        if (ctx.fetch_add(&all.settled, tiles, order::acq_rel, scope::device) + tiles != n_tiles) return;
        post_total(ctx, box, total_index(round, dangling_of), all.dangling);
        post_total(ctx, box, total_index(round, change_of), all.change);
        all.settled = all.dangling = all.change = 0;
    }

    /// Adds to a total of all PEs, in pieces that a float holds exactly.
    template <class Ctx, class Box>
    LANEWAY_FN void post_total(Ctx& ctx, Box& box, std::uint64_t index, std::uint64_t value) const {
        constexpr int float_bits = 24;
        for (int shift = 0; shift < 64 && value >> shift != 0; shift += float_bits) {
            const auto piece = static_cast<float>((value >> shift & 0xffffff) << shift);
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                (void)box.post(ctx, pe, rank_share{static_cast<std::uint32_t>(index), piece});
            }
        }
    }
};

}  // namespace laneway::apps

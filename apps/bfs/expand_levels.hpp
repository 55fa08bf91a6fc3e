// The device part of breadth-first search by levels.
#pragma once

#include "laneway/comm/one_sided.hpp"
#include "level_state.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// How a run ended; the same on every PE.
struct level_outcome {
    std::uint64_t levels;
    std::uint64_t pulled;
};

/// Arcs of a row that one warp pushes.
struct row_piece {
    std::uint32_t row;
    std::uint32_t first;  ///< among the row's arcs
};

/// A level: behind a barrier every PE knows which rows have reached it, and all PEs together how many arcs leave them.
/// With few, the rows *push*: they post to the heads that their PE has not yet told. With many, the vertices that are
/// not reached *pull*: each looks for an arc from a vertex of the level and stops at the first. A warp pulls for 32
/// rows at a time, so that those it has found are a word of bits, which it puts into all PEs' memory: the next level,
/// if that is pulled as well. Nobody posts before all have read how long their lists are, as the sum over all PEs comes
/// in between.
template <class Vertex>
struct expand_levels {
    /// A level is pulled where its arcs are more than this part of those of vertices not reached (Beamer's alpha), and
    /// more than that part of all vertices, as a warp that pulls looks at all rows of its PE.
    static constexpr std::uint64_t arcs_part = 14, vertices_part = 16;
    /// Rows with more arcs are pushed in pieces of so many, by all warps of the PE, the others by a warp each.
    static constexpr std::uint64_t piece_arcs = 512;
    /// What a lane adds to the sum of a level's arcs where it has rows that are cut into pieces. The arcs are fewer,
    /// and the lanes of a job fewer than 2^24.
    static constexpr std::uint64_t one_cut = std::uint64_t{1} << 40;
    /// Arcs that a lane looks at together while it pulls.
    static constexpr int looks = 2;
    static constexpr std::uint64_t word_bits = 32;

    /// Pieces of a row with so many arcs.
    static constexpr LANEWAY_FN std::uint64_t pieces_of(std::uint64_t degree) {
        return degree > piece_arcs ? (degree + piece_arcs - 1) / piece_arcs : 0;
    }

    level_state<Vertex> state;
    symmetric_ref<graph_view<Vertex>> inward;  ///< arcs that lead to the rows; the same places
    /// A bit a row of the level, `words` of each PE one after the other; twice, for levels that are pulled in turn.
    symmetric_ref<std::uint32_t> frontier;
    symmetric_ref<std::uint32_t> told;      ///< a bit a vertex: those of others that this PE has told of a level
    symmetric_ref<row_piece> pieces;        ///< of rows of a level that is pushed and those before
    symmetric_ref<std::uint64_t> n_pieces;  ///< how many these are
    symmetric_ref<std::uint32_t> seeds;     ///< rows where the search begins: how many, then which
    symmetric_ref<level_outcome> outcome;
    std::uint64_t words = 0;
    std::uint64_t vertices = 0;  ///< of the whole graph
    std::uint64_t arcs = 0;
    bool pulls = true;

    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& sums) const {
        one_sided remote(ctx, box);
        const auto place = working_warp::of(ctx);
        begin(ctx, place);
        places listed{}, cut{};
        std::uint64_t explored = 0;
        bool pulled = false;
        level_outcome end{};
        for (std::uint32_t level = 1;; ++level) {
            if (remote.barrier() != status::ok) return;
            listed = {listed.end, ctx.load(state.reached.local(ctx), order::relaxed, scope::device)};
            const auto sum = sums.all_reduce(ctx, degrees(ctx, place, listed), reduction::sum{});
            if (!sum) return;
            const std::uint64_t leaving = sum.value % one_cut;
            if (leaving == 0) break;
            explored += leaving;
            const bool was_pulled = pulled;
            pulled = pulls && leaving > (arcs - explored) / arcs_part && leaving > vertices / vertices_part;
            ++end.levels;
            if (pulled) {
                const std::uint64_t turn = end.pulled++ % 2;
                if (!was_pulled && !share_frontier(ctx, remote, place, level, turn)) return;
                pull(ctx, box, remote, place, level, turn);
                continue;
            }
            if (sum.value >= one_cut) {
                cut_rows(ctx, place, listed);
                if (sums.barrier(ctx) != status::ok) return;
                cut = {cut.end, ctx.load(n_pieces.local(ctx), order::relaxed, scope::device)};
            }
            push(ctx, box, place, listed, level);
            push_pieces(ctx, box, place, cut, level);
            cut.begin = cut.end;
        }
        if (place.lane(ctx) == 0) *outcome.local(ctx) = end;
    }

private:
    /// In a list: what belongs to a level.
    struct places {
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

    /// Arcs that leave this lane's share of the rows, and one_cut where some among them are to be cut.
    template <class Ctx>
    LANEWAY_FN std::uint64_t degrees(Ctx& ctx, const working_warp& place, const places& part) const {
        const graph_rows<Vertex> rows = state.view.local(ctx)->rows;
        std::uint64_t sum = 0;
        bool cuts = false;
        for (std::uint64_t i = part.begin + place.lane(ctx); i < part.end; i += place.lanes(ctx)) {
            const std::uint64_t degree = rows.degree(state.list.local(ctx)[i]);
            sum += degree;
            cuts = cuts || pieces_of(degree) > 0;
        }
        return sum + (cuts ? one_cut : 0);
    }

    /// Lists the pieces of rows with many arcs.
    template <class Ctx>
    LANEWAY_FN void cut_rows(Ctx& ctx, const working_warp& place, const places& part) const {
        const graph_rows<Vertex> rows = state.view.local(ctx)->rows;
        for (std::uint64_t i = part.begin + place.lane(ctx); i < part.end; i += place.lanes(ctx)) {
            const std::uint32_t row = state.list.local(ctx)[i];
            const std::uint64_t count = pieces_of(rows.degree(row));
            if (count == 0) continue;
            const std::uint64_t at = ctx.fetch_add(n_pieces.local(ctx), count, order::relaxed, scope::device);
            for (std::uint64_t k = 0; k < count; ++k) {
                pieces.local(ctx)[at + k] = {row, static_cast<std::uint32_t>(k * piece_arcs)};
            }
        }
    }

    /// Rows of the level to the heads of their arcs, but for those that are cut. Every working warp; where there are
    /// few rows, each has a warp of its own.
    template <class Ctx, class Box>
    LANEWAY_FN void push(Ctx& ctx, Box& box, const working_warp& place, const places& part, std::uint32_t level) const {
        const known_heads<Vertex> heads = known(ctx);
        const std::uint64_t even = (part.end - part.begin + place.warps - 1) / place.warps;
        const std::uint64_t share = even < Ctx::warp_lanes ? even : Ctx::warp_lanes;
        for (std::uint64_t first = part.begin + place.number * share; first < part.end; first += place.warps * share) {
            const auto lane = static_cast<std::uint64_t>(ctx.lane());
            arc_range leaving;
            if (lane < share && first + lane < part.end) {
                const std::uint32_t row = state.list.local(ctx)[first + lane];
                if (pieces_of(heads.rows.degree(row)) == 0) {
                    leaving = {heads.rows.offsets[row], static_cast<std::uint32_t>(heads.rows.degree(row))};
                }
            }
            for_each_batch(ctx, leaving, std::uint32_t{0},
                           [&](const arc_batch& batch, std::uint32_t) { visit(ctx, box, heads, batch, level + 1); });
        }
    }
    /// The same of the rows that are cut.
    template <class Ctx, class Box>
    LANEWAY_FN void push_pieces(Ctx& ctx, Box& box, const working_warp& place, const places& part,
                                std::uint32_t level) const {
        const known_heads<Vertex> heads = known(ctx);
        for (std::uint64_t i = part.begin + place.number; i < part.end; i += place.warps) {
            const row_piece piece = pieces.local(ctx)[i];
            const std::uint64_t left = heads.rows.degree(piece.row) - piece.first;
            const auto end = piece.first + static_cast<std::uint32_t>(left < piece_arcs ? left : piece_arcs);
            walk_range(ctx, heads.rows.offsets[piece.row], piece.first, end, std::uint32_t{0},
                       [&](const arc_batch& batch, std::uint32_t) { visit(ctx, box, heads, batch, level + 1); });
        }
    }

    /// What this PE knows. Its parts are found once, as no load of a visit may wait for them.
    template <class Ctx>
    LANEWAY_FN known_heads<Vertex> known(Ctx& ctx) const {
        return {state.view.local(ctx)->rows, state.levels.local(ctx), told.local(ctx)};
    }

    /// Tells the heads of some arcs their level. The whole warp, together: first all arcs are read, then what is known
    /// of their heads, and only then is anything waited for. Lanes that have fewer arcs than others read their first
    /// one again rather than branch.
    template <class Ctx, class Box>
    LANEWAY_FN void visit(Ctx& ctx, Box& box, const known_heads<Vertex>& known, const arc_batch& batch,
                          std::uint32_t level) const {
        Vertex heads[arc_batch::most] = {};
        std::uint32_t own[arc_batch::most], seen[arc_batch::most], listed = 0, posted = 0;
        if (batch.count > 0) {
            for (int k = 0; k < arc_batch::most; ++k) {
                if (Ctx::warp_lanes == 1 && k == batch.count) break;
                heads[k] = known.rows.heads[batch.arc(k)];
            }
        }
        for (int k = 0; k < arc_batch::most; ++k) seen[k] = k < batch.count ? known.load(ctx, heads[k]) : ~0u;
        for (int k = 0; k < arc_batch::most; ++k) {
            seen[k] = known.is_new(heads[k], seen[k]) ? known.tell(ctx, heads[k], level) : ~0u;
        }
        for (int k = 0; k < arc_batch::most; ++k) {
            own[k] = static_cast<std::uint32_t>(heads[k] - known.rows.first);
            const std::uint32_t bit = known.is_new(heads[k], seen[k]) ? 1u << k : 0;
            (known.owns(heads[k]) ? listed : posted) |= bit;
        }
        state.add(ctx, full_warp<Ctx>, own, listed);
        for (; posted != 0; posted &= posted - 1) {
            // Chosen by comparing, not by indexing: so the heads stay in registers.
            Vertex head = heads[0];
            for (int k = 1; k < arc_batch::most; ++k) head = (posted & (0u - posted)) == 1u << k ? heads[k] : head;
            post(ctx, box, known.rows, head, level);
        }
    }

    /// Posts to the owner of a head. A post that fails ends the run: the barrier fails as well.
    template <class Ctx, class Box>
    LANEWAY_FN void post(Ctx& ctx, Box& box, const graph_rows<Vertex>& rows, Vertex head, std::uint32_t level) const {
        const int owner = rows.ranges.owner(ctx, head);
        (void)box.post(ctx, owner, level_message{static_cast<std::uint32_t>(head - rows.ranges.starts[owner]), level});
    }

    /// Calls `choose(row)`, on a lane each, for the rows of a word of bits, which it returns: those for which it is
    /// true. Rows that do not exist are given to it as `count`. The whole warp, together.
    template <class Ctx, class Choose>
    LANEWAY_FN std::uint32_t for_rows_of(Ctx& ctx, std::uint64_t word, std::uint64_t count, Choose&& choose) const {
        std::uint32_t bits = 0;
        for (unsigned k = 0; k < word_bits; k += Ctx::warp_lanes) {
            const std::uint64_t row = word * word_bits + k + static_cast<unsigned>(ctx.lane());
            const bool chosen = choose(row < count ? row : count);
            bits |= static_cast<std::uint32_t>(ctx.ballot(full_warp<Ctx>, chosen)) << k;
        }
        return bits;
    }

    /// Puts a word of own rows into all PEs' frontiers. The whole warp, together.
    template <class Ctx, class Remote>
    LANEWAY_FN void put_bits(Ctx& ctx, Remote& remote, std::uint64_t turn, std::uint64_t word,
                             std::uint32_t bits) const {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        const std::uint64_t at = (turn * pes + static_cast<std::uint64_t>(ctx.pe())) * words + word;
        // A put that fails ends the run: the barrier fails as well.
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) (void)remote.put(frontier[at], pe, bits);
    }

    /// The frontier of a level that was pushed. Every working warp; false if the run is ending.
    template <class Ctx, class Remote>
    LANEWAY_FN bool share_frontier(Ctx& ctx, Remote& remote, const working_warp& place, std::uint32_t level,
                                   std::uint64_t turn) const {
        const std::uint64_t count = state.view.local(ctx)->rows.count;
        const auto levels = state.levels.local(ctx);
        for (std::uint64_t word = place.number; word * word_bits < count; word += place.warps) {
            const std::uint32_t bits = for_rows_of(ctx, word, count, [&](std::uint64_t row) {
                if (row == count) return false;
                const std::uint32_t its = levels[row];
                return its == level;
            });
            put_bits(ctx, remote, turn, word, bits);
        }
        return remote.barrier() == status::ok;
    }

    /// Rows that are not reached look for an arc from a row of the level. Every working warp.
    template <class Ctx, class Box, class Remote>
    LANEWAY_FN void pull(Ctx& ctx, Box& box, Remote& remote, const working_warp& place, std::uint32_t level,
                         std::uint64_t turn) const {
        const graph_rows<Vertex> entering = inward.local(ctx)->rows;
        const auto levels = state.levels.local(ctx);
        const auto bits_of_level = frontier.local(ctx) + turn * static_cast<std::uint64_t>(ctx.n_pes()) * words;
        found_words found;
        for (std::uint64_t word = place.number; word * word_bits < entering.count; word += place.warps) {
            (void)box.progress(ctx);  // on CPU devices nobody else may look at the deadline
            const std::uint32_t bits = for_rows_of(ctx, word, entering.count, [&](std::uint64_t row) {
                std::uint64_t arc = 0, end = 0;
                if (row < entering.count) {  // its arcs are asked for with its level
                    const bool reached = ctx.load(levels + row, order::relaxed, scope::device) != 0;
                    arc = entering.offsets[row];
                    end = reached ? arc : entering.offsets[row + 1];
                }
                if (!finds_parent(ctx, entering, bits_of_level, arc, end)) return false;
                ctx.store(levels + row, level + 1, order::relaxed, scope::device);
                return true;
            });
            put_bits(ctx, remote, 1 - turn, word, bits);
            if (bits != 0) note(ctx, found, word, bits);
        }
        list_found(ctx, found);
    }

    /// Words of bits that a warp has found, one a lane, until they are listed.
    struct found_words {
        std::uint64_t word = 0;
        std::uint32_t bits = 0;
        int count = 0;  ///< of the warp
    };

    /// The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void note(Ctx& ctx, found_words& found, std::uint64_t word, std::uint32_t bits) const {
        if (ctx.lane() == found.count) {
            found.word = word;
            found.bits = bits;
        }
        if (++found.count == Ctx::warp_lanes) list_found(ctx, found);
    }

    /// Puts the rows of all noted words into the list, at places that are drawn at once. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void list_found(Ctx& ctx, found_words& found) const {
        if (found.count == 0) return;
        const auto mine = static_cast<std::uint32_t>(Ctx::count_lanes(found.bits));
        const std::uint32_t end = inclusive_scan(ctx, full_warp<Ctx>, mine);
        const std::uint32_t total = ctx.shuffle(full_warp<Ctx>, end, Ctx::warp_lanes - 1);
        std::uint64_t place = end - mine + once(ctx, full_warp<Ctx>, [&] {
                                  return ctx.fetch_add(state.reached.local(ctx), total, order::relaxed, scope::device);
                              });
        const auto list = state.list.local(ctx);
        for (std::uint32_t left = found.bits; left != 0; left &= left - 1) {
            list[place++] =
                static_cast<std::uint32_t>(found.word * word_bits) + static_cast<std::uint32_t>(Ctx::first_lane(left));
        }
        found = {};
    }

    /// Whether one of the arcs [arc, end) comes from a row of the level. The whole warp, together, each lane with arcs
    /// of its own: while many look, each for itself, and then all together for one after the other.
    template <class Ctx, class Bits>
    LANEWAY_FN bool finds_parent(Ctx& ctx, const graph_rows<Vertex>& rows, const Bits& bits, std::uint64_t arc,
                                 std::uint64_t end) const {
        constexpr lane_mask all = full_warp<Ctx>;
        bool found = false;
        lane_mask looking = ctx.ballot(all, arc < end);
        for (; Ctx::count_lanes(looking) * 4 > Ctx::warp_lanes; looking = ctx.ballot(all, !found && arc < end)) {
            if (found || arc >= end) continue;
            found = any_in_level(ctx, rows, bits, arc, 1, end);
            arc += looks;
        }
        for (; looking != 0; looking &= looking - 1) {
            const int from = Ctx::first_lane(looking);
            const std::uint64_t its_end = ctx.shuffle(all, end, from);
            const auto lane = static_cast<std::uint64_t>(ctx.lane());
            for (std::uint64_t first = ctx.shuffle(all, arc, from); first < its_end; first += looks * Ctx::warp_lanes) {
                const bool hit =
                    first + lane < its_end && any_in_level(ctx, rows, bits, first + lane, Ctx::warp_lanes, its_end);
                if (ctx.ballot(all, hit) == 0) continue;
                found = found || ctx.lane() == from;
                break;
            }
        }
        return found;
    }

    /// Whether one of the arcs arc, arc + step, ... comes from a row of the level: so many as a lane looks at together.
    template <class Ctx, class Bits>
    LANEWAY_FN bool any_in_level(Ctx& ctx, const graph_rows<Vertex>& rows, const Bits& bits, std::uint64_t arc,
                                 std::uint64_t step, std::uint64_t end) const {
        Vertex tails[looks];
        int owners[looks];
        std::uint64_t at[looks];
        std::uint32_t words_of[looks], any = 0;
        for (int k = 0; k < looks; ++k) {
            const std::uint64_t next = arc + static_cast<unsigned>(k) * step;
            tails[k] = rows.heads[next < end ? next : arc];  // again the first one rather than a branch
        }
        rows.ranges.owners(ctx, tails, owners);
        for (int k = 0; k < looks; ++k) {
            at[k] =
                tails[k] - rows.ranges.starts[owners[k]] + static_cast<std::uint64_t>(owners[k]) * words * word_bits;
        }
        for (int k = 0; k < looks; ++k) words_of[k] = bits[at[k] / word_bits];
        for (int k = 0; k < looks; ++k) any |= words_of[k] >> at[k] % word_bits;
        return any % 2 != 0;
    }
};

}  // namespace laneway::apps

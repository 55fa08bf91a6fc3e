// The device part of triangles: for each arc, the vertices that follow both its ends.
#pragma once

#include "laneway/comm/one_sided.hpp"
#include "laneway/flow/index_space_ref.hpp"
#include "laneway/flow/vertex_ranges.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// Rows of one PE: offsets of rows + 1, heads ascending, and a weight an arc where weights count.
template <class Vertex>
struct row_arrays {
    symmetric_ref<std::uint64_t> offsets;
    symmetric_ref<Vertex> heads;
    symmetric_ref<std::uint32_t> weights;
};

/// What every PE knows of all PEs' rows; PE memory.
struct row_counts {
    vertex_ranges ranges;
    const std::uint64_t* arcs = nullptr;  ///< of each PE's rows
};

/// Arcs lead from a vertex to greater ones, in some order, so a triangle has one corner from which two arcs lead, and
/// one arc of these whose head leads to the third corner. For each own arc (u, v) the PE looks for the heads that the
/// rows of u and v have in common. That of v may be another PE's: so all PEs' rows go round, one PE's at a time, and
/// what a PE keeps of others is one PE's part.
///
/// A common head w is counted where the row of u has it, one word an arc, because words of much-shared vertices would
/// be waited for; at the end each arc's count goes to its head, and with it that of v. Where `Weighted`, each corner
/// counts the weight of the arc on the other side instead of 1.
template <class Vertex, bool Weighted>
struct count_triangles {
    static constexpr double server_share = 0.02;  ///< a message an arc, at the end
    /// An arc is a lane's where the lesser row has at most so many arcs, else a warp's.
    static constexpr std::uint64_t max_lane_arcs = 16;

    row_arrays<Vertex> own;
    row_arrays<Vertex> others;  ///< room for any PE's
    symmetric_ref<row_counts> counts;
    symmetric_ref<Vertex> tails;           ///< one an arc: number of its row
    symmetric_ref<std::uint64_t> found;    ///< one an arc: what its head has to count; 0 at first
    symmetric_ref<std::uint64_t> corners;  ///< one a row: the result; 0 at first

    /// `arcs`: the own ones; a pass for the rows of each PE, and one more.
    template <class Ctx, class Arcs, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Arcs& arcs, Box& box) const {
        one_sided remote(ctx, box);
        const auto place = working_warp::of(ctx);
        for (int step = 0; step < ctx.n_pes(); ++step) {
            const int pe = (ctx.pe() + step) % ctx.n_pes();
            if (step > 0) {
                fetch(ctx, remote, place, pe);
                if (remote.barrier() != status::ok) return;
            }
            walk_arcs(ctx, arcs, box, step == 0 ? own : others, pe, static_cast<std::uint32_t>(step));
            if (remote.barrier() != status::ok) return;
        }
        hand_out(ctx, arcs, remote);
    }

private:
    /// Places in an array of heads.
    struct arc_span {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };

    /// Copies the rows of another PE. Every working warp; complete behind the barrier, which fails if this does.
    template <class Ctx, class Remote>
    LANEWAY_FN void fetch(Ctx& ctx, Remote& remote, const working_warp& place, int pe) const {
        const row_counts& all = *counts.local(ctx);
        const std::uint64_t offsets = all.ranges.starts[pe + 1] - all.ranges.starts[pe] + 1;
        const auto copy = [&](auto to, auto from, std::uint64_t count) {
            for (std::uint64_t i = place.lane(ctx); i < count; i += place.lanes(ctx)) {
                if (remote.get_nbi(to[i], from[i], pe) != status::ok) return;
            }
        };
        copy(others.offsets, own.offsets, offsets);
        copy(others.heads, own.heads, all.arcs[pe]);
        if constexpr (Weighted) copy(others.weights, own.weights, all.arcs[pe]);
    }

    /// An own arc whose head is in the rows that are there, with both rows. Nothing where one of them is empty.
    struct row_pair {
        std::uint64_t arc = 0;
        arc_span tail{};  ///< arcs of the tail's row, own
        arc_span head{};  ///< those of the head's

        [[nodiscard]] LANEWAY_FN std::uint64_t tail_arcs() const { return tail.end - tail.begin; }
        [[nodiscard]] LANEWAY_FN std::uint64_t head_arcs() const { return head.end - head.begin; }
        [[nodiscard]] LANEWAY_FN std::uint64_t fewer() const {
            return tail_arcs() < head_arcs() ? tail_arcs() : head_arcs();
        }
    };

    template <class Ctx>
    LANEWAY_FN row_pair pair_of(Ctx& ctx, const row_arrays<Vertex>& rows, int pe, std::uint64_t arc) const {
        const std::uint64_t head = own.heads.local(ctx)[arc];
        const std::uint64_t* starts = counts.local(ctx)->ranges.starts + pe;
        if (head < starts[0] || head >= starts[1]) return {};
        const std::uint64_t row = tails.local(ctx)[arc];
        auto offsets = own.offsets.local(ctx);
        auto theirs = rows.offsets.local(ctx);
        return {arc, {offsets[row], offsets[row + 1]}, {theirs[head - starts[0]], theirs[head - starts[0] + 1]}};
    }

    /// All own arcs with a head in `rows`, which are those of `pe`. Every working warp, together.
    template <class Ctx, class Arcs, class Box>
    LANEWAY_FN void walk_arcs(Ctx& ctx, Arcs& arcs, Box& box, const row_arrays<Vertex>& rows, int pe,
                              std::uint32_t pass) const {
        for (index_piece piece; arcs.take(ctx, piece, pass);) {
            for (std::uint64_t first = piece.first; first < piece.last; first += Ctx::warp_lanes) {
                // On CPU devices nobody else looks at the deadline, or at what the host says.
                (void)box.progress(ctx);
                const std::uint64_t arc = first + static_cast<std::uint64_t>(ctx.lane());
                walk_row_of_arcs(ctx, rows, pe, arc < piece.last ? pair_of(ctx, rows, pe, arc) : row_pair{});
            }
        }
    }
    /// An arc a lane. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void walk_row_of_arcs(Ctx& ctx, const row_arrays<Vertex>& rows, int pe, const row_pair& mine) const {
        constexpr lane_mask everyone = full_warp<Ctx>;
        const bool is_long = mine.fewer() > max_lane_arcs;
        if (!is_long && mine.fewer() > 0) add(ctx, mine.arc, join(ctx, rows, mine, 0, 1));
        for (lane_mask rest = ctx.ballot(everyone, is_long); rest != 0; rest &= rest - 1) {
            const std::uint64_t its = ctx.shuffle(everyone, mine.arc, Ctx::first_lane(rest));
            const row_pair pair = pair_of(ctx, rows, pe, its);
            const counted sum = join(ctx, rows, pair, ctx.lane(), Ctx::warp_lanes);
            std::uint64_t sums[] = {sum.tail, sum.head};
            warp_sums(ctx, sums);
            if (ctx.lane() == 0) add(ctx, its, {sums[0], sums[1]});
        }
    }

    /// What the ends of an arc have to count.
    struct counted {
        std::uint64_t tail = 0;
        std::uint64_t head = 0;
    };

    /// To the row of the tail, and to the word of the arc.
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, std::uint64_t arc, const counted& sum) const {
        if (sum.head == 0) return;
        const std::uint64_t row = tails.local(ctx)[arc];
        atomic_add(ctx, corners[row], sum.tail, scope::device);
        atomic_add(ctx, found[arc], sum.head, scope::device);
    }

    /// The arc at `in_tail`, of the tail's row, and that at `in_head` lead to the same vertex.
    template <class Ctx>
    LANEWAY_FN void meet(Ctx& ctx, const row_arrays<Vertex>& rows, std::uint64_t arc, std::uint64_t in_tail,
                         std::uint64_t in_head, counted& sum) const {
        if constexpr (Weighted) {
            auto weights = own.weights.local(ctx);
            atomic_add(ctx, found[in_tail], weights[arc], scope::device);
            sum.tail += rows.weights.local(ctx)[in_head];
            sum.head += weights[in_tail];
        } else {
            atomic_add(ctx, found[in_tail], 1, scope::device);
            ++sum.tail;
            ++sum.head;
        }
    }

    /// Looks for every `step`th arc of the shorter row, from the `first` on, in the longer one. Any lane.
    template <class Ctx>
    LANEWAY_FN counted join(Ctx& ctx, const row_arrays<Vertex>& rows, const row_pair& pair, int first, int step) const {
        counted sum;
        const auto skipped = static_cast<std::uint64_t>(first), by = static_cast<std::uint64_t>(step);
        auto mine = own.heads.local(ctx);
        auto theirs = rows.heads.local(ctx);
        if (pair.tail_arcs() <= pair.head_arcs()) {
            search(mine, {pair.tail.begin + skipped, pair.tail.end}, by, theirs, pair.head,
                   [&](std::uint64_t in_tail, std::uint64_t in_head) {
                       meet(ctx, rows, pair.arc, in_tail, in_head, sum);
                   });
        } else {
            search(theirs, {pair.head.begin + skipped, pair.head.end}, by, mine, pair.tail,
                   [&](std::uint64_t in_head, std::uint64_t in_tail) {
                       meet(ctx, rows, pair.arc, in_tail, in_head, sum);
                   });
        }
        return sum;
    }

    /// Calls `found(i, j)` for every `step`th entry of `few` that `many` has as well, where they stand. Both ascend.
    template <class Few, class Many, class Found>
    LANEWAY_FN static void search(Few few, const arc_span& wanted, std::uint64_t step, Many many, arc_span left,
                                  Found&& found) {
        for (std::uint64_t i = wanted.begin; i < wanted.end; i += step) {
            const Vertex head = few[i];
            left.begin = lower_bound(many, left, head);
            if (left.begin == left.end) return;
            const Vertex there = many[left.begin];
            if (there == head) found(i, left.begin);
        }
    }

    /// Index of the first entry in `where` that is not less than `wanted`, or its end.
    template <class Heads>
    LANEWAY_FN static std::uint64_t lower_bound(Heads heads, arc_span where, Vertex wanted) {
        while (where.begin < where.end) {
            const std::uint64_t middle = where.begin + (where.end - where.begin) / 2;
            const Vertex there = heads[middle];
            if (there < wanted) {
                where.begin = middle + 1;
            } else {
                where.end = middle;
            }
        }
        return where.begin;
    }

    /// Adds what was found at each arc to the arc's head, wherever it is. A post that fails ends the run.
    template <class Ctx, class Arcs, class Remote>
    LANEWAY_FN void hand_out(Ctx& ctx, Arcs& arcs, Remote& remote) const {
        const row_counts& all = *counts.local(ctx);
        const auto hand_out_arc = [&](std::uint64_t arc) {
            const std::uint64_t number = found.local(ctx)[arc];
            if (number == 0) return;
            const std::uint64_t head = own.heads.local(ctx)[arc];
            const int owner = all.ranges.owner(ctx, head);
            (void)remote.add(corners[head - all.ranges.starts[owner]], owner, number, path::aggregated);
        };
        arcs.for_each(ctx, hand_out_arc, static_cast<std::uint32_t>(ctx.n_pes()));
    }
};

}  // namespace laneway::apps

// Lloyd's rounds as lanes run them.
//
// Points stay where they are; cluster c belongs to PE c mod n_pes. A round has three parts with a barrier after each:
// lanes find the nearest centroid of each of their points and add those that changed to sums of their PE; lanes post
// these sums to the clusters' owners; lanes of the owners divide and post the centroids that moved to all PEs.
#pragma once

#include <limits>

#include "kmeans_state.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// What every lane does.
template <class Real, bool Weighted>
struct lloyd_rounds {
    static constexpr std::uint32_t no_cluster = ~std::uint32_t{0};
    static constexpr double server_share = 0.01;  ///< a round posts some sums only

    kmeans_layout layout;
    symmetric_ref<Real> points;
    symmetric_ref<double> weights;        ///< scaled; one a point where Weighted
    symmetric_ref<std::uint32_t> labels;  ///< no_cluster at the start
    symmetric_ref<centroid_group<Real>> centroids;
    symmetric_ref<fixed_column> columns;
    symmetric_ref<std::uint64_t> partial;  ///< this PE's changes of sums, `copies` times sum_words
    symmetric_ref<std::uint64_t> sums;     ///< of the clusters that belong to this PE
    symmetric_ref<kmeans_progress> progress;
    std::uint32_t max_iter;
    bool has_tolerance;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        kmeans_progress* mine = progress.local(ctx);
        const auto place = working_warp::of(ctx);
        std::uint64_t moved = 0;
        std::uint64_t shift = 0;
        bool converged = false;
        for (std::uint32_t round = 0;; ++round) {
            assign(ctx, place);
            if (round == max_iter || converged) {
                if (place.lane(ctx) == 0) {
                    mine->rounds = round;
                    mine->converged = converged ? 1 : 0;
                }
                return;
            }
            if (meet(ctx, box) != status::ok) return;
            post_sums(ctx, box, place);
            if (meet(ctx, box) != status::ok) return;
            post_centroids(ctx, box, place);
            if (meet(ctx, box) != status::ok) return;
            // The same on all PEs: all are told of all movements, and sums of whole numbers know no order.
            const std::uint64_t moved_now = ctx.load(&mine->moved, order::relaxed, scope::device);
            const std::uint64_t shift_now = ctx.load(&mine->shift, order::relaxed, scope::device);
            converged = moved_now == moved || (has_tolerance && static_cast<double>(shift_now - shift) <= shift_unit);
            moved = moved_now;
            shift = shift_now;
        }
    }

private:
    /// A failed post shows here: it ends the run, and lanes of a warp leave together.
    template <class Ctx, class Box>
    LANEWAY_FN static status meet(Ctx& ctx, Box& box) {
        ctx.sync(full_warp<Ctx>);
        return box.barrier(ctx);
    }

    /// Labels the PE's points. Warps take 32 neighbours at a time, or as many as they have lanes.
    template <class Ctx>
    LANEWAY_FN void assign(Ctx& ctx, const working_warp& place) const {
        const std::uint64_t first = layout.first_point(ctx.pe());
        const std::uint64_t count = layout.first_point(ctx.pe() + 1) - first;
        const Real* const mine = points.local(ctx);
        std::uint32_t* const label = labels.local(ctx);
        std::uint64_t* const changed = partial.local(ctx) + place.number % layout.copies * layout.sum_words();
        constexpr auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        for (std::uint64_t base = place.number * lanes; base < count; base += place.warps * lanes) {
            const std::uint64_t point = base + static_cast<std::uint64_t>(ctx.lane());
            std::uint32_t before = no_cluster;
            std::uint32_t now = no_cluster;
            if (point < count) {
                before = label[point];
                now = nearest(mine + layout.point_place(point, 0), centroids.local(ctx));
                if (now != before) label[point] = now;
            }
            if (ctx.ballot(full_warp<Ctx>, now != before) == 0) continue;
            const double* weight = nullptr;
            if constexpr (Weighted) weight = weights.local(ctx) + base;
            change_clusters(ctx, mine + layout.point_place(base, 0), weight, before, now, changed);
        }
    }

    /// Cluster of the nearest centroid, the lowest of equals. Sums go from the first column to the last, so that all
    /// devices round alike.
    LANEWAY_FN std::uint32_t nearest(const Real* point, const centroid_group<Real>* row) const {
        Real least = std::numeric_limits<Real>::infinity();
        std::uint32_t cluster = 0;
        for (std::uint32_t first = 0; first < layout.clusters; first += centroids_a_group) {
            Real squares[centroids_a_group] = {};
            for (std::uint32_t column = 0; column < layout.dimensions; ++column, ++row) {
                const Real x = point[std::uint64_t{column} * kmeans_layout::tile];
                const centroid_group<Real> centroid = *row;
                for (std::uint32_t c = 0; c < centroids_a_group; ++c) {
                    const Real apart = x - centroid.of[c];
                    squares[c] += apart * apart;
                }
            }
            for (std::uint32_t c = 0; c < centroids_a_group; ++c) {
                if (first + c < layout.clusters && squares[c] < least) {
                    least = squares[c];
                    cluster = first + c;
                }
            }
        }
        return cluster;
    }

    /// Moves those of a warp's neighbouring points, lane 0's first, that change their cluster from one's sums to the
    /// other's. All that join a cluster are a group, and all that leave one; a lane adds up one column of a group, so a
    /// group takes one atomic add a column, by neighbouring lanes to neighbouring words. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void change_clusters(Ctx& ctx, const Real* first_point, const double* first_weight, std::uint32_t before,
                                    std::uint32_t now, std::uint64_t* changed) const {
        constexpr lane_mask all = full_warp<Ctx>;
        if (before == now) before = now = no_cluster;
        const lane_mask leaving = ctx.match(all, before), joining = ctx.match(all, now);
        const lane_mask left = ctx.ballot(all, before != no_cluster && elected(ctx, leaving));
        const lane_mask joined = ctx.ballot(all, now != no_cluster && elected(ctx, joining));
        std::uint64_t groups = std::uint64_t{left} << 32 | joined;  // a bit a group: its first lane
        for (auto column = static_cast<std::uint32_t>(ctx.lane());; column += Ctx::warp_lanes) {
            for (; groups != 0 && column > layout.dimensions; column -= layout.dimensions + 1) groups &= groups - 1;
            if (ctx.ballot(all, groups != 0) == 0) return;
            const auto joiners = static_cast<lane_mask>(groups);
            const auto those = joiners != 0 ? joiners : static_cast<lane_mask>(groups >> 32);
            const int first = those != 0 ? Ctx::first_lane(those) : 0;
            const std::uint32_t left_cluster = ctx.shuffle(all, before, first);
            const std::uint32_t joined_cluster = ctx.shuffle(all, now, first);
            const lane_mask leavers = ctx.shuffle(all, leaving, first), comers = ctx.shuffle(all, joining, first);
            if (groups == 0) continue;
            const std::uint32_t word = layout.sum_word(joiners != 0 ? joined_cluster : left_cluster, column);
            const std::uint64_t sum = sum_of(ctx, first_point, first_weight, joiners != 0 ? comers : leavers, column);
            ctx.fetch_add(&changed[word], joiners != 0 ? sum : 0 - sum, order::relaxed, scope::device);
        }
    }

    /// Sum of a column over those points; behind the last column it is their number, or the steps of their weights.
    template <class Ctx>
    LANEWAY_FN std::uint64_t sum_of(const Ctx& ctx, const Real* first_point, const double* first_weight,
                                    lane_mask members, std::uint32_t column) const {
        if (column == layout.dimensions) return size_of<Ctx>(first_weight, members);
        const fixed_column how = columns.local(ctx)[column];
        const Real* const coordinates = first_point + std::uint64_t{column} * kmeans_layout::tile;
        std::uint64_t sum = 0;
        for (; members != 0; members &= members - 1) {
            const double x = coordinates[Ctx::first_lane(members)];
            double steps = (x - how.middle) * how.scale;
            if constexpr (Weighted) steps *= first_weight[Ctx::first_lane(members)];
            sum += static_cast<std::uint64_t>(std::llrint(steps));
        }
        return sum;
    }

    template <class Ctx>
    LANEWAY_FN static std::uint64_t size_of(const double* first_weight, lane_mask members) {
        if constexpr (Weighted) {
            std::uint64_t steps = 0;
            for (; members != 0; members &= members - 1) {
                steps += static_cast<std::uint64_t>(first_weight[Ctx::first_lane(members)] / weight_step);
            }
            return steps;
        } else {
            return static_cast<std::uint64_t>(Ctx::count_lanes(members));
        }
    }

    /// Posts what changed in the PE's sums and clears it. Here and below a failed post needs no answer: see meet.
    template <class Ctx, class Box>
    LANEWAY_FN void post_sums(Ctx& ctx, Box& box, const working_warp& place) const {
        const std::uint64_t copies = place.warps < layout.copies ? place.warps : layout.copies;
        std::uint64_t* const mine = partial.local(ctx);
        for (std::uint64_t i = place.lane(ctx); i < copies * layout.sum_words(); i += place.lanes(ctx)) {
            const std::uint64_t change = mine[i];
            if (change == 0) continue;
            mine[i] = 0;
            const auto word = static_cast<std::uint32_t>(i % layout.sum_words());
            const std::uint32_t cluster = word / (layout.dimensions + 1);
            (void)box.post(ctx, static_cast<int>(cluster % static_cast<std::uint32_t>(ctx.n_pes())),
                           sum_change{word, change});
        }
    }

    /// Divides the sums of the PE's clusters and posts coordinates that differ from before.
    template <class Ctx, class Box>
    LANEWAY_FN void post_centroids(Ctx& ctx, Box& box, const working_warp& place) const {
        const auto pe = static_cast<std::uint64_t>(ctx.pe());
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        const std::uint64_t owned = pe < layout.clusters ? (layout.clusters - pe - 1) / pes + 1 : 0;
        for (std::uint64_t i = place.lane(ctx); i < owned * layout.dimensions; i += place.lanes(ctx)) {
            const auto cluster = static_cast<std::uint32_t>(pe + i / layout.dimensions * pes);
            const auto column = static_cast<std::uint32_t>(i % layout.dimensions);
            const std::uint64_t members = sums.local(ctx)[layout.sum_word(cluster, layout.dimensions)];
            if (members == 0) {
                if (column == 0) ctx.fetch_add(&progress.local(ctx)->empties, 1, order::relaxed, scope::device);
                continue;
            }
            const auto sum = static_cast<std::int64_t>(sums.local(ctx)[layout.sum_word(cluster, column)]);
            const fixed_column& how = columns.local(ctx)[column];
            const double size = static_cast<double>(members) * (Weighted ? weight_step : 1);
            const double mean = static_cast<double>(sum) / size / how.scale + how.middle;
            const auto coordinate = static_cast<Real>(mean);
            const auto where = static_cast<std::uint32_t>(layout.centroid_place(cluster, column));
            if (coordinate == centroid_at<Real>(centroids.local(ctx), where)) continue;
            for (int to = 0; to < ctx.n_pes(); ++to) {
                const int other = (ctx.pe() + 1 + to) % ctx.n_pes();  // itself last
                (void)box.post(ctx, other, centroid_move<Real>{where, coordinate});
            }
        }
    }
};

}  // namespace laneway::apps

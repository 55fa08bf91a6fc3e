// Lloyd's rounds as lanes run them.
//
// Points stay where they are; cluster c belongs to PE c mod n_pes. A round has
// three parts with a barrier after each: lanes find the nearest centroid of
// each of their points and add those that changed to sums of their PE; lanes
// post these sums to the clusters' owners; lanes of the owners divide and post
// the centroids that moved to all PEs.
#pragma once

#include <limits>

#include "columns.hpp"
#include "laneway/runtime.hpp"

namespace laneway::apps {

/// Change of one word of the clusters' sums, to the owner of the cluster.
struct sum_change {
    std::uint32_t word;
    std::uint64_t change;  ///< in two's complement
};

/// A centroid's new coordinate, to every PE.
template <class Real>
struct centroid_move {
    std::uint32_t place;
    Real value;
};

inline constexpr std::uint32_t centroids_a_group = 8;

/// One coordinate of neighbouring centroids, which a lane loads at once.
template <class Real>
struct alignas(16) centroid_group {
    Real of[centroids_a_group];
};

template <class Real>
LANEWAY_FN Real& centroid_at(centroid_group<Real>* groups, std::uint64_t place) {
    return groups[place / centroids_a_group].of[place % centroids_a_group];
}

/// How the data lie in memory, on every PE alike.
struct kmeans_layout {
    /// A coordinate of so many neighbouring points stands together, so that a
    /// warp loads it at once.
    static constexpr std::uint32_t tile = 32;

    std::uint64_t points;
    std::uint64_t points_a_pe;  ///< ranges of points are contiguous; the last ones
                                ///< may be shorter
    std::uint32_t clusters;
    std::uint32_t dimensions;
    std::uint32_t copies;  ///< of the sums of a PE, so that its lanes do not all
                           ///< add to the same words

    [[nodiscard]] LANEWAY_FN std::uint64_t first_point(int pe) const {
        const std::uint64_t first = static_cast<std::uint64_t>(pe) * points_a_pe;
        return first < points ? first : points;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t point_place(std::uint64_t point, std::uint32_t column) const {
        return (point / tile * dimensions + column) * tile + point % tile;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t centroid_place(std::uint32_t cluster, std::uint32_t column) const {
        return (std::uint64_t{cluster / centroids_a_group} * dimensions + column) * centroids_a_group +
               cluster % centroids_a_group;
    }
    /// Sums of a cluster: its columns, then its number of points.
    [[nodiscard]] LANEWAY_FN std::uint32_t sum_word(std::uint32_t cluster, std::uint32_t column) const {
        return cluster * (dimensions + 1) + column;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t sum_words() const { return clusters * (dimensions + 1); }
    [[nodiscard]] std::uint64_t point_places() const { return (points_a_pe + tile - 1) / tile * tile * dimensions; }
    [[nodiscard]] std::uint64_t centroid_groups() const {
        return std::uint64_t{(clusters + centroids_a_group - 1) / centroids_a_group} * dimensions;
    }
};

/// What a PE knows of the run; the counters only grow.
struct kmeans_progress {
    std::uint64_t warps;    ///< that take part
    std::uint64_t moved;    ///< coordinates of centroids that changed
    std::uint64_t shift;    ///< squares of their movements, in `shift_unit` parts of
                            ///< the tolerance
    std::uint64_t empties;  ///< clusters of this PE that had no points, summed over rounds
    std::uint64_t rounds;   ///< at the end
    std::uint64_t settled;  ///< at the end: whether the last round was within the tolerance
};

inline constexpr double shift_unit = 4294967296.0;  // 2^32: a sum of 2^30 squares, each at most two tolerances,
                                                    // fits

/// On the owner of the cluster.
struct add_change {
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const sum_change& m) const {
        atomic_add(ctx, sums[m.word], m.change);
    }
};

/// On every PE. A coordinate has one message a round, and nobody reads
/// centroids until the next barrier.
template <class Real>
struct move_centroid {
    symmetric_ref<centroid_group<Real>> centroids;
    symmetric_ref<kmeans_progress> progress;
    double shift_scale;  ///< 0 where there is no tolerance

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const centroid_move<Real>& m) const {
        Real& coordinate = centroid_at(centroids.local(ctx), m.place);
        const double movement = static_cast<double>(m.value) - static_cast<double>(coordinate);
        coordinate = m.value;
        kmeans_progress* mine = progress.local(ctx);
        ctx.fetch_add(&mine->moved, 1, order::relaxed, scope::device);
        const double square = movement * movement * shift_scale;
        const auto part = static_cast<std::uint64_t>(square < 2 * shift_unit ? square : 2 * shift_unit);
        if (part != 0) ctx.fetch_add(&mine->shift, part, order::relaxed, scope::device);
    }
};

/// What every lane does.
template <class Real>
struct lloyd_rounds {
    static constexpr std::uint32_t no_cluster = ~std::uint32_t{0};

    kmeans_layout layout;
    symmetric_ref<Real> points;
    symmetric_ref<std::uint32_t> labels;  ///< no_cluster at the start
    symmetric_ref<centroid_group<Real>> centroids;
    symmetric_ref<fixed_column> columns;
    symmetric_ref<std::uint64_t> partial;  ///< this PE's changes of sums, `copies` times sum_words
    symmetric_ref<std::uint64_t> sums;     ///< of the clusters that belong to this PE
    symmetric_ref<kmeans_progress> progress;
    std::uint32_t most_rounds;
    bool has_tolerance;

    /// Place among the working warps of a PE.
    struct team {
        std::uint64_t warp;
        std::uint64_t warps;
    };

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        kmeans_progress* mine = progress.local(ctx);
        team place{};
        place.warp =
            once(ctx, full_warp<Ctx>, [&] { return ctx.fetch_add(&mine->warps, 1, order::relaxed, scope::device); });
        if (meet(ctx, box) != status::ok) return;
        place.warps = ctx.load(&mine->warps, order::relaxed, scope::device);
        std::uint64_t moved = 0;
        std::uint64_t shift = 0;
        bool settled = false;
        for (std::uint32_t round = 0;; ++round) {
            assign(ctx, place);
            if (round == most_rounds || settled) {
                if (place.warp == 0 && ctx.lane() == 0) {
                    mine->rounds = round;
                    mine->settled = settled ? 1 : 0;
                }
                return;
            }
            if (meet(ctx, box) != status::ok) return;
            post_sums(ctx, box, place);
            if (meet(ctx, box) != status::ok) return;
            post_centroids(ctx, box, place);
            if (meet(ctx, box) != status::ok) return;
            // The same on all PEs: all are told of all movements, and sums of whole
            // numbers know no order.
            const std::uint64_t moved_now = ctx.load(&mine->moved, order::relaxed, scope::device);
            const std::uint64_t shift_now = ctx.load(&mine->shift, order::relaxed, scope::device);
            settled = moved_now == moved || (has_tolerance && static_cast<double>(shift_now - shift) <= shift_unit);
            moved = moved_now;
            shift = shift_now;
        }
    }

private:
    /// A failed post shows here: it ends the run, and lanes of a warp leave
    /// together.
    template <class Ctx, class Box>
    LANEWAY_FN static status meet(Ctx& ctx, Box& box) {
        ctx.sync(full_warp<Ctx>);
        return box.barrier(ctx);
    }

    /// Labels the PE's points. Warps take 32 neighbours at a time, or as many as
    /// they have lanes.
    template <class Ctx>
    LANEWAY_FN void assign(Ctx& ctx, const team& place) const {
        const std::uint64_t first = layout.first_point(ctx.pe());
        const std::uint64_t count = layout.first_point(ctx.pe() + 1) - first;
        const Real* const mine = points.local(ctx);
        std::uint32_t* const label = labels.local(ctx);
        constexpr auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        for (std::uint64_t base = place.warp * lanes; base < count; base += place.warps * lanes) {
            const std::uint64_t point = base + static_cast<std::uint64_t>(ctx.lane());
            std::uint32_t before = no_cluster;
            std::uint32_t now = no_cluster;
            if (point < count) {
                before = label[point];
                now = nearest(mine + layout.point_place(point, 0), centroids.local(ctx));
                if (now != before) label[point] = now;
            }
            for (lane_mask rest = ctx.ballot(full_warp<Ctx>, now != before); rest != 0; rest &= rest - 1) {
                const int lane = Ctx::first_lane(rest);
                change_cluster(ctx, place, base + static_cast<std::uint64_t>(lane),
                               ctx.shuffle(full_warp<Ctx>, before, lane), ctx.shuffle(full_warp<Ctx>, now, lane));
            }
        }
    }

    /// Cluster of the nearest centroid, the lowest of equals. Sums go from the
    /// first column to the last, so that all devices round alike.
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

    /// Moves a point from one cluster's sums to the other's; each lane takes some
    /// columns. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void change_cluster(Ctx& ctx, const team& place, std::uint64_t point, std::uint32_t before,
                                   std::uint32_t now) const {
        std::uint64_t* const copy = partial.local(ctx) + place.warp % layout.copies * layout.sum_words();
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        for (std::uint32_t column = lane; column <= layout.dimensions; column += Ctx::warp_lanes) {
            const std::uint64_t weight = column == layout.dimensions ? 1 : fixed(ctx, point, column);
            ctx.fetch_add(&copy[layout.sum_word(now, column)], weight, order::relaxed, scope::device);
            if (before == no_cluster) continue;
            ctx.fetch_add(&copy[layout.sum_word(before, column)], 0 - weight, order::relaxed, scope::device);
        }
    }

    template <class Ctx>
    LANEWAY_FN std::uint64_t fixed(const Ctx& ctx, std::uint64_t point, std::uint32_t column) const {
        const fixed_column& how = columns.local(ctx)[column];
        const double x = points.local(ctx)[layout.point_place(point, column)];
        return static_cast<std::uint64_t>(std::llrint((x - how.middle) * how.scale));
    }

    /// Posts what changed in the PE's sums and clears it. Here and below a failed
    /// post needs no answer: see meet.
    template <class Ctx, class Box>
    LANEWAY_FN void post_sums(Ctx& ctx, Box& box, const team& place) const {
        const std::uint64_t copies = place.warps < layout.copies ? place.warps : layout.copies;
        std::uint64_t* const mine = partial.local(ctx);
        for (std::uint64_t i = lane_of(ctx, place); i < copies * layout.sum_words(); i += lanes_of<Ctx>(place)) {
            const std::uint64_t change = mine[i];
            if (change == 0) continue;
            mine[i] = 0;
            const auto word = static_cast<std::uint32_t>(i % layout.sum_words());
            const std::uint32_t cluster = word / (layout.dimensions + 1);
            (void)box.post(ctx, static_cast<int>(cluster % static_cast<std::uint32_t>(ctx.n_pes())),
                           sum_change{word, change});
        }
    }

    /// Divides the sums of the PE's clusters and posts coordinates that differ
    /// from before.
    template <class Ctx, class Box>
    LANEWAY_FN void post_centroids(Ctx& ctx, Box& box, const team& place) const {
        const auto pe = static_cast<std::uint64_t>(ctx.pe());
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        const std::uint64_t owned = pe < layout.clusters ? (layout.clusters - pe - 1) / pes + 1 : 0;
        for (std::uint64_t i = lane_of(ctx, place); i < owned * layout.dimensions; i += lanes_of<Ctx>(place)) {
            const auto cluster = static_cast<std::uint32_t>(pe + i / layout.dimensions * pes);
            const auto column = static_cast<std::uint32_t>(i % layout.dimensions);
            const std::uint64_t members = sums.local(ctx)[layout.sum_word(cluster, layout.dimensions)];
            if (members == 0) {
                if (column == 0) ctx.fetch_add(&progress.local(ctx)->empties, 1, order::relaxed, scope::device);
                continue;
            }
            const auto sum = static_cast<std::int64_t>(sums.local(ctx)[layout.sum_word(cluster, column)]);
            const fixed_column& how = columns.local(ctx)[column];
            const double mean = static_cast<double>(sum) / static_cast<double>(members) / how.scale + how.middle;
            const auto coordinate = static_cast<Real>(mean);
            const auto where = static_cast<std::uint32_t>(layout.centroid_place(cluster, column));
            if (coordinate == centroid_at(centroids.local(ctx), where)) continue;
            for (int to = 0; to < ctx.n_pes(); ++to) {
                const int other = (ctx.pe() + 1 + to) % ctx.n_pes();  // itself last
                (void)box.post(ctx, other, centroid_move<Real>{where, coordinate});
            }
        }
    }

    template <class Ctx>
    LANEWAY_FN static std::uint64_t lane_of(const Ctx& ctx, const team& place) {
        return place.warp * Ctx::warp_lanes + static_cast<std::uint64_t>(ctx.lane());
    }
    template <class Ctx>
    LANEWAY_FN static std::uint64_t lanes_of(const team& place) {
        return place.warps * Ctx::warp_lanes;
    }
};

}  // namespace laneway::apps

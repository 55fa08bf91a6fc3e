// What a PE of k-means keeps, and the handlers that change it.
#pragma once

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
    /// A coordinate of so many neighbouring points stands together, so that a warp loads it at once.
    static constexpr std::uint32_t tile = 32;

    std::uint64_t points;
    std::uint64_t points_a_pe;  ///< ranges of points are contiguous; the last ones may be shorter
    std::uint32_t clusters;
    std::uint32_t dimensions;
    std::uint32_t copies;  ///< of the sums of a PE, so that its lanes do not all add to the same words

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
    /// Sums of a cluster: its columns, then its number of points, or steps of their weights.
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
    std::uint64_t moved;      ///< coordinates of centroids that changed
    std::uint64_t shift;      ///< squares of their movements, in `shift_unit` parts of the tolerance
    std::uint64_t empties;    ///< clusters of this PE that had no points, summed over rounds
    std::uint64_t rounds;     ///< at the end
    std::uint64_t converged;  ///< at the end: whether the last round was within the tolerance
};

/// 2^32: a sum of 2^30 squares, each at most two tolerances, fits.
inline constexpr double shift_unit = 4294967296.0;

/// On the owner of the cluster.
struct add_change {
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const sum_change& m) const {
        atomic_add(ctx, sums[m.word], m.change, scope::device);
    }
};

/// On every PE. A coordinate has one message a round, and nobody reads centroids until the next barrier.
template <class Real>
struct move_centroid {
    symmetric_ref<centroid_group<Real>> centroids;
    symmetric_ref<kmeans_progress> progress;
    double shift_scale;  ///< 0 where there is no tolerance

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const centroid_move<Real>& m) const {
        Real& coordinate = centroid_at<Real>(centroids.local(ctx), m.place);
        const double movement = static_cast<double>(m.value) - static_cast<double>(coordinate);
        coordinate = m.value;
        kmeans_progress* mine = progress.local(ctx);
        ctx.fetch_add(&mine->moved, 1, order::relaxed, scope::device);
        const double square = movement * movement * shift_scale;
        const auto part = static_cast<std::uint64_t>(square < 2 * shift_unit ? square : 2 * shift_unit);
        if (part != 0) ctx.fetch_add(&mine->shift, part, order::relaxed, scope::device);
    }
};

}  // namespace laneway::apps

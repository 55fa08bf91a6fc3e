// k-means clustering over many devices: the host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"

namespace laneway::apps {

/// Points in row order: `count` rows of `dimensions` coordinates. Does not own
/// them.
template <class Real>
struct point_rows {
    const Real* coordinates = nullptr;
    std::uint64_t count = 0;
    std::uint32_t dimensions = 0;
};

struct kmeans_options {
    options job;  ///< devices, deadline, seed, and the library's other knobs
    std::uint32_t most_rounds = 300;
    /// A round is the last one where the squares of the centroids' movements sum
    /// up to no more than this, in the unit of the coordinates squared. 0: where
    /// no centroid moves.
    double tolerance = 0;
};

template <class Real>
struct kmeans_result {
    std::vector<std::uint32_t> labels;  ///< cluster of each point: that of the
                                        ///< nearest centroid, the lowest of equals
    std::vector<Real> centroids;        ///< rows as the initial ones
    std::vector<std::uint64_t> sizes;   ///< points of each cluster
    double inertia = 0;                 ///< sum of squared distances of points to their centroids
    std::uint32_t rounds = 0;           ///< times that centroids were moved
    bool converged = false;             ///< whether the last of them was within the tolerance
    std::uint64_t empties = 0;          ///< clusters without points, summed over rounds
    run_report report;
};

/// Lloyd's algorithm (IEEE Trans. Inf. Theory 28, 1982) from the given initial
/// centroids, one row a cluster. A cluster that has no points in a round keeps
/// its centroid. `Real` is float or double.
///
/// Sums are exact: coordinates count in steps of the range of their column, so
/// that the sum of all takes 62 bits. A point weighs in to 2^-(61 - log2 count)
/// of that range, and the result is the same, to the bit, on all devices.
///
/// Throws usage_error for no clusters, more clusters than points, coordinates
/// that are not finite (naming row and column, from 1) or so far apart that
/// squares overflow; timeout_error and device_fault for a failed run.
template <class Real>
kmeans_result<Real> kmeans(const point_rows<Real>& points, const std::vector<Real>& centroids,
                           const kmeans_options& options);

extern template kmeans_result<float> kmeans(const point_rows<float>&, const std::vector<float>&, const kmeans_options&);
extern template kmeans_result<double> kmeans(const point_rows<double>&, const std::vector<double>&,
                                             const kmeans_options&);

}  // namespace laneway::apps

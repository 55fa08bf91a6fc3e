// k-means clustering over many devices: the host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"

namespace laneway {
class runtime;
}

namespace laneway::apps {

/// Points in row order: `count` rows of `dimensions` coordinates. Does not own them.
template <class Real>
struct point_rows {
    const Real* coordinates = nullptr;
    std::uint64_t count = 0;
    std::uint32_t dimensions = 0;
    const double* weights = nullptr;  ///< one a point: how much it counts, 0 or more; null: all alike
};

struct kmeans_options {
    options job;                   ///< devices, deadline, seed, and the library's other knobs
    std::uint32_t n_init = 1;      ///< sets of initial centers; the result is that of the least inertia
    std::uint32_t max_iter = 300;  ///< most rounds; 0 labels the points only
    /// A round is the last one where the squares of the centers' movements sum up to no more than this times the mean
    /// variance of the columns. 0: where no center moves.
    double tol = 1e-4;
};

template <class Real>
struct kmeans_result {
    std::vector<std::int32_t> labels;   ///< cluster of each point: that of the nearest center, the lowest of equals
    std::vector<Real> cluster_centers;  ///< one row a cluster
    std::vector<std::uint64_t> sizes;   ///< points of each cluster
    double inertia = 0;                 ///< sum of squared distances of points to their centers, times their weights
    std::uint32_t n_iter = 0;           ///< rounds: times that centers were moved
    bool converged = false;             ///< whether the last of them was within the tolerance
    std::uint64_t empties = 0;          ///< clusters without points, or with weight 0, summed over rounds
    std::uint32_t start = 0;            ///< which of the sets of initial centers
    run_report report;                  ///< of the run from that set
};

/// Lloyd's algorithm (IEEE Trans. Inf. Theory 28, 1982) from the given initial centers: `n_init` sets, one after the
/// other, of one row a cluster. A cluster that has no points in a round, or none that weighs anything, keeps its
/// center. `Real` is float or double.
///
/// Sums are exact: coordinates count in steps of the range of their column, so that the sum of all takes 62 bits. A
/// point weighs in to 2^-(61 - log2 count) of that range, and the result is the same, to the bit, on all devices.
/// Weights count in steps of at most 2^-60 of the sum of all, so points with as little as that may count as nothing;
/// weights of 1 give the bits of none.
///
/// Throws usage_error for no clusters, more clusters than points, coordinates that are not finite (naming row and
/// column, from 1) or so far apart that squares overflow, weights that are negative, not finite or all 0;
/// timeout_error and device_fault for a failed run.
template <class Real>
kmeans_result<Real> kmeans(const point_rows<Real>& points, const std::vector<Real>& initial,
                           const kmeans_options& options);
/// On devices that the caller has opened; `options.job` is the runtime's.
template <class Real>
kmeans_result<Real> kmeans(runtime& runtime, const point_rows<Real>& points, const std::vector<Real>& initial,
                           const kmeans_options& options);

extern template kmeans_result<float> kmeans(const point_rows<float>&, const std::vector<float>&, const kmeans_options&);
extern template kmeans_result<double> kmeans(const point_rows<double>&, const std::vector<double>&,
                                             const kmeans_options&);
extern template kmeans_result<float> kmeans(runtime&, const point_rows<float>&, const std::vector<float>&,
                                            const kmeans_options&);
extern template kmeans_result<double> kmeans(runtime&, const point_rows<double>&, const std::vector<double>&,
                                             const kmeans_options&);

}  // namespace laneway::apps

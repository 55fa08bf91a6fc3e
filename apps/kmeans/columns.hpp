// What the host finds out about a set of points before a run: the ranges of their columns, what they weigh, and that
// all is sound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "kmeans.hpp"
#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::apps {

/// Coordinates of one column as whole numbers: round((x - middle) * scale), times the point's weight. The sum over all
/// points fits 63 bits.
struct fixed_column {
    double middle = 0;
    double scale = 1;  ///< a power of two
};

/// Throws usage_error for a coordinate that is not finite; `what` names the rows.
template <class Real>
void require_finite(const std::string& what, const Real* coordinates, std::uint64_t count, std::uint32_t dimensions) {
    interruption_counter counter;
    for (std::uint64_t i = 0; i < count * dimensions; ++i) {
        counter.poll();
        if (std::isfinite(coordinates[i])) continue;
        throw usage_error(what + ": row " + std::to_string(i / dimensions + 1) + ", column " +
                          std::to_string(i % dimensions + 1) + " is " +
                          (std::isnan(coordinates[i]) ? "not a number" : "infinite"));
    }
}

/// Throws usage_error where the square of a distance between two of the rows may overflow `Real`.
template <class Real>
void require_squares(const point_rows<Real>& points, const std::vector<Real>& centroids) {
    interruption_counter counter;
    double squares = 0;
    for (std::uint32_t column = 0; column < points.dimensions; ++column) {
        double least = std::numeric_limits<double>::infinity();
        double most = -least;
        const auto take = [&](double x) {
            counter.poll();
            least = std::min(least, x);
            most = std::max(most, x);
        };
        for (std::uint64_t i = column; i < points.count * points.dimensions; i += points.dimensions)
            take(points.coordinates[i]);
        for (std::size_t i = column; i < centroids.size(); i += points.dimensions) take(centroids[i]);
        squares += (most - least) * (most - least);
        if (squares > static_cast<double>(std::numeric_limits<Real>::max()) / 2) {
            throw usage_error("points: column " + std::to_string(column + 1) +
                              " spans so much that squared distances overflow");
        }
    }
}

/// Throws usage_error for weights that are negative, not finite, or all 0.
template <class Real>
void require_weights(const point_rows<Real>& points) {
    if (points.weights == nullptr) return;
    bool any = false;
    for (std::uint64_t i = 0; i < points.count; ++i) {
        const double weight = points.weights[i];
        if (!(weight >= 0 && std::isfinite(weight))) {
            throw usage_error("sample_weight of point " + std::to_string(i + 1) + " is " + std::to_string(weight) +
                              ", not finite and 0 or more");
        }
        any = any || weight > 0;
    }
    if (!any) throw usage_error("sample_weight is zero for all points");
}

/// Weights count in whole steps of this, behind a scaling after which their sum is from 1 to 2.
inline constexpr double weight_step = 0x1p-60;

/// The points' weights times a power of two, so that their sum is from 1 to 2, rounded to whole steps; empty where all
/// count alike. A weight and its whole steps are both a double.
template <class Real>
std::vector<double> scale_weights(const point_rows<Real>& points) {
    if (points.weights == nullptr) return {};
    std::vector<double> weights(points.weights, points.weights + points.count);
    const auto scale = [&](double by) {
        for (double& weight : weights) weight = std::ldexp(weight, -std::ilogb(by));
    };
    scale(*std::max_element(weights.begin(), weights.end()));
    scale(std::accumulate(weights.begin(), weights.end(), 0.0));
    for (double& weight : weights) weight = std::rint(weight / weight_step) * weight_step;
    return weights;
}

/// Mean over the columns of the variance of coordinates, each point as often as it weighs.
template <class Real>
double mean_variance(const point_rows<Real>& points) {
    const auto weight = [&](std::uint64_t i) { return points.weights == nullptr ? 1.0 : points.weights[i]; };
    double all = 0;
    for (std::uint64_t i = 0; i < points.count; ++i) all += weight(i);
    std::vector<double> means(points.dimensions);
    const auto for_all = [&](auto&& visit) {
        interruption_counter counter;
        for (std::uint64_t i = 0; i < points.count; ++i) {
            counter.poll();
            const double part = weight(i) / all;
            const Real* const x = points.coordinates + i * points.dimensions;
            for (std::uint32_t column = 0; column < points.dimensions; ++column) visit(column, x[column], part);
        }
    };
    for_all([&](std::uint32_t column, double x, double part) { means[column] += part * x; });
    double variances = 0;
    for_all([&](std::uint32_t column, double x, double part) {
        variances += part * (x - means[column]) * (x - means[column]);
    });
    return variances / points.dimensions;
}

/// Middle and scale of each column. Scaled weights sum up to 2 at most.
template <class Real>
std::vector<fixed_column> fix_columns(const point_rows<Real>& points) {
    // all * (reach * scale + 1/2) < 2^62
    const double all = points.weights == nullptr ? static_cast<double>(points.count) : 1;
    const int bits = std::ilogb(all) + 1;
    interruption_counter counter;
    std::vector<fixed_column> columns;
    for (std::uint32_t column = 0; column < points.dimensions; ++column) {
        double least = points.coordinates[column];
        double most = least;
        for (std::uint64_t i = 0; i < points.count; ++i) {
            counter.poll();
            const double x = points.coordinates[i * points.dimensions + column];
            least = std::min(least, x);
            most = std::max(most, x);
        }
        fixed_column made{least / 2 + most / 2, 1};
        const double reach = std::max(most - made.middle, made.middle - least);
        if (reach > 0) made.scale = std::ldexp(1.0, std::min(60 - bits - std::ilogb(reach), 1000));
        columns.push_back(made);
    }
    return columns;
}

}  // namespace laneway::apps

// What the host finds out about the columns of a set of points before a run:
// their ranges, and that they are sound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kmeans.hpp"
#include "laneway/base/error.hpp"

namespace laneway::apps {

/// Coordinates of one column as whole numbers: round((x - middle) * scale). The
/// sum over all points fits 63 bits.
struct fixed_column {
    double middle = 0;
    double scale = 1;  ///< a power of two
};

/// Throws usage_error for a coordinate that is not finite; `what` names the
/// rows.
template <class Real>
void require_finite(const std::string& what, const Real* coordinates, std::uint64_t count, std::uint32_t dimensions) {
    for (std::uint64_t i = 0; i < count * dimensions; ++i) {
        if (std::isfinite(coordinates[i])) continue;
        throw usage_error(what + ": row " + std::to_string(i / dimensions + 1) + ", column " +
                          std::to_string(i % dimensions + 1) + " is " +
                          (std::isnan(coordinates[i]) ? "not a number" : "infinite"));
    }
}

/// Throws usage_error where the square of a distance between two of the rows
/// may overflow `Real`.
template <class Real>
void require_squares(const point_rows<Real>& points, const std::vector<Real>& centroids) {
    double squares = 0;
    for (std::uint32_t column = 0; column < points.dimensions; ++column) {
        double least = std::numeric_limits<double>::infinity();
        double most = -least;
        const auto take = [&](double x) {
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

/// Middle and scale of each column.
template <class Real>
std::vector<fixed_column> fix_columns(const point_rows<Real>& points) {
    std::vector<fixed_column> columns;
    for (std::uint32_t column = 0; column < points.dimensions; ++column) {
        double least = points.coordinates[column];
        double most = least;
        for (std::uint64_t i = 0; i < points.count; ++i) {
            const double x = points.coordinates[i * points.dimensions + column];
            least = std::min(least, x);
            most = std::max(most, x);
        }
        fixed_column made{least / 2 + most / 2, 1};
        const double reach = std::max(most - made.middle, made.middle - least);
        // count * (reach * scale + 1/2) < 2^62
        const int count_bits = std::ilogb(static_cast<double>(points.count)) + 1;
        if (reach > 0) made.scale = std::ldexp(1.0, std::min(60 - count_bits - std::ilogb(reach), 1000));
        columns.push_back(made);
    }
    return columns;
}

}  // namespace laneway::apps

// Adaptive quadrature: intervals are halved until Simpson's rule over the halves differs little from that over the
// whole (Kuncir, CACM 1962; Lyness, JACM 1969, for the bound and the correction).
#pragma once

#include "recursion/recursion.hpp"

namespace laneway::apps {

/// Two peaks beside each other, integrated in closed form by arctangents: 1 / (w² + (x - c)²) for each. Made of
/// operations that all devices round alike.
struct two_peaks {
    static constexpr double centres[2] = {0.3, 0.9};
    static constexpr double widths[2] = {0.01, 0.02};

    LANEWAY_FN double operator()(double x) const {
        const double a = x - 0.3, b = x - 0.9;
        return 1 / (0.0001 + a * a) + 1 / (0.0004 + b * b);
    }
};

/// What is known of an interval: its ends, the function there and in the middle, Simpson's rule over it, and the error
/// that it may have.
struct simpson_interval {
    double from, to;
    double at_from, at_middle, at_to;
    double area;
    double tolerance;
    std::uint32_t depth;
};

struct quadrature_result {
    double area = 0;
    std::uint64_t intervals = 0;  ///< that were looked at
    recursion_report report;
};

/// The integral of two_peaks from `from` to `to`, with an error of about `tolerance`; intervals are halved max_depth
/// times at most. The result does not depend on the devices. Throws as fork_join.
inline constexpr std::uint32_t max_quadrature_depth = 48;
quadrature_result quadrature(double from, double to, double tolerance, const recursion_options& options = {});
/// The same on devices that are open.
quadrature_result quadrature(runtime& rt, double from, double to, double tolerance, const recursion_options& options);

LANEWAY_FN double simpson(double width, double first, double middle, double last) {
    return width / 6 * (first + 4 * middle + last);
}
LANEWAY_FN simpson_interval first_interval(double from, double to, double tolerance) {
    const two_peaks f;
    const double a = f(from), m = f((from + to) / 2), b = f(to);
    return {from, to, a, m, b, simpson(to - from, a, m, b), tolerance, 0};
}
/// The halves of an interval; true where its area, which is set, is good enough.
LANEWAY_FN bool halve(const simpson_interval& whole, simpson_interval& left, simpson_interval& right, double& area) {
    const two_peaks f;
    const double middle = (whole.from + whole.to) / 2, width = middle - whole.from;
    const double at_left = f((whole.from + middle) / 2), at_right = f((middle + whole.to) / 2);
    left = {whole.from,          middle,
            whole.at_from,       at_left,
            whole.at_middle,     simpson(width, whole.at_from, at_left, whole.at_middle),
            whole.tolerance / 2, whole.depth + 1};
    right = {middle,
             whole.to,
             whole.at_middle,
             at_right,
             whole.at_to,
             simpson(width, whole.at_middle, at_right, whole.at_to),
             whole.tolerance / 2,
             whole.depth + 1};
    const double difference = left.area + right.area - whole.area;
    area = left.area + right.area + difference / 15;
    return (difference < 0 ? -difference : difference) <= 15 * whole.tolerance || whole.depth >= max_quadrature_depth;
}

}  // namespace laneway::apps

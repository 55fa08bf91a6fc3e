// Rows of the membrane: what a step makes of a cell, the first values, and what of a PE's rows is its own.
#pragma once

#include "jacobi/jacobi.hpp"
#include "laneway/base/config.hpp"

namespace laneway::apps {

/// Mean of the neighbours, in this order.
LANEWAY_FN double mean_of(double up, double down, double left, double right) {
    return 0.25 * ((up + down) + (left + right));
}

/// Rows of a PE at first, with the halo on either side. `rows`: of a PE, its own.
std::vector<double> first_rows(int pe, std::uint64_t rows, std::uint64_t all_rows, std::uint64_t columns);
/// Appends the inner cells of a PE's rows.
void append_inner(std::vector<double>& all, const std::vector<double>& mine, std::uint64_t rows, std::uint64_t width);

}  // namespace laneway::apps

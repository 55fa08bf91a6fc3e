// A 2-D Jacobi stencil in several styles of communication, one file a style: what decides is how the borders of each
// PE's rows come to its neighbours.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "parallel/communication_style.hpp"

namespace laneway::apps {

struct jacobi_options {
    options job;
    communication_style style = communication_style::service_warps;
    std::uint64_t rows = 256;  ///< inner ones, the same number on each PE
    std::uint64_t columns = 256;
    std::uint64_t steps = 100;
};

struct jacobi_result {
    std::vector<double> values;    ///< rows × columns
    double seconds = 0;            ///< of all runs
    double computing_seconds = 0;  ///< of these, in which a warp computed, on average; the others it was blocked
    std::uint64_t requests = 0;    ///< that a service has carried out; 0 in styles without one
};

/// Replaces each cell by the mean of its four neighbours, `steps` times, from the lowest mode of a membrane with fixed
/// edges: sin(pi x) sin(pi y). Throws usage_error for what cannot be, and as runtime::run does.
jacobi_result jacobi(const jacobi_options& options);

/// The same by one thread of the host: the same bits.
std::vector<double> jacobi_by_one(std::uint64_t rows, std::uint64_t columns, std::uint64_t steps);
/// What is left of the first values after so many steps: a step multiplies the mode by the mean of two cosines.
double jacobi_decay(std::uint64_t rows, std::uint64_t columns, std::uint64_t steps);

}  // namespace laneway::apps

// A 2-D Jacobi stencil in several styles of communication, one file a style: what decides is how the borders of each
// PE's rows come to its neighbours.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/options.hpp"

namespace laneway::apps {

enum class jacobi_style {
    host_driven,       ///< a run for each step and one for each exchange: the host is the barrier
    stream_triggered,  ///< kernels, copies and what they wait for are put into streams; the host waits for none of them
    triggered,         ///< one run; the exchange is prepared, and goes off when the borders have been written
    service_warps,     ///< one run; lanes have warps of their PE put their cells of a border when theirs are computed
    service_host,      ///< the same by host threads; not on GPUs, whose memory they cannot touch
};
inline constexpr jacobi_style jacobi_styles[] = {jacobi_style::host_driven, jacobi_style::stream_triggered,
                                                 jacobi_style::triggered, jacobi_style::service_warps,
                                                 jacobi_style::service_host};
const char* to_string(jacobi_style style);

struct jacobi_options {
    options job;
    jacobi_style style = jacobi_style::service_warps;
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

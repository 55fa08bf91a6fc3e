// The numbers of an array that a condition holds for, found by many devices: the host's view.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"

namespace laneway::flow {
class context;
}

namespace laneway::apps {

class workspace;

/// Which device gets a packet of the array.
enum class filter_policy {
    available,  ///< whichever has room first
    even,       ///< each has an equal part of the array
};

/// Reads "available" or "even"; throws usage_error for another word.
filter_policy parse_filter_policy(const std::string& text);

struct filter_options {
    options job;                   ///< devices, deadline, seed
    std::string condition;         ///< as parse_condition reads it
    std::size_t packet_bytes = 0;  ///< of the array that a device takes at once; 0: 64 KiB to 4 MiB
    int buffers = 3;               ///< packets that a device holds, and two more of what it keeps
    filter_policy policy = filter_policy::available;
};

template <class T>
struct filter_result {
    std::vector<T> kept;                  ///< in the order of the array
    std::vector<std::uint64_t> elements;  ///< that each device has looked at
    std::vector<std::uint64_t> packets;   ///< in which it got them
    /// Its messages are elements, on their way to a device or back, its chunks are packets; the diagonal of its matrix
    /// is what went between the host and each device.
    run_report report;
};

/// The elements of `values` that the condition holds for. Types are those of parse_condition. Where there are GPUs, the
/// array is pinned meanwhile if the system allows it. Throws usage_error for wrong options and packets that do not fit
/// into options::buffer_bytes, timeout_error, device_fault and cuda_error for a failed run. Method: Groute (2020),
/// figure 3.
template <class T>
filter_result<T> filter(const T* values, std::size_t count, const filter_options& options);
/// With the workspace's devices, which stay open for the next one; `options.job` is the workspace's.
template <class T>
filter_result<T> filter(workspace& devices, const T* values, std::size_t count, filter_options options);

}  // namespace laneway::apps

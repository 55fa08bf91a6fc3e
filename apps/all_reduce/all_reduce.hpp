// An all-reduce of a large array in several styles of communication, one file a style: how each PE's numbers come to
// those who add them up, and how the sums come back.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/options.hpp"

namespace laneway::apps {

enum class all_reduce_style {
    host_driven,       ///< kernels end, and the host has a group of a dataflow reduce; it waits for each
    stream_triggered,  ///< kernels, copies and what they wait for are put into streams; the host waits for none of them
    triggered,         ///< one run; a prepared ring goes off when all lanes of a PE have written
    service_warps,     ///< one run; lanes have warps of their PE copy each piece when it is written or reduced
    service_host,      ///< the same by host threads; not on GPUs, whose memory they cannot touch
    collective,        ///< one run; all lanes load from all PEs, reduce, and store to all
};
inline constexpr all_reduce_style all_reduce_styles[] = {
    all_reduce_style::host_driven,   all_reduce_style::stream_triggered, all_reduce_style::triggered,
    all_reduce_style::service_warps, all_reduce_style::service_host,     all_reduce_style::collective};
const char* to_string(all_reduce_style style);

struct all_reduce_options {
    options job;
    all_reduce_style style = all_reduce_style::triggered;
    std::uint64_t elements = 1 << 16;  ///< floats, of each PE
    std::uint32_t rounds = 10;
};

struct all_reduce_result {
    std::vector<std::vector<float>> values;  ///< of each PE after the last round
    std::uint64_t wrong = 0;                 ///< elements that lanes found to differ from the sum, in all rounds
    double seconds = 0;                      ///< of all rounds
    /// Of these, in which a warp wrote numbers or verified sums, on average; in the others it was blocked on
    /// communication, of which reducing is a part.
    double computing_seconds = 0;
    std::uint64_t requests = 0;  ///< that a service has carried out; 0 in styles without one
};

/// In each round lanes write contribution_to_sum into an array of their PE, which is reduced over all PEs, and verify
/// every sum. Throws usage_error for what cannot be, and as runtime::run does.
all_reduce_result all_reduce(const all_reduce_options& options);

}  // namespace laneway::apps

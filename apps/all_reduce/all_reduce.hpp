// An all-reduce of a large array in several styles of communication, one file a style: how each PE's numbers come to
// those who add them up, and how the sums come back.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "parallel/communication_style.hpp"

namespace laneway::apps {

inline constexpr communication_style all_reduce_styles[] = {
    communication_style::host_driven,   communication_style::stream_triggered, communication_style::triggered,
    communication_style::service_warps, communication_style::service_host,     communication_style::collective};

struct all_reduce_options {
    options job;
    communication_style style = communication_style::triggered;
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

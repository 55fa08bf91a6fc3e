// Where a PE writes down what its timeline shows; nothing is written where the host has asked for none.
#pragma once

#include "laneway/base/timeline_records.hpp"

namespace laneway {

/// Logs of one run, in PE memory; the host sets them to their start before the run and reads them after it.
struct pe_timeline {
    timeline_sample* samples = nullptr;  ///< by number of the sample, see thinning
    timeline_wait* waits = nullptr;      ///< by claim, modulo max_waits: the newest are kept
    std::uint64_t gap_ns = 0;            ///< between the first samples, at least
    std::uint32_t max_samples = 0;       ///< powers of two
    std::uint32_t max_waits = 0;
    alignas(destructive_bytes) std::uint64_t n_waits = 0;  ///< that have lasted
    alignas(destructive_bytes) std::uint64_t n_samples =
        0;                          ///< taken; written by the control warp, as all that follows
    std::uint64_t next_number = 0;  ///< of the next sample that is kept
    std::uint64_t next_ns = 0;      ///< when it is taken
    std::uint64_t turns = 0;
    timeline_sample last;  ///< when the control warp had seen the end
};

}  // namespace laneway

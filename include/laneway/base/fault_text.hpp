// What an exception says of a fault record. Host only.
#pragma once

#include <string>

#include "laneway/base/fault.hpp"

namespace laneway {

/// What the host knows of the run that a record comes from.
struct fault_scene {
    std::string device;  ///< name of the record's PE
    int n_pes = 1;
    double timeout_seconds = 0;
    std::uint64_t step_ns = 0;  ///< of the device's virtual time; 0: it has a clock
};

/// One line: PE, block, warp and lane, what went wrong while doing what with whom, then the numbers with their units
/// and the limit that was passed.
std::string describe(const fault_record& record, const fault_scene& scene);
/// The same without PE, block, warp and lane.
std::string describe_cause(const fault_record& record, const fault_scene& scene);

}  // namespace laneway

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

/// Whether a record's number is that of a channel, see channel_in_fault.
bool names_channel(const fault_record& record);
/// " of graph 0", behind what names a channel; nothing where the run has one graph. `graph`: as channel_in_fault has
/// it.
std::string of_graph(std::uint32_t graph);

/// One line: PE, block, warp and lane, what went wrong while doing what with whom, then the numbers with their units
/// and the limit that was passed.
std::string describe(const fault_record& record, const fault_scene& scene);
/// The same without PE, block, warp and lane.
std::string describe_cause(const fault_record& record, const fault_scene& scene);

}  // namespace laneway

// What the channels of a run hold that nobody has freed, as messages tell it.
#pragma once

#include <string>

#include "laneway/base/fault.hpp"
#include "laneway/task/channel_memory.hpp"

namespace laneway {

/// "channel 0: 64 elements (3 kept by warps), 57 at level 0 (full), 7 at level 1": what lies in the channels of all PEs
/// and on stacks of their warps, for a graph that did not come to its end. Full: on some PE.
std::string occupancy_text(const channel_store& store);

/// What the message of a run that has failed says of a graph: of a fault that names a channel of it by its number,
/// `; channel 0 is "frames"`, and where nothing but the deadline ended it, what the channels hold. `fault` may be null.
std::string failure_text(const channel_store& store, const fault_record* fault);

/// Throws device_fault where an element was never freed; names channels, counts and levels.
void audit_channels(const channel_store& store);

}  // namespace laneway

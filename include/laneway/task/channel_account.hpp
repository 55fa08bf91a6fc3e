// What the channels of a run hold that nobody has freed, as messages tell it.
#pragma once

#include <string>
#include <vector>

#include "laneway/task/channel_memory.hpp"

namespace laneway {

/// "channel 0: 64 elements (3 kept by warps), 57 at level 0 (full), 7 at level 1": what lies in the channels of all PEs
/// and on stacks of their warps, for a graph that did not come to its end. Full: on some PE.
std::string occupancy_text(const std::vector<channel_plan>& plans, const std::vector<channel_memory>& memories);

/// Throws device_fault where an element was never freed; names channels, counts and levels.
void audit_channels(const std::vector<channel_plan>& plans, const std::vector<channel_memory>& memories);

}  // namespace laneway

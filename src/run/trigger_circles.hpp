// Operations that set each other off without end, found in what lies on the devices behind a deadline.
#pragma once

#include <string>
#include <vector>

#include "laneway/comm/triggers/trigger_slot.hpp"

namespace laneway {

[[nodiscard]] std::string name_of_tag(int pe, std::uint32_t tag);

/// Names, of all PEs' tags, operations that set each other off with no trigger from elsewhere, and have fired:
/// "; operations in a circle without end: tag 2 of PE 0 -> tag 3 of PE 1 -> tag 2 of PE 0"; where no single circle
/// keeps itself going, "; operations in circles without end: tag 2 of PE 0, tag 3 of PE 1, tag 4 of PE 1"; empty where
/// none do.
[[nodiscard]] std::string circles_without_end(const std::vector<std::vector<trigger_slot>>& slots);

}  // namespace laneway

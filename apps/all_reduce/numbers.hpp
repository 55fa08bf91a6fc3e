// What the lanes write that an all-reduce reduces; other libraries' programs beside it write the same.
#pragma once

#include <cstdint>

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// Whole numbers, so small that floats add them up without rounding, in any order.
LANEWAY_FN float contribution_to_sum(std::uint64_t element, int pe, std::uint32_t round) {
    return static_cast<float>(((element + 1) * (static_cast<std::uint64_t>(pe) + 3) + round) % 127);
}

}  // namespace laneway::apps

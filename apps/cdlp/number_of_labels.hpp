// How many labels are left.
#pragma once

#include <cstdint>
#include <vector>

namespace laneway::apps {

/// Different values of `labels`, which are below their count.
inline std::uint64_t number_of_labels(const std::vector<std::uint32_t>& labels) {
    std::vector<bool> seen(labels.size());
    std::uint64_t number = 0;
    for (const std::uint32_t label : labels) {
        number += seen[label] ? 0 : 1;
        seen[label] = true;
    }
    return number;
}

}  // namespace laneway::apps

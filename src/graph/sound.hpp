// What arrays must be to make a graph, whoever they come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// Whether weights may have been multiplied by `scale`: a power of ten.
inline bool possible_scale(std::uint64_t scale) {
    while (scale > 1 && scale % 10 == 0) scale /= 10;
    return scale == 1;
}

/// Whether each of `ids.vertices` vertices has an id of its own, and ids rise.
inline bool sound(const numbering& ids) {
    if (ids.labels.empty()) return ids.first <= std::numeric_limits<std::uint64_t>::max() - ids.vertices;
    return ids.labels.size() == ids.vertices &&
           std::adjacent_find(ids.labels.begin(), ids.labels.end(), std::greater_equal<>()) == ids.labels.end();
}

}  // namespace laneway::graph

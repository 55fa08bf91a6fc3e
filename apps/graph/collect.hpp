// What the PEs have found for their vertices, brought together on the host.
#pragma once

#include <algorithm>

#include "graph/division.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway::apps {

/// One value a vertex, in the order of the graph's vertices, from arrays with one value a row. Host, between runs.
template <class Vertex, class T>
[[nodiscard]] std::vector<T> collect(const division<Vertex>& division, const symmetric_array<T>& values) {
    const std::vector<std::uint64_t>& starts = division.starts();
    std::vector<T> all(starts.back());
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
        const std::vector<T> part = values.copy_out(static_cast<int>(p));
        std::copy_n(part.begin(), starts[p + 1] - starts[p], all.begin() + static_cast<std::ptrdiff_t>(starts[p]));
    }
    return division.by_vertex(std::move(all));
}

}  // namespace laneway::apps

// Values of vertices between the host and the PEs that own them.
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

/// The other way round. Arrays have at least as many values as any PE has rows; what is left is T{}.
template <class Vertex, class T>
void distribute(const division<Vertex>& division, std::vector<T> values, symmetric_array<T>& to) {
    const std::vector<T> placed = division.by_place(std::move(values));
    const std::vector<std::uint64_t>& starts = division.starts();
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
        std::vector<T> part(placed.begin() + static_cast<std::ptrdiff_t>(starts[p]),
                            placed.begin() + static_cast<std::ptrdiff_t>(starts[p + 1]));
        part.resize(to.size());
        to.copy_in(static_cast<int>(p), part);
    }
}

}  // namespace laneway::apps

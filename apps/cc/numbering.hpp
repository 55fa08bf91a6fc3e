// Numbers for components that are known by one of their vertices each.
#pragma once

#include <utility>

#include "cc.hpp"

namespace laneway::apps {

/// Sets component and components. `roots`: of each vertex, a number below their count, the same for those of one
/// component.
template <class Vertex>
void number_components(const std::vector<Vertex>& roots, cc_result& result) {
    constexpr std::uint64_t unknown = ~std::uint64_t{0};
    std::vector<std::uint64_t> number(roots.size(), unknown);
    result.component.reserve(roots.size());
    for (const Vertex root : roots) {
        if (number[root] == unknown) number[root] = result.components++;
        result.component.push_back(number[root]);
    }
}

}  // namespace laneway::apps

#include "laneway/graph/csr.hpp"

#include <algorithm>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::graph {

std::uint64_t numbering::index_of(std::uint64_t id) const {
    if (vertices == 0) throw usage_error("vertex " + std::to_string(id) + " is outside a graph without vertices");
    if (labels.empty()) {
        if (id >= first && id - first < vertices) return id - first;
        throw usage_error("vertex " + std::to_string(id) + " is outside " + std::to_string(first) + ".." +
                          std::to_string(first + vertices - 1));
    }
    const auto found = std::lower_bound(labels.begin(), labels.end(), id);
    if (found != labels.end() && *found == id) return static_cast<std::uint64_t>(found - labels.begin());
    throw usage_error("vertex " + std::to_string(id) + " is none of the " + std::to_string(labels.size()) +
                      " in the graph, which lie in " + std::to_string(labels.front()) + ".." +
                      std::to_string(labels.back()));
}

}  // namespace laneway::graph

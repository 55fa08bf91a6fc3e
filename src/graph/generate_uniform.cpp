#include <limits>
#include <string>

#include "graph_of_edges.hpp"
#include "laneway/base/error.hpp"
#include "laneway/graph/generate.hpp"

namespace laneway::graph {

graph generate_uniform(const uniform_options& o) {
    if (o.vertices == 0 || o.vertices > std::numeric_limits<std::uint32_t>::max()) {
        throw usage_error("a graph of " + std::to_string(o.vertices) + " vertices: 1 to 4294967295 are possible");
    }
    return graph_of_edges({o.vertices, o.arcs, o.symmetric, o.max_weight, o.seed}, [&](random_sequence random) {
        const auto tail = static_cast<std::uint32_t>(random.below(o.vertices));
        return edge{tail, static_cast<std::uint32_t>(random.below(o.vertices))};
    });
}

}  // namespace laneway::graph

#include "laneway/graph/transpose.hpp"

namespace laneway::graph {

template <class Vertex>
basic_csr<Vertex> transpose(const basic_csr<Vertex>& graph) {
    const std::uint64_t n = graph.vertices();
    basic_csr<Vertex> result;
    result.offsets.assign(n + 1, 0);
    result.heads.resize(graph.arcs());
    for (const Vertex head : graph.heads) ++result.offsets[head + std::uint64_t{1}];
    for (std::uint64_t v = 0; v < n; ++v) result.offsets[v + 1] += result.offsets[v];
    std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
    for (std::uint64_t v = 0; v < n; ++v) {
        for (std::uint64_t arc = graph.offsets[v]; arc < graph.offsets[v + 1]; ++arc) {
            result.heads[next[graph.heads[arc]]++] = static_cast<Vertex>(v);
        }
    }
    return result;
}

template csr32 transpose(const csr32&);
template csr64 transpose(const csr64&);

}  // namespace laneway::graph

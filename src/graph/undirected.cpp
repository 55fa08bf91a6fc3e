#include "laneway/graph/undirected.hpp"

#include "checksum.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/graph/transpose.hpp"

namespace laneway::graph {
namespace {

std::uint64_t hash_of_arc(std::uint64_t tail, std::uint64_t head) { return mix(mix(tail) + 0x9e3779b97f4a7c15 + head); }

}  // namespace

template <class Vertex>
bool is_symmetric(const basic_csr<Vertex>& graph) {
    std::uint64_t difference = 0;
    interruption_counter leave;
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
        leave.poll();
        for (std::uint64_t arc = graph.offsets[v]; arc < graph.offsets[v + 1]; ++arc) {
            difference += hash_of_arc(v, graph.heads[arc]) - hash_of_arc(graph.heads[arc], v);
        }
    }
    return difference == 0;
}

template <class Vertex>
basic_csr<Vertex> undirected(const basic_csr<Vertex>& graph) {
    const basic_csr<Vertex> back = transpose(graph);
    const basic_csr<Vertex> forth = transpose(back);  // the graph itself with ascending rows
    basic_csr<Vertex> result;
    result.offsets.reserve(graph.vertices() + 1);
    interruption_counter leave;
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
        leave.poll();
        std::uint64_t a = forth.offsets[v], b = back.offsets[v];
        while (a < forth.offsets[v + 1] || b < back.offsets[v + 1]) {
            const bool forward =
                b == back.offsets[v + 1] || (a < forth.offsets[v + 1] && forth.heads[a] <= back.heads[b]);
            const Vertex head = forward ? forth.heads[a++] : back.heads[b++];
            const bool known = result.heads.size() > result.offsets.back() && result.heads.back() == head;
            if (head != v && !known) result.heads.push_back(head);
        }
        result.offsets.push_back(result.heads.size());
    }
    return result;
}

template bool is_symmetric(const csr32&);
template bool is_symmetric(const csr64&);
template csr32 undirected(const csr32&);
template csr64 undirected(const csr64&);

}  // namespace laneway::graph

// Graphs of edges that are drawn one by one: the same graph with any number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/in_threads.hpp"
#include "laneway/graph/csr.hpp"
#include "random.hpp"

namespace laneway::graph {

struct edge {
    std::uint32_t tail;
    std::uint32_t head;
};

/// What is drawn, beside where edges lie.
struct drawn_edges {
    std::uint64_t vertices = 0;
    std::uint64_t arcs = 0;
    bool symmetric = true;
    std::uint32_t max_weight = 0;
    std::uint64_t seed = 0;

    [[nodiscard]] std::uint64_t edges() const { return symmetric ? arcs / 2 : arcs; }
};

/// Pieces of 0..n-1, one a thread.
inline std::vector<std::uint64_t> pieces(std::uint64_t n) {
    return equal_cuts(n, std::clamp(std::thread::hardware_concurrency(), 1u, 32u));
}

/// Each thread owns a range of rows and reads all edges: no atomics, and rows keep the order of the edges.
template <class F>
void for_each_arc(const edge* edges, const drawn_edges& all, F f) {
    in_threads(pieces(all.vertices), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        const std::uint64_t rows = end - begin;
        for (std::uint64_t i = 0; i < all.edges() && going; ++i) {
            const auto [tail, head] = edges[i];
            if (tail - begin < rows) f(tail, head, i);
            if (all.symmetric && head - begin < rows) f(head, tail, i);
        }
    });
}

/// `draw(random)`: an edge, from a sequence of its own. Throws usage_error for an odd number of symmetric arcs or a
/// greatest weight of 0.
template <class Draw>
graph graph_of_edges(const drawn_edges& all, const Draw& draw) {
    if (all.symmetric && all.arcs % 2 != 0)
        throw usage_error(std::to_string(all.arcs) + " arcs are odd: a symmetric graph has two an edge");
    if (all.max_weight == 0) throw usage_error("the greatest weight of a graph is 0, not 1 or more");
    const auto edges = std::make_unique_for_overwrite<edge[]>(all.edges());
    in_threads(pieces(all.edges()), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        for (std::uint64_t i = begin; i < end && going; ++i) edges[i] = draw(random_sequence(all.seed, i + 2));
    });
    csr32 csr;
    csr.offsets.assign(all.vertices + 1, 0);
    csr.heads.resize(all.arcs);
    csr.weights.resize(all.arcs);
    // Cell v + 1 counts row v, then holds its start, and at the end its end.
    auto* cursor = csr.offsets.data() + 1;
    for_each_arc(edges.get(), all, [&](std::uint64_t row, std::uint32_t, std::uint64_t) { ++cursor[row]; });
    std::uint64_t total = 0;
    for (std::uint64_t v = 0; v < all.vertices; ++v) total += std::exchange(cursor[v], total);
    for_each_arc(edges.get(), all, [&](std::uint64_t row, std::uint32_t head, std::uint64_t i) {
        const std::uint64_t at = cursor[row]++;
        csr.heads[at] = head;
        csr.weights[at] = random_weight(all.seed, i, all.max_weight);
    });
    graph result;
    result.arcs = std::move(csr);
    result.ids.vertices = all.vertices;
    return result;
}

}  // namespace laneway::graph

// Graphs that the suites of graph programs run on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "laneway/graph/csr.hpp"

namespace laneway::test {

struct arc {
    std::uint64_t tail, head;
    std::uint32_t weight;
};

template <class Vertex = std::uint32_t>
graph::graph make_graph(std::uint64_t vertices, std::vector<arc> arcs) {
    std::stable_sort(arcs.begin(), arcs.end(), [](const arc& a, const arc& b) { return a.tail < b.tail; });
    graph::basic_csr<Vertex> csr;
    csr.offsets.assign(vertices + 1, 0);
    for (const arc& a : arcs) {
        ++csr.offsets[a.tail + 1];
        csr.heads.push_back(static_cast<Vertex>(a.head));
        csr.weights.push_back(a.weight);
    }
    for (std::uint64_t v = 0; v < vertices; ++v) csr.offsets[v + 1] += csr.offsets[v];
    graph::graph g;
    g.arcs = std::move(csr);
    g.ids.vertices = vertices;
    return g;
}

/// Arcs at random, with self-loops, parallel arcs, zero weights, unreachable parts and now and then a hub.
inline graph::graph random_graph(std::uint64_t seed, std::uint64_t max_vertices) {
    std::mt19937_64 random(seed);
    const std::uint64_t vertices = 1 + random() % max_vertices;
    const std::uint64_t n = random() % (3 * vertices);
    const std::uint32_t greatest = seed % 4 == 0 ? 1 : seed % 4 == 1 ? 1000 : 10;
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < n; ++i) {
        arcs.push_back(
            {random() % vertices, random() % vertices, static_cast<std::uint32_t>(random() % (greatest + 1))});
    }
    if (seed % 16 == 3) {
        for (int i = 0; i < 1100; ++i)
            arcs.push_back({0, random() % vertices, static_cast<std::uint32_t>(1 + random() % 50)});
    }
    return make_graph(vertices, arcs);
}

}  // namespace laneway::test

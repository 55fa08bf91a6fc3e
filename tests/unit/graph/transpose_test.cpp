#include "laneway/graph/transpose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace laneway::graph::test {
namespace {

template <class Vertex>
void meets_arcs(const basic_csr<Vertex>& g) {
    std::vector<std::pair<Vertex, Vertex>> turned, found;
    for (std::uint64_t v = 0; v < g.vertices(); ++v) {
        for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
            turned.emplace_back(g.heads[arc], static_cast<Vertex>(v));
        }
    }
    const basic_csr<Vertex> result = transpose(g);
    for (std::uint64_t v = 0; v < result.vertices(); ++v) {
        for (std::uint64_t arc = result.offsets[v]; arc < result.offsets[v + 1]; ++arc) {
            found.emplace_back(static_cast<Vertex>(v), result.heads[arc]);
        }
    }
    std::sort(turned.begin(), turned.end());
    EXPECT_EQ(found, turned) << "heads ascend within rows";
    EXPECT_EQ(result.vertices(), g.vertices());
    EXPECT_FALSE(result.weighted());
}

TEST(Transpose, ArcsKeepTheirWeightsWhereAsked) {
    // Parallel arcs from 1 to 2 stay in their order; row 2 comes from several tails.
    const csr32 g{{0, 2, 5, 6}, {2, 1, 2, 0, 2, 2}, {10, 20, 30, 40, 50, 60}};
    const csr32 turned = transpose(g, true);
    EXPECT_EQ(turned.heads, (std::vector<std::uint32_t>{1, 0, 0, 1, 1, 2}));
    EXPECT_EQ(turned.weights, (std::vector<std::uint32_t>{40, 20, 10, 30, 50, 60}));
    EXPECT_EQ(transpose(turned, true).weights, (std::vector<std::uint32_t>{20, 10, 40, 30, 50, 60}));
    EXPECT_FALSE(transpose(g).weighted());
    EXPECT_FALSE(transpose(csr32{{0, 1}, {0}, {}}, true).weighted());
}

csr32 random_rows(unsigned seed, std::uint32_t vertices, std::uint32_t max_arcs) {
    std::mt19937 random(seed);
    csr32 g;
    for (std::uint32_t v = 0; v < vertices; ++v) {
        for (auto degree = random() % max_arcs; degree > 0; --degree) {
            g.heads.push_back(static_cast<std::uint32_t>(random() % vertices));
        }
        g.offsets.push_back(g.heads.size());
    }
    return g;
}

TEST(Transpose, TurnsEveryArcRound) {
    meets_arcs(csr32{});
    meets_arcs(csr32{{0, 0, 0}, {}, {}});
    meets_arcs(csr64{{0, 3, 4, 4}, {2, 2, 0, 1}, {7, 1, 1, 3}});
    for (unsigned seed = 0; seed < 50; ++seed) meets_arcs(random_rows(seed, 1 + seed % 40, 8));
}

TEST(Transpose, ManyArcsAreSharedOutToThreads) {
    const csr32 g = random_rows(7, 500'000, 14);
    ASSERT_GT(g.arcs(), 3u << 20);
    meets_arcs(g);
    csr32 star = random_rows(8, 3, 3 << 20);  // more threads than vertices
    ASSERT_GT(star.arcs(), 2u << 20);
    meets_arcs(star);
}

}  // namespace
}  // namespace laneway::graph::test

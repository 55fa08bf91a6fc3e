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

TEST(Transpose, TurnsEveryArcRound) {
    meets_arcs(csr32{});
    meets_arcs(csr32{{0, 0, 0}, {}, {}});
    meets_arcs(csr64{{0, 3, 4, 4}, {2, 2, 0, 1}, {7, 1, 1, 3}});
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        const auto n = 1 + random() % 40;
        csr32 g;
        for (std::uint32_t v = 0; v < n; ++v) {
            for (auto degree = random() % 8; degree > 0; --degree) {
                g.heads.push_back(static_cast<std::uint32_t>(random() % n));
            }
            g.offsets.push_back(g.heads.size());
        }
        meets_arcs(g);
    }
}

}  // namespace
}  // namespace laneway::graph::test

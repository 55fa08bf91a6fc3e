#include "laneway/graph/undirected.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "test_files.hpp"

namespace laneway::graph::test {
namespace {

csr32 of_rows(const std::vector<std::vector<std::uint32_t>>& rows) {
    csr32 g;
    for (const auto& row : rows) {
        g.heads.insert(g.heads.end(), row.begin(), row.end());
        g.offsets.push_back(g.heads.size());
    }
    return g;
}

TEST(Undirected, DropsLoopsAndParallelArcs) {
    const csr32 g = undirected(of_rows({{2, 1, 1, 0}, {0}, {}, {3}, {2}}));
    EXPECT_EQ(arcs_of(g), "0>1 0>2 1>0 2>0 2>4 4>2");
    EXPECT_EQ(g.vertices(), 5u);
    EXPECT_EQ(undirected(csr32{}).vertices(), 0u);
}

TEST(Undirected, SymmetryCountsArcs) {
    EXPECT_TRUE(is_symmetric(csr32{}));
    EXPECT_TRUE(is_symmetric(of_rows({{1, 1, 0}, {0, 2, 0}, {1}})));
    EXPECT_FALSE(is_symmetric(of_rows({{1}, {}})));
    EXPECT_FALSE(is_symmetric(of_rows({{1, 1}, {0}})));
    EXPECT_FALSE(is_symmetric(of_rows({{1}, {2}, {0}}))) << "a circle has as many arcs in as out everywhere";
}

TEST(Undirected, RandomGraphsMeetSets) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
        const std::uint32_t n = 1 + below(40);
        std::vector<std::vector<std::uint32_t>> rows(n);
        std::vector<std::set<std::uint32_t>> expected(n);
        for (std::uint32_t i = below(4 * n); i > 0; --i) {
            const std::uint32_t tail = below(n), head = below(n);
            rows[tail].push_back(head);
            if (tail == head) continue;
            expected[tail].insert(head);
            expected[head].insert(tail);
        }
        std::vector<std::vector<std::uint32_t>> sorted;
        for (const auto& row : expected) sorted.emplace_back(row.begin(), row.end());
        const csr32 g = undirected(of_rows(rows));
        EXPECT_EQ(arcs_of(g), arcs_of(of_rows(sorted))) << "seed " << seed;
        EXPECT_TRUE(is_symmetric(g)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace laneway::graph::test

#include "color/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "laneway/graph/generate.hpp"

namespace laneway::apps {
namespace {

TEST(ColoringOrder, FallingLogDegreesAtRandomAmongEquals) {
    const auto g = std::get<graph::csr32>(graph::generate_kronecker({.scale = 8, .arcs = 3000}).arcs);
    const auto order = coloring_order(g, 1);
    EXPECT_EQ(order, coloring_order(g, 1));
    EXPECT_NE(order, coloring_order(g, 2));
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint32_t v = 0; v < g.vertices(); ++v) ASSERT_EQ(sorted[v], v);
    std::size_t falls = 0, rises = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
        const auto degree = [&](std::uint32_t v) { return g.offsets[v + 1] - g.offsets[v]; };
        ASSERT_GE(std::bit_width(degree(order[i - 1])), std::bit_width(degree(order[i])));
        if (degree(order[i - 1]) != degree(order[i])) continue;
        ++(order[i - 1] < order[i] ? rises : falls);
    }
    EXPECT_GT(falls, 10u) << "vertices of one degree stand in the graph's order";
    EXPECT_GT(rises, 10u);
}

TEST(ColoringOrder, SameEverywhere) {
    graph::csr32 g;
    g.offsets.assign(9, 0);
    EXPECT_EQ(coloring_order(g, 7), (std::vector<std::uint32_t>{2, 3, 5, 6, 1, 0, 4, 7}));
    EXPECT_TRUE(coloring_order(graph::csr64{}, 1).empty());
}

}  // namespace
}  // namespace laneway::apps

#include "laneway/flow/vertex_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace laneway::test {
namespace {

struct some_pes {
    int count;
    [[nodiscard]] int n_pes() const { return count; }
};

// PE p owns p % 3 vertices: ranges are empty at the beginning, between others, and at the end.
TEST(VertexRanges, OwnersOfSeveralAreThoseOfEach) {
    for (int pes = 2; pes <= 17; ++pes) {
        std::vector<std::uint64_t> starts{0};
        for (int p = 0; p < pes; ++p) starts.push_back(starts.back() + static_cast<std::uint64_t>(p % 3));
        const vertex_ranges ranges{starts.data()};
        const some_pes ctx{pes};
        const auto expected = [&](std::uint64_t vertex) {
            return static_cast<int>(std::upper_bound(starts.begin(), starts.end(), vertex) - starts.begin()) - 1;
        };
        for (std::uint32_t vertex = 0; vertex < starts.back(); ++vertex) {
            const std::uint32_t last = static_cast<std::uint32_t>(starts.back()) - 1;
            const std::uint32_t vertices[] = {vertex, last - vertex, last};
            int found[3];
            ranges.owners(ctx, vertices, found);
            for (int k = 0; k < 3; ++k) {
                EXPECT_EQ(found[k], expected(vertices[k])) << pes << " PEs, vertex " << vertices[k];
                EXPECT_EQ(ranges.owner(ctx, vertices[k]), found[k]);
            }
        }
    }
}

TEST(VertexRanges, OnePeOwnsAll) {
    const std::uint64_t starts[] = {0, 5};
    const vertex_ranges ranges{starts};
    for (std::uint64_t vertex = 0; vertex < 5; ++vertex) EXPECT_EQ(ranges.owner(some_pes{1}, vertex), 0);
}

}  // namespace
}  // namespace laneway::test

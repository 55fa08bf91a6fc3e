#include "laneway/graph/split.hpp"

#include <gtest/gtest.h>

namespace laneway::graph {
namespace {

csr32 sample() {
    csr32 csr;
    csr.offsets = {0, 2, 2, 3, 6};
    csr.heads = {1, 3, 0, 1, 2, 3};
    csr.weights = {10, 11, 12, 13, 14, 15};
    return csr;
}

TEST(slice_test, OffsetsAreLocalAndHeadsGlobalViews) {
    const csr32 csr = sample();
    const auto part = slice(csr, 2, 4);
    EXPECT_EQ(part.first, 2u);
    EXPECT_EQ(part.vertices(), 2u);
    EXPECT_EQ(part.arcs(), 4u);
    EXPECT_EQ(part.offsets, (std::vector<std::uint64_t>{0, 1, 4}));
    EXPECT_EQ(part.heads.data(), csr.heads.data() + 2) << "heads are not copied";
    EXPECT_EQ(part.weights.front(), 12u);
    EXPECT_EQ(part.weights.size(), 4u);
}

TEST(slice_test, EmptyRangesAndUnweightedGraphs) {
    csr32 csr = sample();
    csr.weights.clear();
    for (const std::uint64_t at : {0u, 1u, 4u}) {
        const auto part = slice(csr, at, at);
        EXPECT_EQ(part.offsets, (std::vector<std::uint64_t>{0}));
        EXPECT_TRUE(part.heads.empty());
    }
    EXPECT_TRUE(slice(csr, 0, 4).weights.empty());
    EXPECT_EQ(slice(csr32{}, 0, 0).vertices(), 0u);
}

TEST(slice_test, RowsOutsideAreRefused) {
    const csr32 csr = sample();
    EXPECT_THROW((void)slice(csr, 0, 5), usage_error);
    EXPECT_THROW((void)slice(csr, 3, 2), usage_error);
}

}  // namespace
}  // namespace laneway::graph

#include "laneway/graph/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/graph/generate.hpp"
#include "test_files.hpp"

namespace laneway::graph {
namespace {

using ranges = std::vector<std::uint64_t>;

csr32 with_degrees(const std::vector<std::uint64_t>& degrees) {
    csr32 csr;
    for (const std::uint64_t degree : degrees) {
        csr.heads.insert(csr.heads.end(), degree, 0);
        csr.offsets.push_back(csr.heads.size());
    }
    return csr;
}

TEST(equal_arc_ranges_test, CutsWhereArcsAreNearestToEqual) {
    EXPECT_EQ(equal_arc_ranges(with_degrees({5, 1, 1, 1, 1, 1}), 2), (ranges{0, 1, 6}));
    EXPECT_EQ(equal_arc_ranges(with_degrees({1, 1, 1, 1, 1, 5}), 2), (ranges{0, 5, 6}));
    EXPECT_EQ(equal_arc_ranges(with_degrees({3, 4, 3}), 2), (ranges{0, 2, 3})) << "7 and 3 is as good as 3 and 7";
    EXPECT_EQ(equal_arc_ranges(with_degrees({3, 6, 3}), 3), (ranges{0, 1, 2, 3}));
    EXPECT_EQ(equal_arc_ranges(with_degrees({7, 3}), 1), (ranges{0, 2}));
}

TEST(equal_arc_ranges_test, MorePartsThanVerticesLeaveSomeEmpty) {
    const ranges cuts = equal_arc_ranges(with_degrees({1, 1, 1}), 7);
    EXPECT_EQ(cuts.size(), 8u);
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    EXPECT_EQ(cuts.front(), 0u);
    EXPECT_EQ(cuts.back(), 3u);
}

TEST(equal_arc_ranges_test, NoArcsDivideByVerticesAndNoVerticesByNothing) {
    EXPECT_EQ(equal_arc_ranges(with_degrees({0, 0, 0, 0}), 2), (ranges{0, 2, 4}));
    EXPECT_EQ(equal_arc_ranges(csr32{}, 3), (ranges{0, 0, 0, 0}));
    EXPECT_THROW((void)equal_arc_ranges(csr32{}, 0), usage_error);
}

TEST(equal_arc_ranges_test, PartsDifferByLessThanTwoGreatestDegrees) {
    const graph g = generate_kronecker({.scale = 12, .arcs = 40'000});
    const auto& csr = std::get<csr32>(g.arcs);
    std::uint64_t greatest = 0;
    for (std::uint64_t v = 0; v < csr.vertices(); ++v)
        greatest = std::max(greatest, csr.offsets[v + 1] - csr.offsets[v]);
    for (const std::uint64_t n_parts : {2u, 3u, 8u, 31u}) {
        const ranges cuts = equal_arc_ranges(csr, n_parts);
        for (std::uint64_t part = 0; part < n_parts; ++part) {
            const auto arcs = csr.offsets[cuts[part + 1]] - csr.offsets[cuts[part]];
            EXPECT_NEAR(static_cast<double>(arcs), 40'000.0 / static_cast<double>(n_parts),
                        static_cast<double>(greatest) + 1);
        }
    }
}

TEST(dealt_parts_test, PiecesGoToTheirPartsInTurn) {
    const csr32 row = with_degrees(std::vector<std::uint64_t>(48, 1));
    const std::vector<std::uint32_t> parts = dealt_parts(row, 3);
    ASSERT_EQ(parts.size(), 48u);
    for (std::size_t v = 0; v < parts.size(); ++v) EXPECT_EQ(parts[v], v / 2 % 3) << v;
    EXPECT_EQ(dealt_parts(row, 1), std::vector<std::uint32_t>(48, 0));
}

TEST(dealt_parts_test, PiecesHaveEqualArcs) {
    std::vector<std::uint64_t> degrees(40, 1);
    degrees.insert(degrees.end(), 40, 3);
    const std::vector<std::uint32_t> parts = dealt_parts(with_degrees(degrees), 2);
    std::uint64_t arcs = 0;
    for (std::size_t v = 0; v < parts.size(); ++v) arcs += parts[v] == 0 ? degrees[v] : 0;
    EXPECT_NEAR(static_cast<double>(arcs), 80, 12);
}

TEST(dealt_parts_test, FewVerticesAndNone) {
    EXPECT_EQ(dealt_parts(csr32{}, 4), std::vector<std::uint32_t>{});
    for (const std::uint32_t part : dealt_parts(with_degrees({1, 0, 1}), 4)) EXPECT_LT(part, 4u);
    EXPECT_THROW((void)dealt_parts(csr32{}, 0), usage_error);
}

TEST(order_by_part_test, EveryPartIsContiguousAndKeepsItsOrder) {
    const std::vector<std::uint32_t> parts{2, 0, 2, 0, 3};
    const auto order = order_by_part<std::uint32_t>(parts, 5);
    EXPECT_EQ(order.new_id, (std::vector<std::uint32_t>{2, 0, 3, 1, 4}));
    EXPECT_EQ(order.ranges, (ranges{0, 2, 2, 4, 5, 5}));
}

TEST(order_by_part_test, PartBeyondTheLastIsRefused) {
    const std::vector<std::uint32_t> parts{0, 2};
    EXPECT_THROW((void)order_by_part<std::uint32_t>(parts, 2), usage_error);
}

TEST(relabel_test, RowsMoveAndHeadsFollow) {
    csr32 csr;
    csr.offsets = {0, 2, 2, 3};
    csr.heads = {1, 2, 0};
    csr.weights = {10, 20, 30};
    const std::vector<std::uint32_t> new_id{2, 0, 1};
    EXPECT_EQ(test::arcs_of(relabel(csr, std::span<const std::uint32_t>(new_id))), "1>2:30 2>0:10 2>1:20");
}

TEST(relabel_test, UnweightedStaysUnweightedAndInverseRestores) {
    csr64 csr;
    csr.offsets = {0, 1, 3, 4};
    csr.heads = {2, 0, 1, 1};
    const std::vector<std::uint64_t> there{1, 2, 0}, back{2, 0, 1};
    const csr64 moved = relabel(csr, std::span<const std::uint64_t>(there));
    EXPECT_FALSE(moved.weighted());
    EXPECT_NE(test::arcs_of(moved), test::arcs_of(csr));
    EXPECT_EQ(test::arcs_of(relabel(moved, std::span<const std::uint64_t>(back))), test::arcs_of(csr));
}

TEST(relabel_test, OnlyPermutationsAreTaken) {
    const csr32 csr = with_degrees({1, 0});
    for (const std::vector<std::uint32_t>& wrong : {std::vector<std::uint32_t>{0}, {0, 0}, {0, 2}})
        EXPECT_THROW((void)relabel(csr, std::span<const std::uint32_t>(wrong)), usage_error);
}

}  // namespace
}  // namespace laneway::graph

// Long rows with their lightest arcs first: the same arcs, in another order.
#include "laneway/graph/light_first.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "laneway/graph/generate.hpp"

namespace laneway::graph {
namespace {

template <class Vertex>
std::multimap<Vertex, std::uint32_t> arcs_of(const csr_slice<Vertex>& rows, std::uint64_t row) {
    std::multimap<Vertex, std::uint32_t> arcs;
    for (std::uint64_t arc = rows.offsets[row]; arc < rows.offsets[row + 1]; ++arc) {
        arcs.emplace(rows.heads[arc], rows.weights[arc]);
    }
    return arcs;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted(const std::multimap<std::uint32_t, std::uint32_t>& arcs) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all(arcs.begin(), arcs.end());
    std::sort(all.begin(), all.end());
    return all;
}

TEST(light_first_test, LongRowsRiseAndKeepTheirArcs) {
    for (const std::uint32_t most : {1u, 200u, 1'000'000'000u}) {
        const graph g = generate_kronecker({8, 6'000, true, most, 3});
        const auto& csr = std::get<csr32>(g.arcs);
        const auto rows = slice(csr, 5, csr.vertices());
        constexpr std::uint64_t more_than = 40;
        const light_first<std::uint32_t> made(rows, more_than);
        ASSERT_EQ(made.rows().offsets, rows.offsets);
        EXPECT_EQ(made.rows().first, rows.first);
        std::uint64_t long_rows = 0;
        for (std::uint64_t row = 0; row < rows.vertices(); ++row) {
            EXPECT_EQ(sorted(arcs_of(made.rows(), row)), sorted(arcs_of(rows, row))) << "row " << row;
            const std::uint64_t first = rows.offsets[row], count = rows.offsets[row + 1] - first;
            const auto before = rows.weights.subspan(first, count), after = made.rows().weights.subspan(first, count);
            if (count <= more_than) {
                EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
                continue;
            }
            ++long_rows;
            const std::uint32_t like = *std::max_element(after.begin(), after.end()) / 128;
            for (std::size_t i = 1; i < count; ++i) EXPECT_LE(after[i - 1], after[i] + like) << "row " << row;
        }
        EXPECT_GT(long_rows, 3u);
    }
}

TEST(light_first_test, EmptySlicesAreSlicesToo) {
    const graph g = generate_kronecker({4, 0, true, 9, 3});
    const auto& csr = std::get<csr32>(g.arcs);
    EXPECT_EQ(light_first<std::uint32_t>(slice(csr, 0, 16), 4).rows().arcs(), 0u);
    EXPECT_EQ(light_first<std::uint32_t>(slice(csr, 3, 3), 4).rows().vertices(), 0u);
}

}  // namespace
}  // namespace laneway::graph

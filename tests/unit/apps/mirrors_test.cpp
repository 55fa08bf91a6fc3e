// Which vertices PEs mirror and where, against sets.
#include "graph/mirrors.hpp"

#include <gtest/gtest.h>

#include <set>

#include "graph/division.hpp"
#include "unit/apps/sample_graphs.hpp"

namespace laneway::test {

/// Checks that the values of a PE stand for the vertices that its arcs name, and that their owners know where.
inline void meets_sets(const graph::csr32& g, std::size_t pes) {
    std::vector<std::vector<std::uint32_t>> mirrors, sources, heads;
    const apps::division<std::uint32_t> owners(g, {}, pes, [&](int pe, const auto& rows, const auto& starts) {
        auto part = apps::mirror(pe, rows, starts.back(), 1'000'000);
        mirrors.push_back(std::move(part.mirrors));
        sources.push_back(std::move(part.sources));
        heads.emplace_back(rows.heads.begin(), rows.heads.end());
    });
    const auto& starts = owners.starts();
    std::set<std::vector<std::uint64_t>> told, expected;  // vertex, PE, index
    for (std::size_t pe = 0; pe < pes; ++pe) {
        std::vector<std::uint32_t> value;  // vertex of each
        for (std::uint64_t v = starts[pe]; v < starts[pe + 1]; ++v) value.push_back(static_cast<std::uint32_t>(v));
        value.insert(value.end(), mirrors[pe].begin(), mirrors[pe].end());
        ASSERT_EQ(sources[pe].size(), heads[pe].size());
        std::set<std::uint32_t> needed;
        for (std::size_t arc = 0; arc < heads[pe].size(); ++arc) {
            ASSERT_EQ(value.at(sources[pe][arc]), heads[pe][arc]) << "PE " << pe << ", arc " << arc;
            if (heads[pe][arc] < starts[pe] || heads[pe][arc] >= starts[pe + 1]) needed.insert(heads[pe][arc]);
        }
        EXPECT_EQ(mirrors[pe], std::vector<std::uint32_t>(needed.begin(), needed.end()));
        for (std::size_t i = starts[pe + 1] - starts[pe]; i < value.size(); ++i) expected.insert({value[i], pe, i});
        const apps::mirror_targets mine = apps::targets_of(pe, starts, mirrors);
        ASSERT_EQ(mine.offsets.size(), starts[pe + 1] - starts[pe] + 1);
        for (std::uint64_t row = 0; row + 1 < mine.offsets.size(); ++row) {
            for (std::uint64_t i = mine.offsets[row]; i < mine.offsets[row + 1]; ++i) {
                const apps::mirror_target& target = mine.targets[i];
                EXPECT_TRUE(told.insert({starts[pe] + row, target.pe, target.index}).second);
            }
        }
    }
    EXPECT_EQ(told, expected);
}

TEST(Mirrors, RandomGraphsMeetSets) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto graph = random_graph(seed, 300);
        meets_sets(std::get<graph::csr32>(graph.arcs), 1 + seed % 7);
        if (testing::Test::HasFailure()) return;
    }
}

TEST(Mirrors, FewVertices) {
    meets_sets(graph::csr32{}, 3);
    meets_sets(std::get<graph::csr32>(make_graph(1, {{0, 0, 1}}).arcs), 4);
    meets_sets(std::get<graph::csr32>(make_graph(2, {{0, 1, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}).arcs), 4);
}

TEST(Mirrors, MoreValuesThanFitAreRefused) {
    const auto graph = make_graph(6, {{0, 3, 1}, {1, 4, 1}, {1, 0, 1}, {2, 4, 1}});
    const auto rows = graph::slice(std::get<graph::csr32>(graph.arcs), 0, 3);
    EXPECT_EQ(apps::mirror(1, rows, 6, 5).mirrors.size(), 2u);
    try {
        (void)apps::mirror(1, rows, 6, 4);  // throws
        FAIL();
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(),
                     "PE 1 would own 3 vertices and mirror 2 of others, together more than 4: use more devices");
    }
}

}  // namespace laneway::test

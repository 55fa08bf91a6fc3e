// Trees of shortest paths against their definition, without devices.
#include <gtest/gtest.h>

#include <random>

#include "laneway/base/error.hpp"
#include "sssp/shortest_paths.hpp"
#include "unit/apps/sample_graphs.hpp"

namespace laneway::test {
namespace {

using list = std::vector<std::int64_t>;

struct searched {
    searched(const graph::graph& g, std::vector<std::uint64_t> from, bool unit = false)
        : graph(g), sources(std::move(from)), distance(apps::dijkstra(g, sources, unit)),
          before(apps::predecessors(g, distance, sources, unit)), unit_weights(unit) {}

    [[nodiscard]] bool is_source(std::uint64_t v) const {
        return std::find(sources.begin(), sources.end(), v) != sources.end();
    }

    const graph::graph& graph;
    std::vector<std::uint64_t> sources;
    list distance, before;
    bool unit_weights;
};

// The least tail of an arc above 0 that a shortest path to `v` may end with; -1 where there is none.
std::int64_t min_before(const searched& s, std::uint64_t v) {
    const auto& csr = std::get<graph::csr32>(s.graph.arcs);
    for (std::uint64_t u = 0; u < csr.vertices(); ++u) {
        for (std::uint64_t arc = csr.offsets[u]; arc < csr.offsets[u + 1]; ++arc) {
            const std::int64_t length = s.unit_weights ? 1 : csr.weight(arc);
            if (csr.heads[arc] == v && length > 0 && s.distance[u] >= 0 && s.distance[u] + length == s.distance[v])
                return static_cast<std::int64_t>(u);
        }
    }
    return -1;
}

std::int64_t min_weight(const searched& s, std::uint64_t from, std::uint64_t to) {
    const auto& csr = std::get<graph::csr32>(s.graph.arcs);
    std::int64_t least = -1;
    for (std::uint64_t arc = csr.offsets[from]; arc < csr.offsets[from + 1]; ++arc) {
        const std::int64_t length = s.unit_weights ? 1 : csr.weight(arc);
        if (csr.heads[arc] == to && (least < 0 || length < least)) least = length;
    }
    return least;
}

void expect_trees(const searched& s) {
    for (std::uint64_t v = 0; v < s.distance.size(); ++v) {
        if (s.distance[v] < 0 || s.is_source(v)) {
            EXPECT_EQ(s.before[v], -1) << "vertex " << v;
            continue;
        }
        ASSERT_GE(s.before[v], 0) << "vertex " << v;
        const auto u = static_cast<std::uint64_t>(s.before[v]);
        EXPECT_EQ(s.distance[u] + min_weight(s, u, v), s.distance[v]) << "arc " << u << " to " << v;
        const std::int64_t positive = min_before(s, v);
        if (positive >= 0) {
            EXPECT_EQ(s.before[v], positive) << "vertex " << v;
        }
        std::uint64_t root = v;
        for (std::size_t steps = 0; s.before[root] >= 0; ++steps) {
            ASSERT_LT(steps, s.distance.size()) << "a circle holds vertex " << v;
            root = static_cast<std::uint64_t>(s.before[root]);
        }
        EXPECT_TRUE(s.is_source(root)) << "vertex " << v;
    }
}

TEST(predecessors_test, TreesOfRandomGraphs) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto g = random_graph(seed, 120);
        std::mt19937_64 random(seed);
        std::vector<std::uint64_t> sources{random() % g.vertices()};
        while (random() % 3 != 0) sources.push_back(random() % g.vertices());
        expect_trees({g, sources, seed % 3 == 2});
        if (HasFailure()) return;
    }
}

TEST(predecessors_test, ArcsOfWeight0CloseNoCircle) {
    const auto ring = make_graph(6, {{0, 1, 5}, {1, 2, 0}, {2, 3, 0}, {3, 1, 0}, {3, 4, 0}, {4, 4, 0}, {2, 0, 0}});
    EXPECT_EQ(searched(ring, {0}).before, (list{-1, 0, 1, 2, 3, -1}));
    const auto sources = make_graph(4, {{0, 1, 0}, {1, 0, 0}, {1, 2, 0}, {0, 2, 0}, {2, 3, 0}, {3, 2, 0}});
    EXPECT_EQ(searched(sources, {1, 0}).before, (list{-1, -1, 0, 2})) << "the least of two as near";
    EXPECT_EQ(searched(sources, {1}).before, (list{1, -1, 1, 2}));
    EXPECT_EQ(searched(sources, {1}, true).before, (list{1, -1, 1, 2}));
}

TEST(predecessors_test, TheLeastTailWinsWhateverThreadIsFirst) {
    constexpr std::uint32_t n = 5000, layers = 700;
    std::vector<arc> arcs;
    for (std::uint32_t v = 1; v < n; ++v) arcs.push_back({0, v, 3});
    for (std::uint32_t v = n; v-- > 1;) {
        for (std::uint32_t i = 0; i < layers; ++i) arcs.push_back({v, n + i, 2});
    }
    const auto g = make_graph(n + layers, arcs);
    ASSERT_GT(g.arc_count(), std::uint64_t{3} << 20) << "too few for several threads";
    const searched s(g, {0});
    for (std::uint32_t i = 0; i < layers; ++i) ASSERT_EQ(s.before[n + i], 1);
}

TEST(predecessors_test, WideVerticesAndWrongUse) {
    const auto wide = make_graph<std::uint64_t>(3, {{2, 1, 4}, {1, 0, 0}});
    EXPECT_EQ(searched(wide, {2}).before, (list{1, 2, -1}));
    EXPECT_THROW((void)apps::predecessors(wide, list{0, 0}, std::vector<std::uint64_t>{0}, false), usage_error);
    EXPECT_THROW((void)apps::predecessors(wide, list{0, 0, 0}, std::vector<std::uint64_t>{3}, false), usage_error);
}

}  // namespace
}  // namespace laneway::test

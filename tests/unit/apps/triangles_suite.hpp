// Triangles and clustering over many devices against marking neighbours on the host.
#pragma once

#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "triangles/triangles.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

inline void counts_triangles(const graph::graph& g, const options& job) {
    const auto expected = apps::triangles_by_marking(g);
    const auto result = apps::triangles(g, job);
    EXPECT_EQ(result.triangles, expected.triangles);
    EXPECT_EQ(result.total, expected.total);
    const auto coefficients = apps::clustering_by_marking(g);
    const auto clustering = apps::local_clustering(g, job);
    EXPECT_EQ(clustering.coefficient, coefficients.coefficient);
    EXPECT_EQ(clustering.average, coefficients.average);
}

/// Arcs between all vertices below n, each way or one way.
inline std::vector<arc> complete(std::uint64_t n, bool each_way) {
    std::vector<arc> arcs;
    for (std::uint64_t v = 0; v < n; ++v) {
        for (std::uint64_t other = 0; other < n; ++other) {
            if (each_way ? v != other : v < other) arcs.push_back({v, other, 1});
        }
    }
    return arcs;
}

class triangles_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job(std::uint64_t round = 2) const {
        options o = options_of(GetParam(), round);
        o.timeout_seconds = 60;
        if (o.chunk_bytes != 0) o.chunk_bytes = std::max<std::size_t>(o.chunk_bytes, 64);
        return o;
    }
};

TEST_P(triangles_test, RandomGraphs) {
    const std::uint64_t rounds = std::min<std::uint64_t>(200, rounds_of(GetParam()));
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        ASSERT_NO_THROW(counts_triangles(random_graph(round, is_checked(GetParam()) ? 10 : 60), job(round)));
        if (HasFailure()) return;
    }
}

TEST_P(triangles_test, OddGraphs) {
    counts_triangles(make_graph(0, {}), job());
    counts_triangles(make_graph(1, {}), job());
    counts_triangles(make_graph(4, {}), job());
    counts_triangles(make_graph(3, {{2, 2, 1}, {1, 1, 1}, {1, 2, 1}}), job());
    counts_triangles(make_graph<std::uint64_t>(4, {{3, 1, 1}, {1, 2, 1}, {2, 3, 1}, {0, 3, 1}, {3, 0, 1}}), job());
}

// In a complete graph every two others are joined; with one direction only, half of the arcs that could are there.
TEST_P(triangles_test, CompleteGraphs) {
    const std::uint64_t n = is_checked(GetParam()) ? 36 : 120;  // rows of more arcs than a lane takes
    const auto g = make_graph(n, complete(n, true));
    counts_triangles(g, job());
    const auto result = apps::triangles(g, job());
    EXPECT_EQ(result.total, n * (n - 1) * (n - 2) / 6);
    EXPECT_EQ(result.triangles.front(), (n - 1) * (n - 2) / 2);
    EXPECT_EQ(apps::local_clustering(g, job()).average, 1.0);
    const auto one_way = make_graph(n, complete(n, false));
    counts_triangles(one_way, job());
    EXPECT_EQ(apps::local_clustering(one_way, job()).average, 0.5);
}

// Direction, parallel arcs and self-loops: of vertex 0 with neighbours 1, 2, 3, arcs 1 -> 2, 2 -> 1 and 2 -> 3 of 6.
TEST_P(triangles_test, ArcsAmongNeighbours) {
    const auto g = make_graph(
        4, {{0, 1, 1}, {2, 0, 1}, {0, 3, 1}, {1, 2, 1}, {2, 1, 1}, {2, 3, 1}, {2, 3, 1}, {0, 0, 1}, {3, 3, 1}});
    EXPECT_EQ(apps::local_clustering(g, job()).coefficient[0], 0.5);
    EXPECT_EQ(apps::triangles(g, job()).triangles, (std::vector<std::uint64_t>{2, 1, 2, 1}));
}

/// Larger graphs, without the checked mode: a scheduler's step for each atomic would take minutes.
class triangles_graphs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job() const {
        options o;
        o.devices = GetParam();
        return o;
    }
};

TEST_P(triangles_graphs_test, Kronecker) {
    counts_triangles(graph::generate_kronecker({12, 30'000, false, 255, 7}), job());
    counts_triangles(graph::generate_kronecker({11, 100'000, true, 255, 7}), job());
}

TEST_P(triangles_graphs_test, WideStar) {
    constexpr std::uint64_t leaves = 1'000'000;
    std::vector<arc> star{{1, 2, 1}};
    for (std::uint64_t leaf = 1; leaf <= leaves; ++leaf) star.push_back({0, leaf, 1});
    const auto result = apps::triangles(make_graph(leaves + 1, star), job());
    EXPECT_EQ(result.total, 1u);
    EXPECT_EQ(result.triangles[2], 1u);
    EXPECT_EQ(result.triangles[3], 0u);
}

// Warps look whether the run is ending when they take the next piece.
TEST_P(triangles_graphs_test, LeavesAtTheDeadline) {
    if (GetParam().find("cuda") != std::string::npos) GTEST_SKIP() << "a GPU is through before";
    const auto g = make_graph(2500, complete(2500, false));
    options o = job();
    o.timeout_seconds = 0.1;
    const std::string said = thrown<timeout_error>([&] { (void)apps::triangles(g, o); });
    EXPECT_EQ(said.find("told to stop"), std::string::npos) << said;
}

// Counts that SNAP publishes.
TEST_P(triangles_graphs_test, PublishedCounts) {
    for (const auto& [name, total] :
         {std::pair("graphs/soc-Slashdot0902.txt.gz", 602'592u), std::pair("graphs/wiki-Vote.txt.gz", 608'389u),
          std::pair("graphs/facebook_combined.txt.gz", 1'612'010u)}) {
        LANEWAY_NEED_SHARED_DATA(file, name);
        EXPECT_EQ(apps::triangles(graph::read_graph(file), job()).total, total) << name;
    }
}

LANEWAY_ON_DEVICES(triangles_test, program_lists());
LANEWAY_ON_DEVICES(triangles_graphs_test, device_lists(1, false));

}  // namespace laneway::test

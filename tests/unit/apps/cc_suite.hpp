// Connected components over many devices against union and find on the host.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "cc/cc.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

/// Arcs of a path through all vertices, in an order that the seed shuffles.
inline std::vector<arc> path_of(std::uint64_t vertices, std::uint64_t seed) {
    std::vector<std::uint64_t> order(vertices);
    std::iota(order.begin(), order.end(), 0);
    if (seed != 0) std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    std::vector<arc> arcs;
    for (std::uint64_t i = 1; i < vertices; ++i) arcs.push_back({order[i - 1], order[i], 1});
    return arcs;
}

inline std::vector<arc> star_of(std::uint64_t leaves, std::uint64_t hub) {
    std::vector<arc> arcs;
    for (std::uint64_t leaf = 0; leaf < leaves; ++leaf) arcs.push_back({hub, leaf, 1});
    return arcs;
}

inline void finds_components(const graph::graph& g, const apps::cc_options& o) {
    const auto expected = apps::components_by_union_find(g);
    const auto result = apps::connected_components(g, o);
    EXPECT_EQ(result.component, expected.component);
    EXPECT_EQ(result.components, expected.components);
}

class cc_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::cc_options job(std::uint64_t round = 2) const {
        apps::cc_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        if (o.job.chunk_bytes != 0) o.job.chunk_bytes = std::max<std::size_t>(o.job.chunk_bytes, 64);
        return o;
    }
};

TEST_P(cc_test, RandomGraphs) {
    const std::uint64_t rounds = std::min<std::uint64_t>(300, rounds_of(GetParam()));
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        apps::cc_options o = job(round);
        ASSERT_NO_THROW(finds_components(random_graph(round, is_checked(GetParam()) ? 24 : 500), o));
        if (HasFailure()) return;
    }
}

TEST_P(cc_test, OddGraphs) {
    finds_components(make_graph(0, {}), job());
    finds_components(make_graph(1, {}), job());
    finds_components(make_graph(5, {}), job());
    finds_components(make_graph(3, {{2, 2, 1}, {1, 1, 1}}), job());
    finds_components(make_graph(4, {{3, 0, 1}, {3, 0, 1}}), job());
    finds_components(make_graph<std::uint64_t>(6, {{5, 1, 1}, {4, 2, 1}, {0, 3, 1}, {3, 5, 1}}), job());
}

// The same component through whose vertices a worker goes up, down and at random.
TEST_P(cc_test, PathsAndStars) {
    const std::uint64_t n = is_checked(GetParam()) ? 20 : 3000;
    for (const std::uint64_t seed : {0, 1, 2}) finds_components(make_graph(n, path_of(n, seed)), job());
    for (const std::uint64_t hub : {std::uint64_t{0}, n / 2, n - 1}) {
        finds_components(make_graph(n, star_of(n, hub)), job());
    }
    finds_components(make_graph<std::uint64_t>(n, path_of(n, 2)), job());
    finds_components(make_graph<std::uint64_t>(n, star_of(n, n / 2)), job());
}

// Where each look at another PE's memory takes a call, a lane that has many rows does not look at their hub or their
// root for each of them.
TEST_P(cc_test, HubsAndRootsAreNotLookedAtAgain) {
    if (GetParam().find("cuda") != std::string::npos) GTEST_SKIP() << "a lane of a GPU has few rows";
    // Of the few rows that a lane of a checked device has, more are its first ones.
    const std::uint64_t n = is_checked(GetParam()) ? 120 : 3000, most = is_checked(GetParam()) ? n * 5 / 6 : n / 2;
    apps::cc_options o = job();
    o.job.path = path::aggregated;
    for (const auto& arcs : {path_of(n, 0), star_of(n, n / 2)}) {
        EXPECT_LT(apps::connected_components(make_graph(n, arcs), o).report.carried, most);
    }
}

// Two components of like size, of even and of odd vertices, then joined by one arc behind three others of either end:
// only what follows the sampling finds it.
TEST_P(cc_test, ArcsBehindTheSampledOnes) {
    const std::uint64_t n = is_checked(GetParam()) ? 12 : 400;
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < 2 * n; ++i) {
        for (const std::uint64_t step : {2, 4, 6}) arcs.push_back({i, (i + step) % (2 * n), 1});
    }
    EXPECT_EQ(apps::connected_components(make_graph(2 * n, arcs), job()).components, 2u);
    arcs.push_back({n, n + 1, 1});
    EXPECT_EQ(apps::connected_components(make_graph(2 * n, arcs), job()).components, 1u);
}

TEST_P(cc_test, Parts) {
    const auto g = random_graph(11, 60);
    apps::cc_options o = job();
    const auto n_pes = static_cast<std::uint32_t>(machine(GetParam()).n_pes());
    for (std::uint64_t v = 0; v < g.vertices(); ++v) o.parts.push_back(static_cast<std::uint32_t>(v * 7 % n_pes));
    finds_components(g, o);
    o.parts.pop_back();
    EXPECT_THROW((void)apps::connected_components(g, o), usage_error);
}

/// Larger graphs, without the checked mode: a scheduler's step for each atomic would take minutes.
class cc_graphs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::cc_options job() const {
        apps::cc_options o;
        o.job.devices = GetParam();
        return o;
    }
};

TEST_P(cc_graphs_test, Kronecker) {
    finds_components(graph::generate_kronecker({12, 30'000, false, 255, 7}), job());
    finds_components(graph::generate_kronecker({12, 300'000, false, 255, 7}), job());
}

TEST_P(cc_graphs_test, LongPathsAndWideStars) {
    const std::uint64_t n = 1'000'000;
    // The lone lane of a CPU device changes words of a GPU one after the other, each there and back over the host.
    const std::uint64_t shuffled = GetParam() == "cuda:0,cpu:1" ? 50'000 : n;
    finds_components(make_graph(n, path_of(n, 0)), job());
    finds_components(make_graph(shuffled, path_of(shuffled, 3)), job());
    finds_components(make_graph(n, star_of(n, n / 3)), job());
}

TEST_P(cc_graphs_test, NewYork) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/USA-road-d.NY.gr.gz");
    const auto g = graph::read_graph(file);
    finds_components(g, job());
    EXPECT_EQ(apps::connected_components(g, job()).components, 1u);
}

TEST_P(cc_graphs_test, Slashdot) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/soc-Slashdot0902.txt.gz");
    finds_components(graph::read_graph(file), job());
}

LANEWAY_ON_DEVICES(cc_test, program_lists());
LANEWAY_ON_DEVICES(cc_graphs_test, device_lists(1, false));

}  // namespace laneway::test

// Breadth-first search by levels against Dijkstra's algorithm on the host.
#pragma once

#include "bfs/bfs.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "sssp/shortest_paths.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"
#include "workspace/resident_graph.hpp"
#include "workspace/workspace.hpp"

namespace laneway::test {

inline apps::bfs_result finds_levels(const graph::graph& g, const std::vector<std::uint64_t>& sources,
                                     const apps::bfs_options& o) {
    const auto expected = apps::dijkstra(g, sources, true);
    auto result = apps::bfs_by_levels(g, sources, o);
    EXPECT_EQ(result.distance, expected);
    EXPECT_EQ(result.reached, static_cast<std::uint64_t>(
                                  std::count_if(expected.begin(), expected.end(), [](auto d) { return d >= 0; })));
    EXPECT_LE(result.pulled, result.levels);
    EXPECT_TRUE(o.pull || result.pulled == 0);
    return result;
}

class bfs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::bfs_options job(std::uint64_t round = 2) const {
        apps::bfs_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 20;
        if (o.job.chunk_bytes != 0) o.job.chunk_bytes = std::max<std::size_t>(o.job.chunk_bytes, 64);
        o.pull = round % 3 != 0;
        return o;
    }
};

TEST_P(bfs_test, RandomGraphs) {
    const auto pes = static_cast<std::uint64_t>(machine(GetParam()).n_pes());
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(200, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 24 : 400);
        apps::bfs_options o = job(round);
        if (round % 4 == 1) {
            for (std::uint64_t v = 0; v < g.vertices(); ++v) o.parts.push_back(static_cast<std::uint32_t>(v % pes));
        }
        const std::uint64_t last = g.vertices() - 1;
        const auto sources = round % 5 == 2 ? std::vector<std::uint64_t>{0, last, last} : std::vector{last / 2};
        ASSERT_NO_THROW(finds_levels(g, sources, o));
        if (HasFailure()) return;
    }
}

TEST_P(bfs_test, OddGraphs) {
    finds_levels(make_graph(1, {}), {0}, job());
    finds_levels(make_graph(4, {}), {3}, job());
    finds_levels(make_graph(3, {{2, 2, 1}, {1, 1, 1}, {1, 2, 1}}), {1}, job());
    finds_levels(make_graph<std::uint64_t>(6, {{5, 1, 1}, {1, 2, 1}, {0, 3, 1}, {3, 5, 1}}), {0}, job());
    EXPECT_THROW((void)apps::bfs_by_levels(make_graph(3, {}), std::vector<std::uint64_t>{}, job()), usage_error);
    EXPECT_THROW((void)apps::bfs_by_levels(make_graph(3, {}), std::vector<std::uint64_t>{3}, job()), usage_error);
}

// Two stars whose hubs are joined by a path: levels with many arcs, then few, then many. Pulling begins twice.
TEST_P(bfs_test, PullsAgainAfterPushing) {
    const std::uint64_t leaves = is_checked(GetParam()) ? 12 : 2000;
    for (const bool back : {true, false}) {
        std::vector<arc> arcs;
        const auto join = [&](std::uint64_t from, std::uint64_t to) {
            arcs.push_back({from, to, 1});
            if (back) arcs.push_back({to, from, 1});
        };
        const std::uint64_t first = 0, path = leaves + 1, last = path + 4;
        for (std::uint64_t i = 1; i <= leaves; ++i) join(first, i);
        join(leaves, path);
        for (std::uint64_t i = path; i < last; ++i) join(i, i + 1);
        for (std::uint64_t i = 1; i <= 4 * leaves; ++i) join(last, last + i);
        const auto g = make_graph(last + 4 * leaves + 1, arcs);
        apps::bfs_options o = job();
        const auto result = finds_levels(g, {first}, o);
        EXPECT_GE(result.pulled, 2u);
        EXPECT_LE(result.pulled + 3, result.levels);
        o.pull = false;
        finds_levels(g, {first}, o);
    }
}

/// Larger graphs, without the checked mode: a scheduler's step for each atomic would take minutes.
class bfs_graphs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::bfs_options job() const {
        apps::bfs_options o;
        o.job.devices = GetParam();
        return o;
    }
};

TEST_P(bfs_graphs_test, Kronecker) {
    const auto g = graph::generate_kronecker({13, 200'000, false, 255, 7});
    const auto result = finds_levels(g, {1}, job());
    EXPECT_GT(result.pulled, 0u);
    EXPECT_LT(result.levels, 12u);
    finds_levels(graph::generate_kronecker({12, 100'000, true, 255, 7}), {5}, job());
}

// Rows with more arcs than a warp pushes alone, and others, in the same level; a search begins anew with none noted.
TEST_P(bfs_graphs_test, HubsArePushedByAllWarps) {
    std::vector<arc> arcs;
    const std::uint64_t leaves = 9'000, hubs = 3;
    for (std::uint64_t h = 0; h < hubs; ++h) {
        arcs.push_back({0, 1 + h, 1});
        for (std::uint64_t i = 0; i < leaves; ++i) arcs.push_back({1 + h, 1 + hubs + h * leaves + i, 1});
    }
    arcs.push_back({0, 1 + hubs + 5, 1});
    arcs.push_back({1 + hubs + 7, 1 + hubs + hubs * leaves, 1});
    const auto g = make_graph(2 + hubs + hubs * leaves, arcs);
    apps::bfs_options o = job();
    o.pull = false;
    for (const std::uint64_t source : {0u, 2u}) finds_levels(g, {source}, o);
    apps::workspace space(o.job);
    apps::resident_graph kept(space, g);
    for (int repeat = 0; repeat < 2; ++repeat) {
        const auto result = apps::bfs_by_levels(kept, std::vector<std::uint64_t>{0}, o);
        EXPECT_EQ(result.reached, g.vertices());
        EXPECT_EQ(result.distance, apps::dijkstra(g, std::vector<std::uint64_t>{0}, true));
    }
}

TEST_P(bfs_graphs_test, LongPath) {
    std::vector<arc> path;
    for (std::uint64_t v = 1; v < 20'000; ++v) path.push_back({v - 1, v, 1});
    EXPECT_EQ(finds_levels(make_graph(20'000, path), {0}, job()).levels, 19'999u);
}

TEST_P(bfs_graphs_test, NewYork) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/USA-road-d.NY.gr.gz");
    finds_levels(graph::read_graph(file), {99'999}, job());
}

LANEWAY_ON_DEVICES(bfs_test, program_lists());
LANEWAY_ON_DEVICES(bfs_graphs_test, device_lists(1, false));

}  // namespace laneway::test

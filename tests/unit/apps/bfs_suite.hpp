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
        o.job.timeout_seconds = 60;
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
    for (std::uint64_t v = 1; v < 5'000; ++v) path.push_back({v - 1, v, 1});
    EXPECT_EQ(finds_levels(make_graph(5'000, path), {0}, job()).levels, 4'999u);
}

// The same distances whichever way is taken, and the way that suits the graph.
TEST_P(bfs_graphs_test, ChoosesTheMethod) {
    const auto takes = [&](const graph::graph& g, const apps::bfs_options& o) {
        const std::vector<std::uint64_t> sources{1};
        const auto result = apps::bfs(g, sources, o);
        const auto expected = apps::dijkstra(g, sources, true);
        EXPECT_EQ(result.distance, expected);
        EXPECT_EQ(result.reached, static_cast<std::uint64_t>(
                                      std::count_if(expected.begin(), expected.end(), [](auto d) { return d >= 0; })));
        EXPECT_GE(result.items, result.reached);
        EXPECT_EQ(result.levels > 0, result.method == apps::bfs_method::levels);
        return result.method;
    };
    const auto crowd = graph::generate_kronecker({12, 150'000, false, 255, 7});
    const auto town = graph::generate_grid({.width = 60, .height = 50, .keep = 1});
    apps::bfs_options o = job();
    EXPECT_EQ(takes(crowd, o), apps::bfs_method::levels);
    EXPECT_EQ(takes(town, o), apps::bfs_method::asynchronous);
    o.method = apps::bfs_method::levels;
    EXPECT_EQ(takes(town, o), apps::bfs_method::levels);
    o.delta = 2;
    EXPECT_THROW((void)apps::bfs(crowd, std::vector<std::uint64_t>{1}, o), usage_error);
    o.method = apps::bfs_method::automatic;
    EXPECT_EQ(takes(crowd, o), apps::bfs_method::asynchronous);
    o.delta.reset();
    o.fused = false;
    EXPECT_EQ(takes(crowd, o), apps::bfs_method::asynchronous);
    o.pull = false;
    EXPECT_THROW((void)apps::bfs(crowd, std::vector<std::uint64_t>{1}, o), usage_error);
    o.fused = true;
    EXPECT_EQ(takes(town, o), apps::bfs_method::levels);
    o.method = apps::bfs_method::asynchronous;
    EXPECT_THROW((void)apps::bfs(crowd, std::vector<std::uint64_t>{1}, o), usage_error);
}

TEST(BfsMethod, SuitsTheGraph) {
    const auto levels = [](const apps::degrees& of, int n_pes) {
        return apps::suitable_method(of, n_pes) == apps::bfs_method::levels;
    };
    EXPECT_FALSE(levels({}, 1));
    EXPECT_TRUE(levels({1 << 21, 180'000'000, 200'000, 60'000'000, 200'000}, 1)) << "a Kronecker graph";
    EXPECT_TRUE(levels({1 << 21, 180'000'000, 200'000, 60'000'000, 200'000}, 2));
    EXPECT_TRUE(levels({1 << 24, 16u << 24, 42, 0, 1 << 21}, 1)) << "arcs at random";
    EXPECT_FALSE(levels({264'346, 733'846, 8}, 1)) << "roads";
    EXPECT_FALSE(levels({24'000'000, 95'980'000, 4}, 1)) << "a grid";
    EXPECT_FALSE(levels({1'000'000, 26'000'000, 26}, 1)) << "a grid of three dimensions";
    EXPECT_TRUE(levels({62'586, 147'892, 78, 9'000, 9'000}, 1)) << "a sparse network with hubs";
    EXPECT_FALSE(levels({62'586, 147'892, 78, 9'000, 9'000}, 4)) << "whose barriers cost more";
    const std::uint64_t all = std::uint64_t{1} << 37;
    EXPECT_FALSE(levels({std::uint64_t{1} << 33, all, apps::max_level_arcs + 1, all, 1}, 1));
}

TEST(BfsMethod, OneHubDoesNotDecide) {
    const auto suits = [](const graph::graph& g, int n_pes = 1) {
        return apps::suitable_method(apps::degrees_of(g), n_pes);
    };
    std::vector<arc> arcs;  // both ways, on a torus with some rows for neighbours, and one hub among them
    const std::uint64_t n = 40'000, side = 200;
    const auto join = [&](std::uint64_t v, std::uint64_t w) {
        arcs.push_back({v, w, 1});
        arcs.push_back({w, v, 1});
    };
    for (const std::uint64_t reach : {std::uint64_t{1}, std::uint64_t{4}}) {
        arcs.clear();
        for (std::uint64_t v = 0; v < n; ++v) {
            for (std::uint64_t k = 1; k <= reach; ++k) {
                join(v, (v + k) % n);
                join(v, (v + k * side) % n);
            }
        }
        for (std::uint64_t i = 0; i < 1'000; ++i) join(0, 20 * side + i * 7);
        EXPECT_EQ(suits(make_graph(n, arcs)), apps::bfs_method::asynchronous) << reach;
    }
    const auto crowd = graph::generate_kronecker({12, 150'000, false, 255, 7});
    EXPECT_EQ(suits(crowd), apps::bfs_method::levels);
    EXPECT_EQ(suits(crowd, 2), apps::bfs_method::levels);
    std::mt19937_64 random(5);
    arcs.clear();
    for (std::uint64_t i = 0; i < 8 * n; ++i) join(random() % n, random() % n);
    EXPECT_EQ(suits(make_graph(n, arcs)), apps::bfs_method::levels) << "arcs at random";
}

TEST_P(bfs_graphs_test, NewYork) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/USA-road-d.NY.gr.gz");
    finds_levels(graph::read_graph(file), {99'999}, job());
}

LANEWAY_ON_DEVICES(bfs_test, program_lists());
LANEWAY_ON_DEVICES(bfs_graphs_test, device_lists(1, false));

}  // namespace laneway::test

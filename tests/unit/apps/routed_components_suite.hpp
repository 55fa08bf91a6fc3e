// Connected components of arcs that a router deals out, against union and find on the host.
#pragma once

#include <numeric>

#include "cc/routed_components.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/flow/dataflow_job.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

class routed_components_test : public testing::TestWithParam<std::string> {
protected:
    /// In packets of so many bytes.
    [[nodiscard]] apps::routed_components_options job(std::size_t packet_bytes, std::uint64_t round = 2) const {
        return {dataflow_options(GetParam(), round), packet_bytes, 1 + static_cast<int>(round % 3)};
    }
};

inline apps::cc_result routes_components(const graph::graph& g, const apps::routed_components_options& o) {
    const auto expected = apps::components_by_union_find(g);
    auto result = apps::components_by_router(g, o);
    EXPECT_EQ(result.component, expected.component);
    EXPECT_EQ(result.components, expected.components);
    return result;
}

TEST_P(routed_components_test, RandomGraphs) {
    dataflow_rounds(GetParam(), [&](const options& o) {
        const std::size_t packets[] = {16, 100, 4096, 0};
        for (std::uint64_t seed = 4 * o.seed; seed < 4 * o.seed + 4; ++seed) {
            routes_components(random_graph(seed, is_checked(GetParam()) ? 24 : 500), job(packets[seed % 4], o.seed));
        }
    });
}

TEST_P(routed_components_test, OddGraphs) {
    routes_components(make_graph(0, {}), job(64));
    routes_components(make_graph(1, {}), job(64));
    routes_components(make_graph(5, {}), job(64));
    routes_components(make_graph(3, {{2, 2, 1}, {1, 1, 1}}), job(64));
    routes_components(make_graph(4, {{3, 0, 1}, {3, 0, 1}}), job(64));
    routes_components(make_graph<std::uint64_t>(6, {{5, 1, 1}, {4, 2, 1}, {0, 3, 1}, {3, 5, 1}}), job(64));
}

// A forest that is all height, and one whose lanes all want the same word.
TEST_P(routed_components_test, PathsAndStars) {
    const std::uint64_t n = is_checked(GetParam()) ? 20 : 3000;
    std::vector<arc> up, down, star;
    for (std::uint64_t i = 1; i < n; ++i) {
        up.push_back({i - 1, i, 1});
        down.push_back({n - i, n - i - 1, 1});
        star.push_back({n / 2, i, 1});
    }
    for (const auto& arcs : {up, down, star}) routes_components(make_graph(n, arcs), job(128));
}

TEST_P(routed_components_test, EachArcCountsOnceAndLoopsDoNot) {
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < 40; ++i) arcs.push_back({i, i ^ 1, 1});
    arcs.push_back({7, 7, 1});
    const auto result = routes_components(make_graph(40, arcs), job(32));
    const auto& report = result.report;
    const std::uint64_t n = report.devices.size();
    EXPECT_EQ(report.posted, 40 + 40 * n) << "arcs, then a forest of each device's";
    EXPECT_EQ(report.carried, report.posted);
    EXPECT_EQ(report.bytes(), 40 * 8 + 40 * n * 4);
    const std::uint64_t full = 40 / 4 + n * 40 / 8;
    EXPECT_GE(report.chunks(), full);
    EXPECT_LE(report.chunks(), full + 7) << "eight threads of the host at most have a packet that is not full";
    for (std::uint64_t from = 1; from < n; ++from) {
        EXPECT_EQ(report.traffic_matrix[from * n + (from & (from - 1))].messages, 40u) << from;
    }
    for (const std::uint64_t bytes : report.device_bytes) EXPECT_GE(bytes, 40 * 4u) << "a word a vertex";
    for (const std::uint64_t bytes : report.buffer_bytes) EXPECT_EQ(bytes, 2 * 3 * 32u);
}

TEST_P(routed_components_test, AWorkspaceDoesItAgain) {
    apps::workspace devices(dataflow_options(GetParam(), 0));
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const auto g = random_graph(seed, is_checked(GetParam()) ? 24 : 300);
        EXPECT_EQ(apps::components_by_router(devices, g, {{}, 64, 2}).component,
                  apps::components_by_union_find(g).component);
    }
}

TEST_P(routed_components_test, WrongSizesAreRefused) {
    const auto g = random_graph(1, 40);
    const auto refused = [&](const apps::routed_components_options& o) {
        return thrown<usage_error>([&] { (void)apps::components_by_router(g, o); });
    };
    EXPECT_EQ(refused(job(7)), "packet_bytes must be at least 8 bytes, an arc's");
    auto o = job(64);
    o.buffers = 0;
    EXPECT_EQ(refused(o), "buffers must be above 0");
    o = job(1000);
    o.job.buffer_bytes = 5999;
    EXPECT_EQ(refused(o), "packet_bytes: 6 packets of 1000 bytes on a device do not fit into 5999 bytes of buffers");
    o.job.buffer_bytes = 6000;
    routes_components(g, o);
    o.packet_bytes = 0;
    routes_components(g, o);
    o.job.buffer_bytes = 47;
    EXPECT_EQ(refused(o), "buffer_bytes = 47 is too little: a packet takes at least 8 bytes, an arc's");
}

/// Larger graphs, without the checked mode.
class routed_graphs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::routed_components_options job() const { return {dataflow_options(GetParam(), 2)}; }
};

TEST_P(routed_graphs_test, Kronecker) {
    routes_components(graph::generate_kronecker({12, 30'000, false, 255, 7}), job());
    routes_components(graph::generate_kronecker({12, 300'000, false, 255, 7}), job());
}

TEST_P(routed_graphs_test, LongPathsAndWideStars) {
    const std::uint64_t n = 1'000'000;
    std::vector<arc> path, star;
    for (std::uint64_t i = 1; i < n; ++i) {
        path.push_back({i, i - 1, 1});
        star.push_back({n / 3, i, 1});
    }
    for (const auto& arcs : {path, star}) routes_components(make_graph(n, arcs), job());
}

TEST_P(routed_graphs_test, NewYork) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/USA-road-d.NY.gr.gz");
    EXPECT_EQ(routes_components(graph::read_graph(file), job()).components, 1u);
}

// A deadline is looked at by who waits, and a run need not wait so long: then it ends as any other.
TEST_P(routed_graphs_test, ADeadlineThatPassesEndsTheRun) {
    auto o = job();
    o.job.timeout_seconds = 1e-9;
    o.packet_bytes = 64;
    const auto g = graph::generate_kronecker({10, 30'000, false, 255, 7});
    bool late = false;
    for (int round = 0; round < 200 && !late; ++round) {
        try {
            routes_components(g, o);
        } catch (const timeout_error& e) {
            late = std::string(e.what()).find("within 1e-09 s") != std::string::npos;
            EXPECT_TRUE(late) << e.what();
        }
    }
    EXPECT_TRUE(late);
}

LANEWAY_ON_DEVICES(routed_components_test, to_four(program_lists()));
LANEWAY_ON_DEVICES(routed_graphs_test, device_lists(1, false));

}  // namespace laneway::test

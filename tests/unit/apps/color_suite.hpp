// Graph colouring over many devices against colouring vertex by vertex.
#pragma once

#include "color/color.hpp"
#include "color/order.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

/// That no arc joins two vertices of one colour.
inline void expect_proper(const graph::graph& graph, const std::vector<std::uint32_t>& color) {
    std::visit(
        [&](const auto& g) {
            for (std::uint64_t v = 0; v < g.vertices(); ++v) {
                for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
                    if (g.heads[arc] == v) continue;
                    ASSERT_NE(color[v], color[g.heads[arc]]) << "vertices " << v << " and " << g.heads[arc];
                }
            }
        },
        graph.arcs);
}

inline apps::color_result meets_greedy(const graph::graph& g, const apps::color_options& o) {
    const auto expected = apps::color_greedily(g, o.order);
    auto result = apps::color(g, o);
    EXPECT_EQ(result.color, expected.color);
    expect_proper(g, result.color);
    const auto most = std::max_element(result.color.begin(), result.color.end());
    EXPECT_EQ(result.colors, most == result.color.end() ? 0 : *most + 1);
    if (expected.longest_chain > 1) {
        EXPECT_EQ(result.rounds, expected.longest_chain);  // vertices tell in the first round in which they can
    } else {
        EXPECT_LE(result.rounds, 1u);
    }
    EXPECT_EQ(result.report.posted, result.report.direct + result.report.carried);
    EXPECT_EQ(result.report.carried, result.report.served);
    return result;
}

class color_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::color_options job(std::uint64_t round = 2) const {
        apps::color_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        return o;
    }
};

TEST_P(color_test, RandomGraphsMeetGreedy) {
    const auto pes = static_cast<std::uint64_t>(machine(GetParam()).n_pes());
    for (std::uint64_t round = 0; round < rounds_of(GetParam()); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 16 : 400);
        apps::color_options o = job(round);
        o.order = round;
        if (round % 4 == 1) {
            for (std::uint64_t v = 0; v < g.vertices(); ++v) o.parts.push_back(static_cast<std::uint32_t>(v % pes));
        }
        ASSERT_NO_THROW(meets_greedy(g, o));
        if (HasFailure()) return;
    }
}

TEST_P(color_test, AnyPartitionGivesTheSame) {
    const auto g = random_graph(1, 300);
    const auto pes = static_cast<std::uint32_t>(machine(GetParam()).n_pes());
    for (std::uint32_t way = 0; way < 3; ++way) {
        apps::color_options o = job();
        for (std::uint32_t v = 0; v < g.vertices(); ++v) {
            const std::uint32_t part[] = {v % pes, pes - 1, v * 2654435761u >> 8};
            o.parts.push_back(part[way] % pes);
        }
        meets_greedy(g, o);
    }
}

// Colours over 32 take several words of a slate, and a hub's arcs several entries of the list.
TEST_P(color_test, CliquesAndHubs) {
    const std::uint32_t most = is_checked(GetParam()) ? 40 : 100;
    std::vector<arc> arcs;
    for (std::uint32_t v = 0; v < most; ++v) {
        for (std::uint32_t u = 0; u < v; ++u) arcs.push_back({v, u, 1});
    }
    for (std::uint32_t leaf = 0; leaf < 1200; ++leaf) arcs.push_back({leaf % 3, most + leaf, 1});
    const auto result = meets_greedy(make_graph(most + 1200, arcs), job());
    EXPECT_EQ(result.colors, most);
}

// Rounds follow each other closely: one vertex of a clique chooses in each, on another PE than the last.
TEST_P(color_test, LongChainsInAnyInterleaving) {
    constexpr std::uint32_t clique = 5, leaves = 4;
    std::vector<arc> arcs;
    for (std::uint32_t v = 0; v < clique; ++v) {
        for (std::uint32_t u = 0; u < v; ++u) arcs.push_back({v, u, 1});
        for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) arcs.push_back({v, clique + v * leaves + leaf, 1});
    }
    const auto g = make_graph(clique * (leaves + 1), arcs);
    const auto pes = static_cast<std::uint32_t>(machine(GetParam()).n_pes());
    every_round(GetParam(), [&](const options& job) {
        apps::color_options o;
        o.job = job;
        o.job.timeout_seconds = 60;
        o.order = job.seed;
        for (std::uint32_t v = 0; v < g.vertices(); ++v) o.parts.push_back(v % pes);
        EXPECT_EQ(meets_greedy(g, o).colors, clique);
    });
}

// Every leaf is listed in the second round, and the hub in many pieces in the first.
TEST_P(color_test, Star) {
    const std::uint32_t leaves = is_checked(GetParam()) ? 3'000 : 100'000;
    std::vector<arc> arcs;
    for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) arcs.push_back({leaf, 0, 1});
    const auto result = meets_greedy(make_graph(leaves + 1, arcs), job());
    EXPECT_EQ(result.colors, 2u);
    EXPECT_EQ(result.rounds, 2u);
}

TEST_P(color_test, OddGraphs) {
    const apps::color_options o = job();
    EXPECT_EQ(meets_greedy(make_graph(0, {}), o).colors, 0u);
    EXPECT_EQ(meets_greedy(make_graph(5, {}), o).colors, 1u);
    EXPECT_EQ(meets_greedy(make_graph(1, {{0, 0, 0}, {0, 0, 5}}), o).colors, 1u);
    EXPECT_EQ(meets_greedy(make_graph(2, {{0, 1, 9}, {0, 1, 3}, {0, 1, 3}, {1, 0, 1}}), o).colors, 2u);
    EXPECT_EQ(meets_greedy(make_graph(3, {{0, 1, 0}, {1, 2, 0}, {2, 0, 0}}), o).colors, 3u);
    EXPECT_EQ(meets_greedy(make_graph(2, {{0, 1, 1}, {0, 1, 1}, {1, 0, 1}, {1, 0, 1}, {0, 0, 1}}), o).colors, 2u);
    const std::vector<arc> arcs{{0, 1, 1}, {1, 2, 4}, {2, 5, 1}, {0, 5, 9}};
    EXPECT_EQ(meets_greedy(make_graph<std::uint64_t>(6, arcs), o).color, meets_greedy(make_graph(6, arcs), o).color);
}

TEST_P(color_test, RefusesWrongUse) {
    apps::color_options o = job();
    o.parts = {0, 0};
    EXPECT_THROW(apps::color(make_graph(3, {{0, 1, 1}}), o), usage_error);
}

class real_colors_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::color_options job() const {
        apps::color_options o;
        o.job.devices = GetParam();
        return o;
    }
};

TEST_P(real_colors_test, MeshesAndSocialNetworks) {
    for (const char* name : {"4elt.graph", "copter2.graph", "facebook_combined.txt", "wiki-Vote.txt"}) {
        SCOPED_TRACE(name);
        LANEWAY_NEED_SHARED_DATA(file, "graphs/" + std::string(name) + ".gz");
        meets_greedy(graph::read_graph(file), job());
    }
}

TEST_P(real_colors_test, GeneratedGraphs) {
    meets_greedy(graph::generate_kronecker({.scale = 10, .arcs = 40'000}), job());
    meets_greedy(graph::generate_grid({.width = 200, .height = 100}), job());
}

LANEWAY_ON_DEVICES(color_test, program_lists());
LANEWAY_ON_DEVICES(real_colors_test, device_lists(1, false));

}  // namespace laneway::test

// Label propagation over many devices against sorting on the host.
#pragma once

#include "cdlp/cdlp.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

inline void spreads_labels(const graph::graph& g, const apps::cdlp_options& o) {
    const auto expected = apps::labels_by_sorting(g, o.rounds);
    const auto result = apps::label_propagation(g, o);
    EXPECT_EQ(result.label, expected.label);
    EXPECT_EQ(result.labels, expected.labels);
    EXPECT_EQ(result.rounds, expected.rounds);
    EXPECT_EQ(result.converged, expected.converged);
}

class cdlp_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::cdlp_options job(std::uint64_t round = 2) const {
        apps::cdlp_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        o.rounds = round % 7;
        return o;
    }
};

TEST_P(cdlp_test, RandomGraphs) {
    const auto pes = static_cast<std::uint64_t>(machine(GetParam()).n_pes());
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(200, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 16 : 400);
        apps::cdlp_options o = job(round);
        if (round % 4 == 1) {
            for (std::uint64_t v = 0; v < g.vertices(); ++v) o.parts.push_back(static_cast<std::uint32_t>(v % pes));
        }
        ASSERT_NO_THROW(spreads_labels(g, o));
        if (HasFailure()) return;
    }
}

TEST_P(cdlp_test, OddGraphs) {
    for (const std::uint64_t round : {1, 6}) {
        spreads_labels(make_graph(0, {}), job(round));
        spreads_labels(make_graph(1, {}), job(round));
        spreads_labels(make_graph(4, {}), job(round));
        spreads_labels(make_graph(3, {{2, 2, 1}, {1, 1, 1}, {1, 1, 1}, {1, 2, 1}}), job(round));
        spreads_labels(make_graph<std::uint64_t>(6, {{5, 1, 1}, {4, 2, 1}, {0, 3, 1}, {3, 5, 1}}), job(round));
    }
}

// Ties go to the least label, so the labels of a pair change places for ever: rounds end them.
TEST_P(cdlp_test, LabelsThatChangePlaces) {
    const auto pair = make_graph(2, {{0, 1, 1}, {1, 0, 1}});
    for (const std::uint64_t rounds : {4, 5}) {
        apps::cdlp_options o = job();
        o.rounds = rounds;
        const auto result = apps::label_propagation(pair, o);
        EXPECT_EQ(result.label[0], rounds % 2) << rounds;
        EXPECT_EQ(result.label[1], 1 - rounds % 2) << rounds;
        EXPECT_EQ(result.rounds, rounds);
        EXPECT_FALSE(result.converged);
    }
}

// An arc each way counts twice: vertex 0 hears 3 twice, and 1 and 2, which are less, once.
TEST_P(cdlp_test, ArcsEachWayCountTwice) {
    apps::cdlp_options o = job();
    o.rounds = 1;
    EXPECT_EQ(apps::label_propagation(make_graph(4, {{1, 0, 1}, {0, 2, 1}, {0, 3, 1}, {3, 0, 1}}), o).label[0], 3u);
    EXPECT_EQ(apps::label_propagation(make_graph(4, {{1, 0, 1}, {0, 2, 1}, {0, 3, 1}}), o).label[0], 1u);
}

// Cliques keep to themselves.
TEST_P(cdlp_test, Cliques) {
    const std::uint64_t size = is_checked(GetParam()) ? 5 : 40;
    std::vector<arc> arcs;
    for (std::uint64_t v = 0; v < 3 * size; ++v) {
        for (std::uint64_t other = v / size * size; other < v; ++other) {
            arcs.push_back({v, other, 1});
            arcs.push_back({other, v, 1});
        }
    }
    apps::cdlp_options o = job();
    o.rounds = 20;
    const auto g = make_graph(3 * size, arcs);
    spreads_labels(g, o);
    const auto result = apps::label_propagation(g, o);
    EXPECT_EQ(result.labels, 3u);
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.label[size], size);
}

/// Larger graphs, without the checked mode: a scheduler's step for each atomic would take minutes.
class cdlp_graphs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::cdlp_options job() const {
        apps::cdlp_options o;
        o.job.devices = GetParam();
        return o;
    }
};

TEST_P(cdlp_graphs_test, Kronecker) {
    spreads_labels(graph::generate_kronecker({12, 30'000, false, 255, 7}), job());
    spreads_labels(graph::generate_kronecker({12, 300'000, true, 255, 7}), job());
}

// A hub whose table many warps fill at once, with as many labels as arcs.
TEST_P(cdlp_graphs_test, WideStar) {
    constexpr std::uint64_t leaves = 300'000;
    std::vector<arc> star;
    for (std::uint64_t leaf = 1; leaf <= leaves; ++leaf) star.push_back({0, leaf, 1});
    spreads_labels(make_graph(leaves + 1, star), job());
}

TEST_P(cdlp_graphs_test, Slashdot) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/soc-Slashdot0902.txt.gz");
    spreads_labels(graph::read_graph(file), job());
}

LANEWAY_ON_DEVICES(cdlp_test, program_lists());
LANEWAY_ON_DEVICES(cdlp_graphs_test, device_lists(1, false));

}  // namespace laneway::test

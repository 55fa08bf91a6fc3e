// Label propagation over many devices against sorting on the host.
#pragma once

#include "cdlp/cdlp.hpp"
#include "color/color.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

inline void spreads_labels(const graph::graph& g, const apps::cdlp_options& o) {
    const auto expected = apps::labels_by_sorting(g, o.rounds, o.classes);
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

constexpr std::uint64_t until_rest = 1'000;  // rounds, which no graph here takes

// Classes of a colouring at once are vertices one by one.
TEST_P(cdlp_test, ClassesOfRandomGraphs) {
    const auto pes = static_cast<std::uint64_t>(machine(GetParam()).n_pes());
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(200, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 16 : 400);
        apps::cdlp_options o = job(round);
        o.classes = apps::color_greedily(g, round).color;
        if (round % 2 == 1) o.rounds = until_rest;
        if (round % 4 == 1) {
            for (std::uint64_t v = 0; v < g.vertices(); ++v) o.parts.push_back(static_cast<std::uint32_t>(v % pes));
        }
        ASSERT_NO_THROW(spreads_labels(g, o));
        if (HasFailure()) return;
    }
}

TEST_P(cdlp_test, ClassesOfOddGraphs) {
    apps::cdlp_options o = job();
    o.rounds = until_rest;
    spreads_labels(make_graph(0, {}), o);
    o.classes = {0};
    spreads_labels(make_graph(1, {}), o);
    spreads_labels(make_graph(1, {{0, 0, 1}}), o);
    o.classes = {1, 0, 3, 3};  // none of class 2
    spreads_labels(make_graph(4, {}), o);
    spreads_labels(make_graph<std::uint64_t>(4, {{0, 1, 1}, {1, 3, 1}, {1, 1, 1}, {2, 0, 1}}), o);
}

// A label that is among the most frequent ones stays, and of others the greatest is taken.
TEST_P(cdlp_test, PrecedenceInClasses) {
    apps::cdlp_options o = job();
    o.rounds = 1;
    o.classes = {1, 0, 1, 1};
    // 1 hears 0, 2 and 3 once each, and then all hear it.
    const auto star = make_graph(4, {{1, 0, 1}, {1, 2, 1}, {1, 3, 1}});
    EXPECT_EQ(apps::label_propagation(star, o).label, (std::vector<std::uint32_t>{3, 3, 3, 3}));
    o.classes = {0, 1, 0, 0};  // the leaves first
    EXPECT_EQ(apps::label_propagation(star, o).label, (std::vector<std::uint32_t>{1, 1, 1, 1}));
    // 0 hears itself once, and 1 once.
    o.classes = {0, 1};
    EXPECT_EQ(apps::label_propagation(make_graph(2, {{0, 0, 1}, {0, 1, 1}}), o).label[0], 0u);
    EXPECT_EQ(apps::label_propagation(make_graph(2, {{0, 1, 1}}), o).label[0], 1u);
}

// Unlike without classes, neighbours count once, however many arcs there are.
TEST_P(cdlp_test, NeighborsOfClassesCountOnce) {
    apps::cdlp_options o = job();
    o.rounds = 1;
    o.classes = {0, 1, 1, 1};
    const auto g = make_graph(4, {{1, 0, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 2, 1}, {3, 0, 1}});
    EXPECT_EQ(apps::label_propagation(g, o).label[0], 3u);
}

// What comes to rest among vertices one by one does not where neighbours take labels at once.
TEST_P(cdlp_test, NeighborsOfOneClassChangePlaces) {
    const auto pair = make_graph(2, {{0, 1, 1}, {1, 0, 1}});
    apps::cdlp_options o = job();
    o.rounds = 5;
    o.classes = {0, 0};
    auto result = apps::label_propagation(pair, o);
    EXPECT_EQ(result.label, (std::vector<std::uint32_t>{1, 0}));
    EXPECT_EQ(result.rounds, 5u);
    EXPECT_FALSE(result.converged);
    o.classes = {1, 0};
    result = apps::label_propagation(pair, o);
    EXPECT_EQ(result.label, (std::vector<std::uint32_t>{0, 0}));
    EXPECT_EQ(result.rounds, 2u) << "the last one changes nothing";
    EXPECT_TRUE(result.converged);
}

TEST_P(cdlp_test, WrongClasses) {
    const auto refused = [&](std::vector<std::uint32_t> classes, const std::string& why) {
        apps::cdlp_options o = job();
        o.classes = std::move(classes);
        try {
            (void)apps::label_propagation(make_graph(2, {}), o);
            ADD_FAILURE() << "taken";
        } catch (const usage_error& error) {
            EXPECT_EQ(error.what(), why);
        }
    };
    refused({0}, "1 classes do not fit 2 vertices");
    refused({0, 1, 0}, "3 classes do not fit 2 vertices");
    refused({0, 2}, "classes of 2 vertices are numbers below that, not 2");
}

// One resident graph takes labels either way, by turns.
TEST_P(cdlp_test, WithAndWithoutClassesByTurns) {
    const auto g = random_graph(7, 16);
    apps::workspace space(job().job);
    apps::resident_graph on_devices(space, g);
    for (const std::uint64_t order : {1, 2, 3}) {
        apps::cdlp_options o = job();
        EXPECT_EQ(apps::label_propagation(on_devices, o).label, apps::labels_by_sorting(g, o.rounds).label);
        o.classes = apps::color_greedily(g, order).color;
        EXPECT_EQ(apps::label_propagation(on_devices, o).label, apps::labels_by_sorting(g, o.rounds, o.classes).label);
    }
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

TEST_P(cdlp_graphs_test, ClassesOfKronecker) {
    const auto g = graph::generate_kronecker({12, 60'000, true, 255, 7});
    apps::cdlp_options o = job();
    o.rounds = until_rest;
    o.classes = apps::color_greedily(g, 1).color;
    spreads_labels(g, o);
}

// A hub whose table many warps fill at once, with as many labels as arcs.
TEST_P(cdlp_graphs_test, WideStar) {
    constexpr std::uint64_t leaves = 300'000;
    std::vector<arc> star;
    for (std::uint64_t leaf = 1; leaf <= leaves; ++leaf) star.push_back({0, leaf, 1});
    apps::cdlp_options o = job();
    spreads_labels(make_graph(leaves + 1, star), o);
    o.classes.assign(leaves + 1, 1);
    o.classes[0] = 0;
    spreads_labels(make_graph(leaves + 1, star), o);
}

TEST_P(cdlp_graphs_test, Slashdot) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/soc-Slashdot0902.txt.gz");
    spreads_labels(graph::read_graph(file), job());
}

LANEWAY_ON_DEVICES(cdlp_test, program_lists());
LANEWAY_ON_DEVICES(cdlp_graphs_test, device_lists(1, false));

}  // namespace laneway::test

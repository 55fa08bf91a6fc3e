// Shortest paths over many devices against Dijkstra: a worklist from end to end.
#pragma once

#include <random>

#include "laneway/flow/hub_shards.hpp"
#include "laneway/graph/generate.hpp"
#include "sssp/shortest_paths.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

inline run_report meets_dijkstra(const graph::graph& g, std::uint64_t source, const apps::shortest_paths_options& o) {
    const auto expected = apps::dijkstra(g, source, o.unit_weights);
    const auto result = apps::shortest_paths(g, source, o);
    EXPECT_EQ(result.distance, expected);
    const auto reached =
        static_cast<std::uint64_t>(std::count_if(expected.begin(), expected.end(), [](auto d) { return d >= 0; }));
    EXPECT_EQ(result.min_items, reached);
    EXPECT_GE(result.items, reached);
    EXPECT_EQ(result.report.posted, result.report.direct + result.report.carried);
    EXPECT_EQ(result.report.carried, result.report.served);
    return result.report;
}

class shortest_paths_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::shortest_paths_options job(std::uint64_t round = 2) const {
        apps::shortest_paths_options o;
        o.job = options_of(GetParam(), round);
        if (round == 2) o.job.ring_slots = 0;
        return o;
    }
};

// Handlers push work here: a detection of the end that counts only once, or at one moment, loses distances.
TEST_P(shortest_paths_test, RandomGraphsMeetDijkstra) {
    for (std::uint64_t round = 0; round < rounds_of(GetParam()); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 24 : 400);
        apps::shortest_paths_options o = job(round);
        o.job.timeout_seconds = 60;
        o.unit_weights = round % 5 == 4;
        if (round % 2 == 0) o.delta = 1 + round % 7;
        if (round % 3 == 0) o.low_water = round % 4;
        o.priorities = round % 4 != 3;
        o.fused = round % 5 != 1;
        ASSERT_NO_THROW(meets_dijkstra(g, round % g.vertices(), o));
        if (HasFailure()) return;
    }
}

// What priorities and one run are for: either can be switched off, so that it can be seen.
TEST_P(shortest_paths_test, SwitchesChangeTheWorkAndNotTheAnswer) {
    const std::uint64_t side = is_checked(GetParam()) ? 7 : 60;
    const auto g = graph::generate_grid({.width = side, .height = side, .keep = 1});
    apps::shortest_paths_options o = job();
    o.job.timeout_seconds = 60;
    o.delta = 10'000;  // of two average arcs
    const auto counted = [&] {
        const auto result = apps::shortest_paths(g, 0, o);
        EXPECT_EQ(result.distance, apps::dijkstra(g, 0, false));
        EXPECT_EQ(result.waves == 1, o.fused);
        EXPECT_EQ(result.report.rises > 0, o.priorities);
        return result;
    };
    const auto both = counted();
    o.fused = false;
    const auto waves = counted();
    EXPECT_GE(waves.waves, side) << "a wave goes one arc far";
    o.priorities = false;
    const auto neither = counted();
    EXPECT_GE(neither.waves, 2 * side - 2);
    o.fused = true;
    counted();
    if (is_checked(GetParam())) return;  // too small to do much in vain
    EXPECT_LT(both.items, 3 * both.min_items);
    EXPECT_LT(waves.items, 3 * waves.min_items);
    EXPECT_GT(neither.items, 3 * waves.items / 2);
}

// A gap between distances takes one rise in waves too, not one for each step.
TEST_P(shortest_paths_test, WavesLeaveOutStepsThatWouldReleaseNothing) {
    apps::shortest_paths_options o = job();
    o.fused = false;
    o.delta = 1;
    const auto result = apps::shortest_paths(make_graph(3, {{0, 1, 500'000'000}, {1, 2, 30'000'000}}), 0, o);
    EXPECT_EQ(result.distance, (std::vector<std::int64_t>{0, 500'000'000, 530'000'000}));
    EXPECT_LE(result.waves, 8u);
    if (is_checked(GetParam())) return;  // in virtual time nothing has passed yet
    o.job.timeout_seconds = 1e-9;
    EXPECT_THROW((void)apps::shortest_paths(make_graph(2, {{0, 1, 1}}), 0, o), timeout_error);
}

TEST_P(shortest_paths_test, TheLeastBuffersLoseNothing) {
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(60, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 24 : 400);
        apps::shortest_paths_options o = job(round);
        o.job.timeout_seconds = 60;
        ASSERT_NO_THROW(run_within_min(o.job, [&](const options& little) {
            o.job = little;
            return meets_dijkstra(g, 0, o);
        }));
        if (HasFailure()) return;
    }
}

TEST_P(shortest_paths_test, AnyPartitionGivesTheSame) {
    const auto g = random_graph(1, 300);
    const auto pes = static_cast<std::uint32_t>(machine(GetParam()).n_pes());
    for (std::uint32_t way = 0; way < 4; ++way) {
        apps::shortest_paths_options o = job();
        o.job.timeout_seconds = 60;
        for (std::uint32_t v = 0; v < g.vertices(); ++v) {
            const std::uint32_t part[] = {v % pes, pes - 1, v * 2654435761u >> 8, v < 5 ? 0 : pes - 1};
            o.parts.push_back(part[way] % pes);
        }
        meets_dijkstra(g, g.vertices() / 2, o);
    }
}

// A threshold that starts at its greatest value never rises: nothing may be put off to wait for that.
TEST_P(shortest_paths_test, EverythingRunsAtOnceUnderTheWidestStep) {
    std::mt19937_64 random(1);
    std::vector<arc> arcs;
    for (std::uint32_t v = 0; v < 60; ++v) {
        for (int i = 0; i < (v == 0 ? 80 : 3); ++i) {
            arcs.push_back({v, random() % 60, static_cast<std::uint32_t>(1 + random() % 100)});
        }
    }
    const auto g = make_graph(60, arcs);
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(60, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        apps::shortest_paths_options o = job(round);
        if (!is_checked(GetParam())) o.job.timeout_seconds = 5;
        o.delta = ~std::uint64_t{0};
        ASSERT_NO_THROW(meets_dijkstra(g, 0, o));
        if (HasFailure()) return;
    }
}

// One unit after the other, this would take 2^32 steps for each arc.
TEST_P(shortest_paths_test, StepsThatWouldReleaseNothingAreLeftOut) {
    constexpr std::uint32_t most = 0xffffffff;
    const std::pair<graph::graph, std::uint64_t> graphs[] = {
        {make_graph(2, {{0, 1, most}}), 1},
        {make_graph(2, {{0, 1, (1u << 29) - 2}}), 1},
        {make_graph(6, {{0, 1, most}, {1, 2, 3}, {2, 3, most}, {0, 4, most - 7}, {3, 5, most}, {1, 5, most}}), 6}};
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(20, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        for (const auto& [g, gaps] : graphs) {
            apps::shortest_paths_options o = job(round);
            o.job.timeout_seconds = 60;
            o.delta = 1 + round % 2;
            ASSERT_NO_THROW({
                const auto report = meets_dijkstra(g, 0, o);
                EXPECT_LE(report.rises,
                          64 * gaps);  // more than one a gap, as counters of PEs are read one after the other
                EXPECT_GE(report.rises, 1u);
            });
        }
        if (HasFailure()) return;
    }
}

// With a lane that works alone, an order that looks far ids through first finds each distance at once where all arcs
// weigh the same; with near ids first, what one far id leads to is done before its neighbours, twice over.
TEST_P(shortest_paths_test, FarIdsAreLookedThroughBeforeNearOnes) {
    if (GetParam() != "cpu:1") GTEST_SKIP() << "several lanes at the same time do some work in vain in any order";
    apps::shortest_paths_options o = job(2);
    o.job.cpu_threads = 1;
    o.unit_weights = true;
    const auto g = graph::generate_grid({.width = 60, .height = 60, .keep = 1});
    for (const std::uint64_t delta : {5u, 20u}) {
        o.delta = delta;
        const auto found = apps::shortest_paths(g, 1770, o);
        EXPECT_EQ(found.items, found.min_items) << "delta " << delta;
    }
}

TEST_P(shortest_paths_test, OddGraphs) {
    apps::shortest_paths_options o = job();
    o.job.timeout_seconds = 60;
    meets_dijkstra(make_graph(1, {}), 0, o);
    meets_dijkstra(make_graph(5, {}), 3, o);
    meets_dijkstra(make_graph(1, {{0, 0, 0}, {0, 0, 5}}), 0, o);
    meets_dijkstra(make_graph(2, {{0, 1, 9}, {0, 1, 3}, {0, 1, 3}, {1, 0, 1}}), 0, o);
    meets_dijkstra(make_graph(4, {{0, 1, 0}, {1, 2, 0}, {2, 0, 0}, {2, 3, 0}}), 1, o);
    meets_dijkstra(make_graph(6, {{0, 1, 1}, {1, 0, 1}, {3, 4, 1}, {4, 5, 1}}), 4, o);
    meets_dijkstra(make_graph<std::uint64_t>(6, {{0, 1, 1}, {1, 2, 4}, {2, 5, 1}, {0, 5, 9}}), 0, o);
}

TEST_P(shortest_paths_test, LongDistancesTakeWiderKeys) {
    constexpr std::uint32_t most = 0xffffffff;
    const std::vector<std::pair<std::uint32_t, int>> hops{{(1u << 29) - 3, 32}, {1u << 29, 64}, {most, 64}};
    for (const auto& [weight, bits] : hops) {
        const auto g = make_graph(
            6, {{0, 1, weight}, {1, 2, weight < most ? 1 : most}, {2, 3, weight < most ? 0 : most}, {4, 0, 1}});
        apps::shortest_paths_options o = job();
        o.job.timeout_seconds = 60;
        apps::shortest_paths_solver solver(g, o);
        const auto expected = apps::dijkstra(g, 0, false);
        const auto result = solver.run(0);
        EXPECT_EQ(result.distance, expected);
        EXPECT_EQ(result.key_bits, bits) << weight;
        EXPECT_EQ(solver.run(3).distance, apps::dijkstra(g, 3, false)) << "the next search is not disturbed";
    }
}

// A hub's shards wait for what their arcs add at least: those of light arcs are looked at whenever the hub's distance
// falls, the others once it does not; and where a shard's arcs do not fit the key, the search is repeated.
TEST_P(shortest_paths_test, ShardsOfHubsWaitForTheirHeavyArcs) {
    const bool is_slow = is_checked(GetParam());
    const std::uint64_t arcs_of_hub = (is_slow ? 1 : 3) * shard_arcs + 7, first = is_slow ? 4 : 10;
    std::vector<arc> arcs;
    for (std::uint64_t v = 0; v + 1 < first; ++v) {  // the later a path to the hub is found, the shorter it is
        arcs.push_back({v, v + 1, 1});
        arcs.push_back({v, first, static_cast<std::uint32_t>(300 - 25 * v)});
    }
    for (std::uint64_t i = 0; i < arcs_of_hub; ++i) {
        arcs.push_back({first, first + 1 + i, static_cast<std::uint32_t>(i * 7919 % 1000)});
        if (i % 5 == 0) arcs.push_back({first + 1 + i, first + 1 + (i + 311) % arcs_of_hub, 3});
    }
    for (const std::uint32_t heavy : {2'000u, (1u << 29) - 400, 0xffffffffu}) {
        arcs.push_back({first, first + 1 + arcs_of_hub, heavy});
        const auto g = make_graph(first + 2 + arcs_of_hub, arcs);
        apps::shortest_paths_options o = job();
        o.job.timeout_seconds = 60;
        for (const std::uint64_t delta : {100u, 10u, 1'000'000'000u}) {
            if (is_slow && delta != 100) break;
            o.delta = delta;
            ASSERT_EQ(apps::shortest_paths(g, 0, o).distance, apps::dijkstra(g, 0, false)) << heavy << ", " << delta;
        }
        arcs.pop_back();
    }
}

TEST_P(shortest_paths_test, OneSolverSearchesFromManySources) {
    const auto g = random_graph(2, 200);
    apps::shortest_paths_options o = job();
    o.job.timeout_seconds = 60;
    apps::shortest_paths_solver solver(g, o);
    for (std::uint64_t source = 0; source < g.vertices(); source += 1 + g.vertices() / 7) {
        EXPECT_EQ(solver.run(source).distance, apps::dijkstra(g, source, false)) << "source " << source;
    }
}

TEST_P(shortest_paths_test, TheNearestOfSeveralSourcesCounts) {
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(60, rounds_of(GetParam())); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 24 : 400);
        apps::shortest_paths_options o = job(round);
        o.job.timeout_seconds = 60;
        o.unit_weights = round % 2 == 1;
        std::mt19937_64 random(round);
        std::vector<std::uint64_t> sources;
        for (std::uint64_t i = 0; i <= random() % 40; ++i) sources.push_back(random() % g.vertices());
        std::vector<std::int64_t> least(g.vertices(), -1);
        for (const std::uint64_t source : sources) {
            const auto one = apps::dijkstra(g, source, o.unit_weights);
            for (std::uint64_t v = 0; v < g.vertices(); ++v) {
                if (one[v] >= 0 && (least[v] < 0 || one[v] < least[v])) least[v] = one[v];
            }
        }
        const auto result = apps::shortest_paths(g, sources, o);
        ASSERT_EQ(result.distance, least);
        EXPECT_EQ(result.report.carried, result.report.served);
        EXPECT_EQ(apps::dijkstra(g, sources, o.unit_weights), least);
    }
}

TEST_P(shortest_paths_test, RefusesWrongUse) {
    const auto g = make_graph(3, {{0, 1, 1}});
    EXPECT_THROW(apps::shortest_paths(g, 3, job()), usage_error);
    EXPECT_THROW(apps::shortest_paths(make_graph(0, {}), 0, job()), usage_error);
    EXPECT_THROW(apps::shortest_paths(g, std::vector<std::uint64_t>{}, job()), usage_error);
    EXPECT_THROW(apps::shortest_paths(g, std::vector<std::uint64_t>{0, 1, 3}, job()), usage_error);
    apps::shortest_paths_options o = job();
    o.delta = 0;
    EXPECT_THROW(apps::shortest_paths(g, 0, o), usage_error);
    o = job();
    o.parts = {0, 0};
    EXPECT_THROW(apps::shortest_paths(g, 0, o), usage_error);
    o.parts = {0, 0, static_cast<std::uint32_t>(machine(GetParam()).n_pes())};
    EXPECT_THROW(apps::shortest_paths(g, 0, o), usage_error);
}

TEST_P(shortest_paths_test, ProgressEndsWithNothingOpen) {
    apps::shortest_paths_options o = job();
    o.job.timeout_seconds = 60;
    o.job.progress_samples = 16;
    const auto result = apps::shortest_paths(random_graph(6, 400), 0, o);
    ASSERT_FALSE(result.report.progress.empty());
    EXPECT_LE(result.report.progress.size(), 16u);
    EXPECT_EQ(result.report.progress.back().open, 0u);
    EXPECT_EQ(result.report.progress.back().served, result.report.served);
    for (std::size_t i = 1; i < result.report.progress.size(); ++i) {
        EXPECT_LE(result.report.progress[i - 1].time_ns, result.report.progress[i].time_ns);
        EXPECT_LE(result.report.progress[i - 1].served, result.report.progress[i].served);
    }
}

LANEWAY_ON_DEVICES(shortest_paths_test, program_lists());

}  // namespace laneway::test

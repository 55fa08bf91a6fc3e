// PageRank by residual push against ranks that a power iteration has brought to rest.
#pragma once

#include "unit/apps/plain_ranks.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

/// What it promises, for any tolerance: the residual is below it, and ranks are as near to those of rest as it says.
inline apps::pagerank_result meets_rest(const graph::graph& g, const apps::pagerank_options& o) {
    auto result = apps::pagerank(g, o);
    apps::pagerank_options rest = o;
    rest.tol = 1e-14;
    rest.max_iter = 3000;
    const plain_ranks expected = iterate_plainly(g, rest);
    double difference = 0, total = 0;
    for (std::size_t v = 0; v < result.rank.size(); ++v) {
        difference += std::abs(result.rank[v] - expected.rank[v]);
        total += result.rank[v];
    }
    EXPECT_TRUE(result.converged);
    EXPECT_LT(result.residual, o.tol * static_cast<double>(g.vertices()));
    EXPECT_LE(difference, 2 * o.alpha / (1 - o.alpha) * result.residual + 1e-11);
    EXPECT_NEAR(total, 1, 1e-10);
    EXPECT_EQ(result.rounds, 0u);
    EXPECT_EQ(result.report.carried, result.report.served);
    return result;
}

class push_ranks_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::pagerank_options job(std::uint64_t round = 2) const {
        apps::pagerank_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        o.method = apps::pagerank_method::push;
        o.tol = 1e-6;
        return o;
    }
};

TEST_P(push_ranks_test, RandomGraphsComeToRest) {
    for (std::uint64_t round = 0; round < (rounds_of(GetParam()) + 1) / 2; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, is_checked(GetParam()) ? 10 : 400);
        apps::pagerank_options o = job(round);
        const double tolerances[] = {1e-3, 1e-5, 1e-9};
        o.tol = tolerances[round % 3] / (is_checked(GetParam()) ? 1 : 10);
        o.alpha = round % 7 == 0 ? 0.5 : 0.85;
        o.weighted = round % 3 != 0;
        if (round % 4 == 1) o.personalization = random_parts(round, g.vertices());
        if (round % 5 == 1) o.dangling = random_parts(round + 1, g.vertices());
        ASSERT_NO_THROW(meets_rest(g, o));
        if (HasFailure()) return;
    }
}

TEST_P(push_ranks_test, AnyPartitionComesToRest) {
    const auto g = random_graph(1, is_checked(GetParam()) ? 30 : 300);
    const auto pes = static_cast<std::uint32_t>(machine(GetParam()).n_pes());
    for (std::uint32_t way = 0; way < 3; ++way) {
        apps::pagerank_options o = job();
        for (std::uint32_t v = 0; v < g.vertices(); ++v) {
            const std::uint32_t part[] = {v % pes, pes - 1, v * 2654435761u >> 8};
            o.parts.push_back(part[way] % pes);
        }
        if (way == 2) o.personalization = random_parts(1, g.vertices());
        meets_rest(g, o);
    }
}

// What arcs bring to a vertex of another PE goes there as a few sums, not one by one.
TEST_P(push_ranks_test, SumsGoToOtherPes) {
    const std::uint64_t vertices = is_checked(GetParam()) ? 20 : 200;
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < vertices * vertices; ++i) arcs.push_back({i / vertices, i % vertices, 1});
    apps::pagerank_options o = job();
    for (std::uint64_t v = 0; v < vertices; ++v) {
        o.parts.push_back(static_cast<std::uint32_t>(v % static_cast<std::uint64_t>(machine(GetParam()).n_pes())));
    }
    const auto result = meets_rest(make_graph(vertices, arcs), o);
    EXPECT_GE(result.pushes, vertices);
    const auto pes = static_cast<std::uint64_t>(machine(GetParam()).n_pes());
    EXPECT_EQ(result.sent > 0, pes > 1);
    EXPECT_LT(result.sent, result.pushes * vertices / 4) << "of as many that bring something to another PE";
}

/// A hub that arcs lead to from all `leaves`, and back to some; the hub's arcs lie in many tiles, which other warps
/// sweep.
TEST_P(push_ranks_test, RowsOfManyTiles) {
    for (const bool weighted : {false, true}) {
        const std::uint64_t leaves = is_checked(GetParam()) ? 520 : 5'000;
        std::vector<arc> arcs;
        for (std::uint64_t v = 1; v <= leaves; ++v) {
            arcs.push_back({v, 0, 1});
            if (v % 5 != 0) arcs.push_back({0, v, static_cast<std::uint32_t>(v)});
        }
        apps::pagerank_options o = job();
        o.weighted = weighted;
        o.tol = (is_checked(GetParam()) ? 1e-2 : 1e-4) / static_cast<double>(leaves);
        if (!is_checked(GetParam())) o.job.chunk_bytes = 4096;  // tiny chunks would make these many messages slow
        meets_rest(make_graph(leaves + 1, arcs), o);
    }
}

TEST_P(push_ranks_test, OddGraphs) {
    const apps::pagerank_options o = job();
    meets_rest(make_graph(1, {}), o);
    meets_rest(make_graph(5, {}), o);
    meets_rest(make_graph(1, {{0, 0, 1}}), o);
    meets_rest(make_graph(2, {{0, 1, 0}, {0, 1, 3}, {0, 1, 3}, {1, 0, 1}}), o);
    meets_rest(make_graph(6, {{0, 1, 1}, {1, 0, 1}, {3, 4, 1}, {4, 5, 1}}), o);
    constexpr std::uint32_t most = 0xffffffff;
    meets_rest(make_graph(5, {{0, 1, most}, {0, 2, most}, {0, 3, 1}, {1, 0, 3}, {2, 4, 0}, {3, 0, most}, {4, 1, 7}}),
               o);
    apps::pagerank_options none = job();
    none.alpha = 0;
    meets_rest(make_graph(4, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, 1}, {0, 2, 1}}), none);
    const auto wide = make_graph<std::uint64_t>(6, {{0, 1, 1}, {1, 2, 4}, {2, 5, 1}, {0, 5, 9}});
    EXPECT_TRUE(apps::pagerank(wide, o).converged);
}

TEST_P(push_ranks_test, CoarseTolerancesAreMet) {
    const auto g = random_graph(5, is_checked(GetParam()) ? 30 : 300);
    for (const double tol :
         {1e308, 1.0, 0.1 / static_cast<double>(g.vertices()), 1e-2 / static_cast<double>(g.vertices())}) {
        apps::pagerank_options o = job();
        o.tol = tol;
        meets_rest(g, o);
    }
}

TEST_P(push_ranks_test, TheToleranceIsMadeUseOf) {
    const auto g = random_graph(7, is_checked(GetParam()) ? 60 : 400);
    apps::pagerank_options o = job();
    o.tol = 1e-2 / static_cast<double>(g.vertices());
    const auto result = apps::pagerank(g, o);
    EXPECT_TRUE(result.converged);
    EXPECT_LT(result.residual, 1e-2);
    EXPECT_GT(result.residual, 2.5e-3) << "pushes went on though enough had been handed on";
}

/// What is switched off costs work, and no promise.
TEST_P(push_ranks_test, SwitchesKeepThePromise) {
    const auto g = random_graph(7, is_checked(GetParam()) ? 30 : 400);
    apps::pagerank_options o = job();
    o.tol = 1e-3 / static_cast<double>(g.vertices());
    for (const auto& [priorities, fused] : {std::pair{true, false}, {false, true}, {false, false}}) {
        SCOPED_TRACE(std::string(priorities ? "with" : "without") + " priorities, " +
                     (fused ? "one run" : "a run a sweep"));
        o.priorities = priorities;
        o.fused = fused;
        meets_rest(g, o);
    }
}

TEST_P(push_ranks_test, WorkIsCounted) {
    const auto g = random_graph(7, is_checked(GetParam()) ? 30 : 400);
    apps::pagerank_options o = job();
    o.tol = 1e-2 / static_cast<double>(g.vertices());
    const auto result = meets_rest(g, o);
    EXPECT_GE(result.looks, result.pushes);
    EXPECT_GT(result.adds, g.arc_count() / 2);
    const bool alone = machine(GetParam()).n_pes() == 1;
    EXPECT_EQ(result.report.carried == 0, alone);
    EXPECT_EQ(result.sent == 0, alone);
    EXPECT_LE(result.sent, result.report.carried);
    EXPECT_TRUE(!alone || result.suppressed == 0);
}

TEST_P(push_ranks_test, WalksThatStartAtOneVertex) {
    apps::pagerank_options o = job();
    const auto g = make_graph(5, {{0, 1, 1}, {1, 2, 1}, {3, 0, 1}, {3, 4, 1}});
    o.personalization = {0, 1e300, 0, 0, 0};    // only what it is beside the others matters
    EXPECT_LT(meets_rest(g, o).rank[3], 1e-9);  // nobody starts or comes there
    o.dangling = {0, 0, 0, 1, 0};
    EXPECT_GT(meets_rest(g, o).rank[3], 0.1);
    o.personalization.clear();
    meets_rest(g, o);
}

TEST_P(push_ranks_test, WhereNothingIsLeftRanksHaveConverged) {
    apps::pagerank_options o = job();
    o.tol = 0;
    for (const bool fused : {true, false}) {
        o.fused = fused;
        const auto result = apps::pagerank(make_graph(3, {{0, 1, 1}, {1, 2, 1}}), o);
        EXPECT_EQ(result.residual, 0);
        EXPECT_TRUE(result.converged);
    }
}

TEST_P(push_ranks_test, RefusesWrongUse) {
    const auto g = make_graph(3, {{0, 1, 1}});
    apps::pagerank_options alpha = job(), near_one = job(), start = job(), rounds = job();
    alpha.alpha = 1;
    near_one.alpha = 1 - 1e-10;
    start.nstart = {1, 1, 1};
    rounds.rounds = 3;
    for (const auto& wrong : {alpha, near_one, start, rounds}) EXPECT_THROW(apps::pagerank(g, wrong), usage_error);
    EXPECT_THROW(apps::pagerank(make_graph(0, {}), job()), usage_error);
}

class pushed_networks_test : public testing::TestWithParam<std::string> {};

TEST_P(pushed_networks_test, ComeToRest) {
    for (const char* name : {"wiki-Vote", "facebook_combined"}) {
        SCOPED_TRACE(name);
        LANEWAY_NEED_SHARED_DATA(file, "graphs/" + std::string(name) + ".txt.gz");
        apps::pagerank_options o;
        o.job.devices = GetParam();
        o.method = apps::pagerank_method::push;
        o.tol = 1e-9;
        meets_rest(graph::read_graph(file), o);
    }
}

LANEWAY_ON_DEVICES(push_ranks_test, to_four(program_lists()));
LANEWAY_ON_DEVICES(pushed_networks_test, device_lists(1, false));

}  // namespace laneway::test

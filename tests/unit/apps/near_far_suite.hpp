// Shortest paths as work items against Dijkstra, in all modes: an item worklist from end to end.
#pragma once

#include "laneway/runtime.hpp"
#include "sssp/near_far.hpp"
#include "sssp/shortest_paths.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"
#include "workspace/resident_graph.hpp"
#include "workspace/workspace.hpp"

namespace laneway::test {

inline apps::near_far_result near_far_meets_dijkstra(const graph::graph& g, std::uint64_t source,
                                                     const apps::near_far_options& o) {
    const auto result = apps::near_far(g, std::span(&source, 1), o);
    EXPECT_TRUE(result.distance == apps::dijkstra(g, source, o.unit_weights)) << g.vertices() << " vertices";
    EXPECT_EQ(result.min_items, static_cast<std::uint64_t>(std::count_if(result.distance.begin(), result.distance.end(),
                                                                         [](auto d) { return d >= 0; })));
    EXPECT_GE(result.work.useful, result.min_items);
    EXPECT_GE(result.work.done, result.work.useful);
    EXPECT_EQ(result.work.sent, result.work.arrived);
    EXPECT_EQ(result.report.items, result.work.done);
    return result;
}

inline graph::graph path_graph(std::uint64_t vertices) {
    std::vector<arc> arcs;
    for (std::uint64_t v = 0; v + 1 < vertices; ++v) arcs.push_back({v, v + 1, static_cast<std::uint32_t>(v % 5)});
    return make_graph(vertices, std::move(arcs));
}
inline graph::graph star_graph(std::uint64_t leaves) {
    std::vector<arc> arcs;
    for (std::uint64_t v = 1; v <= leaves; ++v) arcs.push_back({0, v, static_cast<std::uint32_t>(1 + v % 9)});
    return make_graph(leaves + 1, std::move(arcs));
}
inline graph::graph complete_graph(std::uint64_t vertices) {
    std::vector<arc> arcs;
    arcs.reserve(vertices * vertices);
    for (std::uint64_t v = 0; v < vertices; ++v) {
        for (std::uint64_t w = 0; w < vertices; ++w) arcs.push_back({v, w, static_cast<std::uint32_t>((v ^ w) + 1)});
    }
    return make_graph(vertices, std::move(arcs));
}
/// A grid with weights at random, both ways.
inline graph::graph grid_graph(std::uint64_t side) {
    std::mt19937_64 random(side);
    std::vector<arc> arcs;
    const auto join = [&](std::uint64_t v, std::uint64_t w) {
        const auto weight = static_cast<std::uint32_t>(1 + random() % 1000);
        arcs.push_back({v, w, weight});
        arcs.push_back({w, v, weight});
    };
    for (std::uint64_t row = 0; row < side; ++row) {
        for (std::uint64_t column = 0; column < side; ++column) {
            const std::uint64_t v = row * side + column;
            if (column + 1 < side) join(v, v + 1);
            if (row + 1 < side) join(v, v + side);
        }
    }
    return make_graph(side * side, std::move(arcs));
}

class near_far_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::near_far_options job(std::uint64_t round = 2) const {
        apps::near_far_options o;
        o.job = options_of(GetParam(), round);
        if (round == 2) o.job.ring_slots = 0;
        o.job.chunk_bytes *= 4;
        o.job.timeout_seconds = 60;
        return o;
    }
    [[nodiscard]] bool checked() const { return is_checked(GetParam()); }
};

TEST_P(near_far_test, RandomGraphsMeetDijkstraInAllModes) {
    for (std::uint64_t round = 0; round < (rounds_of(GetParam()) + 2) / 3; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto g = random_graph(round, checked() ? 24 : 400);
        apps::near_far_options o = job(round);
        o.unit_weights = round % 5 == 4;
        o.priorities = round % 3 != 1;
        o.fused = round % 4 != 1;
        if (round % 2 == 0) o.delta = 1 + round % 7;
        if (round % 4 == 3) o.items = 1 + round % 6;  // most spill
        o.reserve_items = 8192;
        ASSERT_NO_THROW(near_far_meets_dijkstra(g, round % g.vertices(), o));
        if (HasFailure()) return;
    }
}

TEST_P(near_far_test, StarsPathsCompleteAndUnconnectedGraphs) {
    apps::near_far_options o = job();
    o.job.cpu_threads = 1;
    o.job.chunk_bytes = 1024;
    const bool large = GetParam() == "cpu:1" || GetParam() == "cuda";
    const auto star = star_graph(checked() ? 700 : large ? 1'000'000 : 20'000);
    EXPECT_EQ(near_far_meets_dijkstra(star, 0, o).work.done, star.vertices());
    EXPECT_EQ(near_far_meets_dijkstra(star, 5, o).work.done, 1u);
    // A vertex of a path is a step of all PEs, which takes GPUs some microseconds.
    const auto path = path_graph(checked() ? 60 : GetParam() == "cpu:1" ? 1'000'000 : 5'000);
    EXPECT_EQ(near_far_meets_dijkstra(path, 0, o).work.done, path.vertices());
    const bool wide = GetParam() == "cpu:2" || GetParam() == "cuda";
    const auto dense = near_far_meets_dijkstra(complete_graph(checked() ? 12 : wide ? 3'000 : 150), 1, o);
    // Arcs from all vertices to those of other PEs: halo copies spare nearly all of the messages, and of few vertices
    // most.
    const bool alone = dense.report.devices.size() == 1;
    const std::uint64_t spared_least = (checked() ? 1 : 2) * dense.work.sent;
    EXPECT_TRUE(alone || dense.work.suppressed >= spared_least) << dense.work.suppressed << " suppressed";
    near_far_meets_dijkstra(make_graph(6, {{0, 1, 1}, {1, 0, 1}, {3, 4, 1}, {4, 5, 1}}), 4, o);
    near_far_meets_dijkstra(make_graph(5, {}), 3, o);
    near_far_meets_dijkstra(make_graph<std::uint64_t>(6, {{0, 1, 1}, {1, 2, 4}, {2, 5, 1}, {0, 5, 9}}), 0, o);
}

// What priorities are for. Without them an item may be done for each of a vertex's many improvements.
TEST_P(near_far_test, PrioritiesKeepTheWorkNearTheLeast) {
    const auto g = grid_graph(checked() ? 8 : 60);
    apps::near_far_options o = job();
    o.delta = 200;
    const auto with = near_far_meets_dijkstra(g, 0, o);
    EXPECT_LE(with.work.done, 3 * with.min_items);
    EXPECT_GT(with.work.rises, 0u);
    o.fused = false;
    const auto waves = near_far_meets_dijkstra(g, 0, o);
    EXPECT_LE(waves.work.done, 3 * waves.min_items);
    EXPECT_GT(waves.work.waves, 10u);
    o.priorities = false;
    const auto without = near_far_meets_dijkstra(g, 0, o);
    EXPECT_EQ(without.work.rises, 0u);
    if (checked()) return;  // too small to do much in vain
    EXPECT_GT(without.work.done, 3 * without.min_items / 2 + waves.work.done);
}

// A gap between distances takes one rise in waves too, not one for each step.
TEST_P(near_far_test, WavesLeaveOutStepsThatWouldReleaseNothing) {
    apps::near_far_options o = job();
    o.fused = false;
    o.delta = 1;
    const auto g = make_graph(3, {{0, 1, 0xffffffff}, {1, 2, 0xffffffff}});
    EXPECT_LE(near_far_meets_dijkstra(g, 0, o).work.waves, 8u);
}

TEST_P(near_far_test, GoesOnWhereAllQueuesAreFull) {
    apps::near_far_options o = job();
    EXPECT_EQ(near_far_meets_dijkstra(star_graph(600), 0, o).work.overflowed, 0u);
    o.items = o.reserve_items = 2;
    for (const bool fused : {true, false}) {
        o.fused = fused;
        const auto result = near_far_meets_dijkstra(star_graph(600), 0, o);
        EXPECT_GE(result.work.overflowed, 1u);
        EXPECT_EQ(result.work.done, 601u);
    }
}

TEST_P(near_far_test, RefusesWrongUseAndTellsOfFullQueues) {
    const auto g = make_graph(3, {{0, 1, 1}});
    const std::uint64_t outside = 3, inside = 0;
    EXPECT_THROW(apps::near_far(g, std::span(&outside, 1), job()), usage_error);
    EXPECT_THROW(apps::near_far(g, {}, job()), usage_error);
    apps::near_far_options o = job();
    o.delta = 0;
    EXPECT_THROW(apps::near_far(g, std::span(&inside, 1), o), usage_error);
    o = job();
    o.items = o.reserve_items = 2;
    o.overflow_bytes = 0;
    EXPECT_THROW(apps::near_far(star_graph(600), std::span(&inside, 1), o), full_worklist);
}

LANEWAY_ON_DEVICES(near_far_test, program_lists());

}  // namespace laneway::test

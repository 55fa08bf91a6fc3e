// Programs on devices that stay open, and on graphs that stay there.
#pragma once

#include <stop_token>

#include "color/color.hpp"
#include "indegree/indegree.hpp"
#include "kmeans/kmeans.hpp"
#include "kmer/kmer.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/runtime.hpp"
#include "pagerank/pagerank.hpp"
#include "sssp/shortest_paths.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

using apps::resident_graph;
using apps::workspace;

class workspace_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job() const {
        options o = options_of(GetParam(), 2);
        o.ring_slots = 0;
        o.timeout_seconds = 60;
        return o;
    }
    template <class Options>
    [[nodiscard]] Options of() const {
        Options o;
        o.job = job();
        return o;
    }
    [[nodiscard]] static std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
        std::uint64_t all = 0;
        for (const std::uint64_t count : counts) all += count;
        return all;
    }
    /// What a call copies to the devices.
    template <class Call>
    static std::uint64_t copied_by(workspace& space, Call&& call) {
        const std::uint64_t before = sum(space.copied_bytes());
        call();
        return sum(space.copied_bytes()) - before;
    }
};

TEST_P(workspace_test, ProgramsGiveWhatTheyGiveAlone) {
    workspace space(job());
    for (std::uint64_t round = 0; round < 4; ++round) {
        const auto g = random_graph(round + 2, 60);
        resident_graph resident(space, g);
        for (std::uint64_t again = 0; again < 3; ++again) {
            const std::uint64_t source = again % g.vertices();
            for (const bool unit_weights : {false, true}) {
                auto paths = of<apps::shortest_paths_options>();
                paths.unit_weights = unit_weights;
                if (again == 2) paths.delta = 3;
                const auto found = apps::shortest_paths(resident, std::vector{source}, paths);
                const auto alone = apps::shortest_paths(g, source, paths);
                EXPECT_EQ(found.distance, alone.distance);
                EXPECT_EQ(found.delta, alone.delta);
            }
            auto ranks = of<apps::pagerank_options>();
            ranks.weighted = again != 1;
            if (again == 1) ranks.personalization.assign(g.vertices(), 1);
            if (again == 2) ranks.nstart.assign(g.vertices(), 1);
            if (again != 0) (again == 1 ? ranks.personalization : ranks.nstart)[0] = 7;
            const auto found_ranks = apps::pagerank(resident, ranks);
            const auto alone_ranks = apps::pagerank(g, ranks);
            EXPECT_EQ(found_ranks.rank, alone_ranks.rank);
            EXPECT_EQ(found_ranks.rounds, alone_ranks.rounds);
            auto colors = of<apps::color_options>();
            colors.order = again / 2;
            EXPECT_EQ(apps::color(resident, colors).color, apps::color(g, colors).color);
            const apps::indegree_options walk{job(), again == 1 ? apps::arc_walk::arcs : apps::arc_walk::lists};
            EXPECT_EQ(apps::indegree(resident, walk).in_degree, apps::indegree(g, walk).in_degree);
        }
    }
}

TEST_P(workspace_test, AGraphIsCopiedOnce) {
    workspace space(job());
    const auto g = random_graph(3, 400);
    resident_graph resident(space, g);
    const std::uint64_t arcs = g.arc_count() * sizeof(std::uint32_t);
    const auto options = of<apps::shortest_paths_options>();
    const auto call = [&](std::uint64_t source) {
        return copied_by(space, [&] {
            const auto result = apps::shortest_paths(resident, std::vector{source}, options);
            EXPECT_EQ(result.partition_seconds > 0, source == 0) << "told by the call that waited for it";
        });
    };
    EXPECT_GE(call(0), 2 * arcs) << "heads and weights";
    const std::uint64_t again = call(1);
    EXPECT_LT(again, arcs);
    for (std::uint64_t source = 2; source < 10; ++source) EXPECT_LE(call(source), again + 64) << source;
}

TEST_P(workspace_test, PartsHaveTheirOwnPieces) {
    workspace space(job());
    const auto g = random_graph(6, 60);
    resident_graph resident(space, g);
    const auto pes = static_cast<std::uint32_t>(space.devices()->n_pes());
    std::vector<std::uint32_t> parts(g.vertices());
    for (std::uint32_t step = 1; step < 4; ++step) {
        for (std::size_t v = 0; v < parts.size(); ++v) parts[v] = static_cast<std::uint32_t>(v / step) % pes;
        auto options = of<apps::shortest_paths_options>();
        options.parts = parts;
        EXPECT_EQ(apps::shortest_paths(resident, std::vector<std::uint64_t>{0}, options).distance,
                  apps::dijkstra(g, 0, false));
    }
}

TEST_P(workspace_test, WhatIsKeptGoesWithTheGraphAndByTheBound) {
    const auto g = random_graph(3, 400);
    const apps::indegree_options options{job(), apps::arc_walk::lists};
    workspace space(job());
    {
        resident_graph first(space, g);
        (void)apps::indegree(first, options);
        const std::uint64_t with_one = sum(space.held_bytes());
        {
            resident_graph second(space, g);
            (void)apps::indegree(second, options);
            EXPECT_TRUE(first.kept() && second.kept());
            EXPECT_GT(sum(space.held_bytes()), with_one);
        }
        EXPECT_EQ(sum(space.held_bytes()), with_one);
    }
    // Room for two.
    resident_graph a(space, g), b(space, g), c(space, g);
    for (resident_graph* each : {&a, &b}) (void)apps::indegree(*each, options);
    const auto held = space.held_bytes();
    workspace bounded(job(), *std::max_element(held.begin(), held.end()));
    resident_graph d(bounded, g), e(bounded, g), f(bounded, g);
    for (resident_graph* each : {&d, &e, &d, &f}) (void)apps::indegree(*each, options);
    EXPECT_TRUE(d.kept() && f.kept());
    EXPECT_FALSE(e.kept()) << "it was used least recently";
    EXPECT_EQ(apps::indegree(e, options).in_degree, apps::indegree(g, options).in_degree);
    workspace nothing(job(), 0);
    resident_graph lone(nothing, g);
    EXPECT_EQ(apps::indegree(lone, options).in_degree, apps::indegree(g, options).in_degree);
    EXPECT_FALSE(lone.kept());
}

TEST_P(workspace_test, WhatIsKeptCostsNoCallItsMemory) {
    workspace space(job());
    const auto g = random_graph(3, 60);
    resident_graph kept(space, g), wanted(space, g);
    (void)apps::indegree(kept, {job(), apps::arc_walk::lists});
    int made = 0;
    const auto make = [&](runtime&) {
        ++made;
        if (kept.kept()) throw system_error("not enough memory");
        return std::make_shared<int>(7);
    };
    EXPECT_EQ(wanted.with<int>(0, {}, make, [](int seven) { return seven; }), 7);
    EXPECT_EQ(made, 2);
    EXPECT_FALSE(kept.kept());
    const auto fail = [&](runtime&) -> std::shared_ptr<long> { throw system_error("not enough memory"); };
    EXPECT_THROW(wanted.with<long>(0, {}, fail, [](long) {}), system_error);
    EXPECT_THROW(kept.with<long>(0, {}, fail, [](long) {}), system_error) << "nothing is left to drop";
}

TEST_P(workspace_test, AFailedRunLeavesTheNextOnesWhatTheyNeed) {
    const auto g = random_graph(5, 60);
    workspace space(job());
    resident_graph resident(space, g);
    const auto options = of<apps::shortest_paths_options>();
    (void)apps::shortest_paths(resident, std::vector<std::uint64_t>{0}, options);
    EXPECT_THROW(apps::shortest_paths(resident, std::vector<std::uint64_t>{g.vertices()}, options), usage_error);
    const std::stop_source stop = [] {
        std::stop_source stopped;
        stopped.request_stop();
        return stopped;
    }();
    const auto is_left = [&](auto&& call) {
        const interruption leave(stop.get_token());
        try {
            call();  // which on one device may be over before it is asked
        } catch (const interrupted&) {
        }
    };
    is_left([&] { (void)apps::shortest_paths(resident, std::vector<std::uint64_t>{0}, options); });
    is_left([&] { (void)apps::pagerank(resident, of<apps::pagerank_options>()); });
    is_left([&] { (void)apps::color(resident, of<apps::color_options>()); });
    EXPECT_EQ(apps::shortest_paths(resident, std::vector<std::uint64_t>{0}, options).distance,
              apps::dijkstra(g, 0, false));
    EXPECT_EQ(apps::pagerank(resident, of<apps::pagerank_options>()).rank,
              apps::pagerank(g, of<apps::pagerank_options>()).rank);
    EXPECT_EQ(apps::color(resident, of<apps::color_options>()).color, apps::color(g, of<apps::color_options>()).color);
}

TEST_P(workspace_test, ProgramsOfOtherInputsShareTheDevices) {
    workspace space(job());
    const std::vector<double> points{0, 0, 0, 1, 9, 9, 9, 8}, centers{0, 0, 9, 9};
    const auto clusters = of<apps::kmeans_options>();
    apps::packed_sequences sequences;
    apps::add_sequence("ACGTTGCATTAG", sequences);
    auto kmers = of<apps::kmer_options>();
    kmers.k = 3;
    const auto alone = apps::kmeans<double>({points.data(), 4, 2}, centers, clusters);
    apps::kmer_counter counter(sequences, kmers, space.devices());
    (void)counter.run();
    for (int again = 0; again < 3; ++again) {
        const auto found = space.run([&](const std::shared_ptr<runtime>& devices) {
            return apps::kmeans<double>(*devices, {points.data(), 4, 2}, centers, clusters);
        });
        EXPECT_EQ(found.labels, alone.labels);
        EXPECT_EQ(found.cluster_centers, alone.cluster_centers);
        EXPECT_EQ(counter.counts_of({"ACG", "AAA"}), (std::vector<std::uint64_t>{2, 0}));
    }
}

TEST_P(workspace_test, NumbersOfArraysNeverRunOut) {
    if (GetParam() == "cuda") GTEST_SKIP() << "as on one GPU: a million allocations take a minute on several";
    workspace space(job());
    const auto g = random_graph(3, 60);
    resident_graph resident(space, g);
    const apps::indegree_options options{job(), apps::arc_walk::lists};
    const std::uint64_t copied = copied_by(space, [&] { (void)apps::indegree(resident, options); });
    while (space.devices()->machine().segments_left() > 4096) (void)space.devices()->allocate<std::uint64_t>(1);
    (void)space.devices()->allocate<std::uint64_t>(1);
    EXPECT_EQ(apps::indegree(resident, options).in_degree, apps::indegree(g, options).in_degree);
    EXPECT_GT(space.devices()->machine().segments_left(), 100000u);
    EXPECT_GT(sum(space.copied_bytes()), copied) << "told of the devices that were open before, too";
}

TEST_P(workspace_test, WrongDevicesAreRefusedWhenTheyAreNeeded) {
    options wrong = job();
    wrong.devices = "nix";
    workspace space(wrong);
    const auto g = random_graph(3, 60);
    resident_graph resident(space, g);
    EXPECT_TRUE(space.held_bytes().empty());
    EXPECT_THROW(apps::color(resident, of<apps::color_options>()), usage_error);
}

LANEWAY_ON_DEVICES(workspace_test, program_lists());

}  // namespace laneway::test

// In-degrees over many devices against counting heads on the host.
#pragma once

#include <random>

#include "indegree/indegree.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

template <class Vertex>
graph::graph graph_of_lists(const std::vector<std::vector<Vertex>>& lists) {
    graph::basic_csr<Vertex> csr;
    for (const auto& list : lists) {
        csr.heads.insert(csr.heads.end(), list.begin(), list.end());
        csr.offsets.push_back(csr.heads.size());
    }
    graph::graph g;
    g.arcs = std::move(csr);
    g.ids.vertices = lists.size();
    return g;
}

/// Lists of many lengths: mostly none or few arcs, now and then a long one; self-loops and parallel arcs.
inline graph::graph random_lists(std::uint64_t seed, std::uint64_t max_vertices) {
    std::mt19937_64 random(seed);
    std::vector<std::vector<std::uint32_t>> lists(1 + random() % max_vertices);
    for (auto& list : lists) {
        const std::uint64_t length = random() % 8 == 0 ? random() % 40 : random() % 3;
        for (std::uint64_t i = 0; i < length; ++i) {
            list.push_back(static_cast<std::uint32_t>(random() % 4 == 0 ? 0 : random() % lists.size()));
        }
    }
    return graph_of_lists(lists);
}

inline void counts_every_arc(const graph::graph& g, const apps::indegree_options& o) {
    std::vector<std::uint64_t> expected(g.vertices());
    std::visit(
        [&](const auto& csr) {
            for (const auto head : csr.heads) ++expected[head];
        },
        g.arcs);
    const auto result = apps::indegree(g, o);
    EXPECT_EQ(result.in_degree, expected);
    EXPECT_EQ(result.report.posted, g.arc_count()) << "a message an arc";
    EXPECT_EQ(result.report.posted, result.report.direct + result.report.carried);
    EXPECT_EQ(result.report.carried, result.report.served);
}

class indegree_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::indegree_options job(std::uint64_t round = 2) const {
        apps::indegree_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        o.walk = round % 3 == 0 ? apps::arc_walk::arcs : apps::arc_walk::lists;
        return o;
    }
};

TEST_P(indegree_test, RandomLists) {
    const std::uint64_t rounds = std::min<std::uint64_t>(400, rounds_of(GetParam()));
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        ASSERT_NO_THROW(counts_every_arc(random_lists(round, is_checked(GetParam()) ? 30 : 600), job(round)));
        if (HasFailure()) return;
    }
}

TEST_P(indegree_test, OddGraphs) {
    for (const apps::arc_walk walk : {apps::arc_walk::lists, apps::arc_walk::arcs}) {
        apps::indegree_options o = job();
        o.walk = walk;
        counts_every_arc(graph_of_lists<std::uint32_t>({}), o);
        counts_every_arc(graph_of_lists<std::uint32_t>({{}}), o);
        counts_every_arc(graph_of_lists<std::uint32_t>({{0, 0, 0}}), o);
        counts_every_arc(graph_of_lists<std::uint32_t>({{}, {}, {0, 1, 2, 2}, {}}), o);
        counts_every_arc(graph_of_lists<std::uint64_t>({{3, 1}, {}, {3}, {0, 3, 3}}), o);
        // One list has all arcs, and all but one lane nothing to do.
        counts_every_arc(graph_of_lists<std::uint32_t>({{}, std::vector<std::uint32_t>(300, 2), {}, {}}), o);
    }
}

// As in Orr 2016, figure 5-6, lists of two, one, one and three arcs; v0 is reached from v1 and v3.
TEST_P(indegree_test, ListsOfDifferentLengths) {
    const auto g = graph_of_lists<std::uint32_t>({{1, 2}, {0}, {1}, {0, 1, 2}});
    EXPECT_EQ(apps::indegree(g, job()).in_degree, (std::vector<std::uint64_t>{2, 3, 2, 0}));
}

/// Larger graphs, without the checked mode: a scheduler's step for each atomic would take minutes.
class indegree_graphs_test : public testing::TestWithParam<std::string> {};

TEST_P(indegree_graphs_test, PowerLaw) {
    const auto g = graph::generate_kronecker({12, 100'000, false, 255, 7});
    for (const apps::arc_walk walk : {apps::arc_walk::lists, apps::arc_walk::arcs}) {
        apps::indegree_options o;
        o.job.devices = GetParam();
        o.walk = walk;
        counts_every_arc(g, o);
    }
}

TEST_P(indegree_graphs_test, Slashdot) {
    LANEWAY_NEED_SHARED_DATA(file, "graphs/soc-Slashdot0902.txt.gz");
    apps::indegree_options o;
    o.job.devices = GetParam();
    const auto g = graph::read_graph(file);
    EXPECT_EQ(g.vertices(), 82168u);
    counts_every_arc(g, o);
}

#if !defined(__CUDACC__)
TEST(arc_walk_test, NamesAreChecked) {
    EXPECT_EQ(apps::parse_arc_walk("arcs"), apps::arc_walk::arcs);
    EXPECT_EQ(apps::parse_arc_walk("lists"), apps::arc_walk::lists);
    EXPECT_THROW((void)apps::parse_arc_walk("list"), usage_error);
}
#endif

LANEWAY_ON_DEVICES(indegree_test, program_lists());
LANEWAY_ON_DEVICES(indegree_graphs_test, device_lists(1, false));

}  // namespace laneway::test

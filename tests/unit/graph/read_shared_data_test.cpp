// Real graphs, as their publishers wrote them, and the answers that came with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <queue>
#include <set>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/graph/read.hpp"
#include "test_files.hpp"

namespace laneway::graph {
namespace {

const csr32& csr_of(const graph& g) { return std::get<csr32>(g.arcs); }

struct known_graph {
    const char* file;
    std::uint64_t vertices, arcs, first;
    bool weighted;
    bool arcs_alone = false;
};

void PrintTo(const known_graph& known, std::ostream* out) { *out << known.file; }

class known_graph_test : public testing::TestWithParam<known_graph> {};

TEST_P(known_graph_test, HasItsPublishedCounts) {
    const known_graph& known = GetParam();
    LANEWAY_NEED_SHARED_DATA(path, std::string("graphs/") + known.file);
    if (known.arcs_alone) {
        EXPECT_THROW((void)read_graph(path), usage_error) << "it has negative values";
    }
    const graph g = read_graph(path, {.unweighted = known.arcs_alone});
    EXPECT_EQ(g.vertices(), known.vertices);
    EXPECT_EQ(g.arc_count(), known.arcs);
    EXPECT_EQ(g.ids.id_of(0), known.first);
    EXPECT_EQ(g.weighted(), known.weighted);
}

INSTANTIATE_TEST_SUITE_P(graphs, known_graph_test,
                         testing::Values(known_graph{"USA-road-d.NY.gr.gz", 264'346, 733'846, 1, true},
                                         known_graph{"pace16-NY.gr.xz", 264'346, 2 * 365'050, 1, false},
                                         known_graph{"pace16-NW.gr.xz", 1'207'945, 2 * 1'410'387, 1, false},
                                         known_graph{"bremen_dist.gr.gz", 40'461, 86'475, 0, true},
                                         known_graph{"soc-Slashdot0902.txt.gz", 82'168, 948'464, 0, false},
                                         known_graph{"wiki-Vote.txt.gz", 7'115, 103'689, 3, false},
                                         known_graph{"facebook_combined.txt.gz", 4'039, 88'234, 0, false},
                                         known_graph{"copter2.graph.gz", 55'476, 2 * 352'238, 1, false},
                                         known_graph{"4elt.graph.gz", 15'606, 2 * 45'878, 1, false},
                                         // 42,943 entries, of which 2,003 on the diagonal.
                                         known_graph{"bcsstk13.mtx.gz", 2'003, 2 * 42'943 - 2'003, 1, false, true}));

// Facts counted from the text with awk.
TEST(new_york_test, DegreesAndWeights) {
    LANEWAY_NEED_SHARED_DATA(path, "graphs/USA-road-d.NY.gr.gz");
    const graph g = read_graph(path);
    const csr32& csr = csr_of(g);
    std::vector<std::uint64_t> of_degree(9);
    for (std::uint64_t v = 0; v < csr.vertices(); ++v) ++of_degree.at(csr.offsets[v + 1] - csr.offsets[v]);
    EXPECT_EQ(of_degree, (std::vector<std::uint64_t>{0, 41'050, 38'048, 126'262, 57'341, 1'341, 285, 17, 2}));
    std::uint64_t sum = 0;
    for (const std::uint32_t weight : csr.weights) sum += weight;
    EXPECT_EQ(sum, 949'085'490u);
}

TEST(bremen_test, ZeroWeightSurvives) {
    LANEWAY_NEED_SHARED_DATA(path, "graphs/bremen_dist.gr.gz");
    const graph g = read_graph(path);
    EXPECT_EQ(std::count(csr_of(g).weights.begin(), csr_of(g).weights.end(), 0u), 21);
}

// GAP drops self-loops and repeated arcs, then counts: "14 nodes and 53 directed edges" for each of its files.
TEST(gapbs_test, EveryFormatHoldsTheGraphThatGapLoads) {
    LANEWAY_NEED_SHARED_DATA(archive, "references/gapbs.tar.xz");
    const test::scratch_directory files;
    files.unpack(archive);
    for (const char* name : {"4.el", "4.gr", "4.graph", "4.mtx", "4.wel", "4w.graph", "4w.mtx"}) {
        const graph g = read_graph(files / ("gapbs/graphs/" + std::string(name)));
        const csr32& csr = csr_of(g);
        std::set<std::pair<std::uint64_t, std::uint32_t>> arcs;
        for (std::uint64_t v = 0; v < csr.vertices(); ++v)
            for (std::uint64_t arc = csr.offsets[v]; arc < csr.offsets[v + 1]; ++arc)
                if (csr.heads[arc] != v) arcs.emplace(v, csr.heads[arc]);
        std::string expected;
        std::getline(std::ifstream(files / ("gapbs/reference/graph-" + std::string(name) + ".out")), expected);
        EXPECT_EQ("Graph has " + std::to_string(csr.vertices()) + " nodes and " + std::to_string(arcs.size()) +
                      " directed edges for degree: 3",
                  expected)
            << name;
    }
}

constexpr double unreached = std::numeric_limits<double>::infinity();

std::vector<double> distances(const graph& g, std::uint64_t source) {
    const csr32& csr = csr_of(g);
    std::vector<double> distance(csr.vertices(), unreached);
    std::priority_queue<std::pair<std::int64_t, std::uint64_t>> open;
    open.emplace(0, source);
    while (!open.empty()) {
        const auto [negated, v] = open.top();
        open.pop();
        if (distance[v] != unreached) continue;
        distance[v] = static_cast<double>(-negated) / static_cast<double>(g.weight_scale);
        for (std::uint64_t arc = csr.offsets[v]; arc < csr.offsets[v + 1]; ++arc)
            open.emplace(negated - csr.weight(arc), csr.heads[arc]);
    }
    return distance;
}

void expect_reference(const std::filesystem::path& pair, const std::filesystem::path& reference, std::uint64_t source) {
    SCOPED_TRACE(pair.filename().string());
    const graph g = read_graph(pair);
    const std::vector<double> found = distances(g, g.ids.index_of(source));
    std::ifstream lines(reference);
    std::uint64_t id = 0, count = 0;
    for (std::string value; lines >> id >> value; ++count) {
        const double expected = value[0] == 'i' ? unreached : std::stod(value);
        if (expected > 1e300) {
            EXPECT_EQ(found[g.ids.index_of(id)], unreached) << "vertex " << id;
        } else {
            EXPECT_NEAR(found[g.ids.index_of(id)], expected, 1e-9) << "vertex " << id;
        }
    }
    EXPECT_EQ(count, g.vertices());
}

TEST(ldbc_test, ShortestPathsMeetTheReferences) {
    LANEWAY_NEED_SHARED_DATA(archive, "references/ldbc_graphalytics.tar.xz");
    const test::scratch_directory files;
    files.unpack(archive);
    const auto folder = files / "ldbc_graphalytics/example-data-sets";
    expect_reference(folder / "example-directed.e", folder / "example-directed-SSSP", 1);
    expect_reference(folder / "example-undirected.v", folder / "example-undirected-SSSP", 2);
    expect_reference(folder / "test-sssp-directed.v", folder / "test-sssp-directed-SSSP", 1);
    expect_reference(folder / "test-sssp-undirected.e", folder / "test-sssp-undirected-SSSP", 1);
}

TEST(gnutella_test, ShortestPathsMeetTheReference) {
    LANEWAY_NEED_SHARED_DATA(archive, "references/p2p-31.tar.xz");
    const test::scratch_directory files;
    files.unpack(archive);
    expect_reference(files / "p2p/p2p-31.e", files / "p2p/p2p-31-SSSP", 6);
}

}  // namespace
}  // namespace laneway::graph

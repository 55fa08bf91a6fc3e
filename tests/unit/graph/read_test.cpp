#include "laneway/graph/read.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "laneway/base/error.hpp"
#include "test_files.hpp"
#include "unit/compressed_samples.hpp"

namespace laneway::graph {
namespace {

using test::arcs_of;

class read_graph_test : public testing::Test {
protected:
    graph read(std::string_view name, std::string_view content, const read_options& options = {}) {
        return read_graph(files_.write(name, content), options);
    }
    test::scratch_directory files_;
};

TEST_F(read_graph_test, DimacsCountsFromOneAndIsDirected) {
    const graph g = read("a.gr", "c note\np sp 4 3\n\na 1 2 10\r\nc a comment between\na 4 1 0\na 1 3 4294967295\n");
    EXPECT_EQ(arcs_of(g), "0>1:10 0>2:4294967295 3>0:0");
    EXPECT_EQ(g.vertices(), 4u);
    EXPECT_EQ(g.ids.index_of(1), 0u);
    EXPECT_EQ(g.ids.id_of(3), 4u);
    EXPECT_TRUE(std::holds_alternative<csr32>(g.arcs));
}

TEST_F(read_graph_test, DimacsKeepsLoopsParallelArcsAndComponents) {
    EXPECT_EQ(arcs_of(read("a.gr", "p sp 5 5\na 2 2 3\na 1 2 9\na 1 2 4\na 5 4 0\na 1 2 9")),
              "0>1:9 0>1:4 0>1:9 1>1:3 4>3:0");
}

TEST_F(read_graph_test, GraphWithoutArcsAndOneVertexAreRight) {
    const graph empty = read("a.gr", "p sp 3 0\n");
    EXPECT_EQ(empty.vertices(), 3u);
    EXPECT_EQ(empty.arc_count(), 0u);
    EXPECT_EQ(read("b.gr", "p sp 1 0\n").vertices(), 1u);
    EXPECT_EQ(arcs_of(read("c.gr", "p sp 1 1\na 1 1 0\n")), "0>0:0");
    EXPECT_EQ(read("d.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n").vertices(), 2u);
    EXPECT_EQ(read("e.graph", "2 0\n\n\n").vertices(), 2u);
}

TEST_F(read_graph_test, DimacsWithoutProblemLineStartsWhereItsIdsStart) {
    const graph zero = read("a.gr", "a 0 2 5\na 2 3 0\n");
    EXPECT_EQ(arcs_of(zero), "0>2:5 2>3:0");
    EXPECT_EQ(zero.ids.first, 0u);
    const graph one = read("b.gr", "a 1 2 5\na 2 3 0\n");
    EXPECT_EQ(arcs_of(one), "0>1:5 1>2:0");
    EXPECT_EQ(one.ids.index_of(3), 2u);
}

TEST_F(read_graph_test, PaceIsUndirectedAndUnweighted) {
    const graph g = read("a.gr", "p tw 4 3\n1 2\n3 2\n4 4\n");
    EXPECT_EQ(arcs_of(g), "0>1 1>0 1>2 2>1 3>3");
    EXPECT_FALSE(g.weighted());
    EXPECT_EQ(arcs_of(read("b.gr", "p tw 3 2\na 1 2 6\na 2 3 7\n")), "0>1:6 1>2:7")
        << "arcs with a letter are directed";
}

TEST_F(read_graph_test, DirectedOptionOverridesTheFormat) {
    EXPECT_EQ(arcs_of(read("a.gr", "p tw 2 1\n1 2\n", {.directed = true})), "0>1");
    EXPECT_EQ(arcs_of(read("b.gr", "p sp 2 1\na 1 2 6\n", {.directed = false})), "0>1:6 1>0:6");
    EXPECT_EQ(arcs_of(read("c.txt", "7 9\n9 9\n", {.directed = false})), "0>1 1>0 1>1");
}

TEST_F(read_graph_test, SnapNumbersOnlyTheIdsThatOccur) {
    const graph g = read("a.txt", "# comment\n# FromNodeId\tToNodeId\n100\t7\n7\t5000000000000\n100\t100\n");
    EXPECT_EQ(arcs_of(g), "0>2 1>0 1>1");
    EXPECT_EQ(g.ids.labels, (std::vector<std::uint64_t>{7, 100, 5'000'000'000'000}));
    EXPECT_EQ(g.ids.index_of(100), 1u);
    EXPECT_EQ(g.ids.id_of(2), 5'000'000'000'000u);
    EXPECT_THROW((void)g.ids.index_of(8), usage_error);
}

TEST_F(read_graph_test, SnapWithoutGapsNeedsNoLabels) {
    const graph g = read("a.txt", "4 5\n6 4\n");
    EXPECT_TRUE(g.ids.labels.empty());
    EXPECT_EQ(g.ids.first, 4u);
    EXPECT_EQ(g.ids.vertices, 3u);
    EXPECT_EQ(arcs_of(g), "0>1 2>0");
}

TEST_F(read_graph_test, SnapIdsThatTurnWideHalfWayKeepTheirArcs) {
    std::string text;
    for (int i = 0; i < 70'000; ++i) text += std::to_string(i) + " " + std::to_string((i + 1) % 70'000) + "\n";
    text += "123456789012345 3\n";
    const graph g = read("a.txt", text);
    const auto& csr = std::get<csr32>(g.arcs);
    ASSERT_EQ(csr.vertices(), 70'001u);
    ASSERT_EQ(csr.arcs(), 70'001u);
    for (std::uint32_t v = 0; v < 70'000; ++v) ASSERT_EQ(csr.heads[csr.offsets[v]], (v + 1) % 70'000);
    EXPECT_EQ(csr.heads.back(), 3u);
    EXPECT_EQ(g.ids.id_of(70'000), 123456789012345u);
}

TEST_F(read_graph_test, EdgeListsReachFromZeroToTheGreatestId) {
    const graph g = read("a.el", "1 4\n4 1\n");
    EXPECT_EQ(g.vertices(), 5u);
    EXPECT_EQ(arcs_of(g), "1>4 4>1");
    EXPECT_EQ(arcs_of(read("a.wel", "1 2 30\n0 1 7\n")), "0>1:7 1>2:30");
}

TEST_F(read_graph_test, DecimalWeightsShareOnePowerOfTen) {
    const graph g = read("a.wel", "0 1 2\n0 2 0.5\n1 2 1.25e1\n2 0 .125\n2 1 3000E-3\n");
    EXPECT_EQ(g.weight_scale, 1000u);
    EXPECT_EQ(arcs_of(g), "0>1:2000 0>2:500 1>2:12500 2>0:125 2>1:3000");
    EXPECT_EQ(read("b.wel", "0 1 2.0\n1 0 7.00e0\n").weight_scale, 1u);
}

TEST_F(read_graph_test, DecimalWeightsRoundWhere32BitsEnd) {
    const graph g = read("a.wel", "0 1 0.123456789\n0 2 1.5\n1 2 4000000\n2 0 0.01\n");
    EXPECT_EQ(g.weight_scale, 1000u);
    EXPECT_EQ(arcs_of(g), "0>1:123 0>2:1500 1>2:4000000000 2>0:10");
    EXPECT_TRUE(g.weights_rounded);
    const graph whole = read("b.wel", "0 1 1.25\n1 0 7\n");
    EXPECT_FALSE(whole.weights_rounded);
}

TEST_F(read_graph_test, RoundingLeavesTwoDigitsAtLeast) {
    const std::string third = "0 2 0.3333333333333333\n";
    EXPECT_EQ(arcs_of(read("a.wel", "0 1 1e-8\n" + third)), "0>1:10 0>2:333333333");
    EXPECT_EQ(arcs_of(read("b.wel", "0 1 1e-9\n" + third)), "0>1:1 0>2:333333333") << "exact";
    EXPECT_EQ(arcs_of(read("c.wel", "0 1 0.0000000000\n" + third)), "0>1:0 0>2:333333333") << "exact";
}

TEST_F(read_graph_test, MatrixMarketSymmetryAndValues) {
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    EXPECT_EQ(arcs_of(read("a.mtx", banner + "pattern general\n% c\n3 3 2\n1 2\n3 3\n")), "0>1 2>2");
    EXPECT_EQ(arcs_of(read("b.mtx", banner + "integer symmetric\n3 3 2\n2 1 8\n3 3 9\n")), "0>1:8 1>0:8 2>2:9");
    const std::string skew = banner + "real skew-symmetric\n3 3 2\n2 1 8\n3 1 0\n";
    EXPECT_EQ(arcs_of(read("s.mtx", skew, {.unweighted = true})), "0>1 0>2 1>0 2>0");
    EXPECT_EQ(arcs_of(read("s.mtx", skew, {.directed = true})), "1>0:8 2>0:0") << "as they stand in the file";
    const graph real = read("c.mtx", banner + "real general\n2 2 2\n1 2 1.5e0\n2 1 2\n");
    EXPECT_EQ(arcs_of(real), "0>1:15 1>0:20");
    EXPECT_EQ(real.weight_scale, 10u);
    EXPECT_EQ(arcs_of(read("d.mtx", "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n2 2 1\n2 1\n")), "0>1 1>0");
}

TEST_F(read_graph_test, UnweightedReadingTakesTheArcsAlone) {
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    const read_options alone{.unweighted = true};
    const graph negative = read("a.mtx", banner + "real general\n3 3 3\n1 2 1.5\n2 1 -2.5\n2 3 4\n", alone);
    EXPECT_EQ(arcs_of(negative), "0>1 1>0 1>2");
    EXPECT_EQ(negative.weight_scale, 1u);
    EXPECT_EQ(arcs_of(read("b.mtx", banner + "real general\n2 2 1\n1 2 5e9\n", alone)), "0>1");
    EXPECT_EQ(arcs_of(read("c.mtx", banner + "complex hermitian\n2 2 1\n2 1 5 -1\n", alone)), "0>1 1>0");
    EXPECT_EQ(arcs_of(read("d.txt", "1 2 4000000000\n2 1 0.4\n", alone)), "0>1 1>0");
    EXPECT_EQ(arcs_of(read("e.gr", "p sp 2 2\na 1 2 -7\na 2 1 5000000000\n", alone)), "0>1 1>0");
    EXPECT_EQ(arcs_of(read("f.graph", "2 1 1\n2 -5\n1 -5\n", alone)), "0>1 1>0");
    files_.write("g.v", "1\n2\n");
    EXPECT_EQ(arcs_of(read("g.e", "1 2 -0.5\n", alone)), "0>1 1>0");
}

TEST_F(read_graph_test, MetisFormats) {
    EXPECT_EQ(arcs_of(read("a.graph", "% c\n3 2\n2\n1 3\n2\n")), "0>1 1>0 1>2 2>1");
    EXPECT_EQ(arcs_of(read("b.graph", "3 2 1\n2 5\n1 5 3 6\n2 6\n")), "0>1:5 1>0:5 1>2:6 2>1:6");
    EXPECT_EQ(arcs_of(read("c.graph", "3 2 011 2\n8 8 2 5\n8 8 1 5 3 6\n8 8 2 6\n")), "0>1:5 1>0:5 1>2:6 2>1:6");
    EXPECT_EQ(arcs_of(read("d.graph", "3 2 111\n9 8 2 5\n9 8 1 5 3 6\n9 8 2 6\n")), "0>1:5 1>0:5 1>2:6 2>1:6");
    EXPECT_EQ(arcs_of(read("e.graph", "3 1\n\n3\n2\n")), "1>2 2>1") << "an isolated vertex has a blank line";
}

TEST_F(read_graph_test, MetisFormat100MeansSizesOrNone) {
    EXPECT_EQ(arcs_of(read("a.graph", "3 2 100\n1 2\n1 1 3\n1 2\n")), "0>1 1>0 1>2 2>1");
    EXPECT_EQ(arcs_of(read("b.graph", "3 3 100\n2 3\n\n1\n")), "0>1 0>2 2>0") << "GAP lists arcs and no sizes";
    EXPECT_EQ(read("c.graph", "4 4 100\n2 4\n1 3\n2 4\n1 3\n").arc_count(), 8u) << "all edges from both ends, no sizes";
}

TEST_F(read_graph_test, MetisFormat100OfAPipeHasSizes) {
    const auto pipe = files_.path() / "pipe.graph";
    for (const std::string text : {"3 2 100\n1 2\n1 1 3\n1 2\n", "3 3 100\n2 3\n\n1\n"}) {
        ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
        std::thread writer([&] { std::ofstream(pipe) << text; });
        if (text.starts_with("3 2"))
            EXPECT_EQ(read_graph(pipe, {}).arc_count(), 4u);
        else
            EXPECT_THROW((void)read_graph(pipe, {}), usage_error) << "read once, as METIS means it";
        writer.join();
        std::filesystem::remove(pipe);
    }
}

TEST_F(read_graph_test, LdbcPairByEitherPath) {
    files_.write("x.v", "10\n30\n20\n");
    files_.write("x.properties", "graph.x.directed = true\n");
    const auto edges = files_.write("x.e", "30 10 0.5\n10 20 2\n");
    EXPECT_EQ(arcs_of(read_graph(edges)), "0>1:20 2>0:5");
    const graph g = read_graph(files_ / "x.v");
    EXPECT_EQ(arcs_of(g), "0>1:20 2>0:5");
    EXPECT_EQ(g.ids.index_of(30), 2u);
    EXPECT_EQ(g.weight_scale, 10u);
    files_.write("x.properties", "# c\ngraph.x.directed = false\n");
    EXPECT_EQ(arcs_of(read_graph(edges)), "0>2:5 0>1:20 1>0:20 2>0:5") << "in the order of the file";
    EXPECT_EQ(arcs_of(read_graph(edges, {.directed = true})), "0>1:20 2>0:5");
}

TEST_F(read_graph_test, LdbcFilesThatAreNamedAreRead) {
    files_.write("x.v", "1\n2\n");
    files_.write("x.e.gz", "1 2\n2 1\n");  // content tells what is packed
    EXPECT_EQ(read("x.e", "1 2\n", {.directed = true}).arc_count(), 1u);
    EXPECT_EQ(read("x.e.gz", "1 2\n2 1\n", {.directed = true}).arc_count(), 2u);
}

TEST_F(read_graph_test, LdbcWithoutPropertiesIsUndirectedAndMayHaveNoEdges) {
    files_.write("x.v", "1 7\n2 3\n");
    EXPECT_EQ(arcs_of(read("x.e", "1 2 4\n")), "0>1:4 1>0:4");
    EXPECT_EQ(read("x.e", "").vertices(), 2u);
}

TEST_F(read_graph_test, ContentTellsTheFormatOfAnUnknownName) {
    EXPECT_TRUE(read("a", "p sp 2 1\na 1 2 6\n").weighted());
    EXPECT_EQ(read("b", "%%MatrixMarket matrix coordinate pattern general\n5 5 1\n1 2\n").vertices(), 5u);
    EXPECT_EQ(read("c", "3 2\n2\n1 3\n2\n").ids.first, 1u) << "lines of unequal length: METIS";
    EXPECT_EQ(read("d", "4 4\n2 4\n1 3\n2 4\n1 3\n").arc_count(), 8u) << "counts fit: METIS";
    EXPECT_EQ(read("e", "4 4\n2 4\n1 3\n").arc_count(), 3u) << "counts do not fit: edges";
    EXPECT_EQ(arcs_of(read("loop", "0 0\n")), "0>0") << "an edge rather than a graph without vertices";
    EXPECT_TRUE(read("f", "1 2 9\n2 3 9\n").weighted());
    EXPECT_EQ(arcs_of(read("g", "a 1 2 6\n")), "0>1:6");
}

TEST_F(read_graph_test, FormatOptionOverridesTheGuess) {
    const std::string cycle = "4 4\n2 4\n1 3\n2 4\n1 3\n";
    EXPECT_EQ(read("a", cycle, {.format = file_format::snap}).arc_count(), 5u);
    EXPECT_EQ(read("a.txt", cycle, {.format = file_format::metis}).arc_count(), 8u);
    EXPECT_EQ(parse_format("matrix_market"), file_format::matrix_market);
    EXPECT_THROW((void)parse_format("metiss"), usage_error);
}

TEST_F(read_graph_test, IdWidthIsAsAskedFor) {
    const graph g = read("a.gr", "p sp 3 2\na 1 3 6\na 3 2 7\n", {.ids = id_width::bits64});
    ASSERT_TRUE(std::holds_alternative<csr64>(g.arcs));
    EXPECT_EQ(arcs_of(g), "0>2:6 2>1:7");
}

TEST_F(read_graph_test, CompressionIsToldFromTheBytesNotTheName) {
    const std::string expected = "0>1:5 1>2:7 2>0:0";
    EXPECT_EQ(arcs_of(read("a.gr", test::triangle_text)), expected);
    for (const auto packed : {test::triangle_gzip, test::triangle_xz}) {
        try {
            EXPECT_EQ(arcs_of(read("a.txt", packed)), expected);
        } catch (const usage_error& e) {
            EXPECT_NE(std::string(e.what()).find("this build reads no"), std::string::npos) << e.what();
        }
    }
}

TEST_F(read_graph_test, LinesMayBeLongerThanTheBlock) {
    const int n = 200'000;
    std::string text = std::to_string(n) + " " + std::to_string(n - 1) + "\n";
    for (int v = 2; v <= n; ++v) text += std::to_string(v) + " ";
    text += "\n";
    for (int v = 2; v <= n; ++v) text += "1\n";
    const graph g = read("star.graph", text);
    const auto& csr = std::get<csr32>(g.arcs);
    EXPECT_EQ(csr.offsets[1], static_cast<std::uint64_t>(n - 1));
    EXPECT_EQ(csr.heads[n - 2], static_cast<std::uint32_t>(n - 1));
    EXPECT_EQ(csr.arcs(), 2u * (n - 1));
}

}  // namespace
}  // namespace laneway::graph

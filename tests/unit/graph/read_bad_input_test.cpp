// Every wrong file ends in one line that names the file, the line and the reason, and allocates nothing large.
#include <gtest/gtest.h>

#include <string>

#include "laneway/base/error.hpp"
#include "laneway/graph/read.hpp"
#include "test_files.hpp"
#include "unit/compressed_samples.hpp"

namespace laneway::graph {
namespace {

struct bad_input {
    const char* name;
    const char* file;
    std::string content;
    std::string message;  // what follows the path
};

void PrintTo(const bad_input& input, std::ostream* out) { *out << input.name; }

std::string rejection(const std::filesystem::path& path, const read_options& options = {}) {
    try {
        (void)read_graph(path, options);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "not rejected";
}

class bad_input_test : public testing::TestWithParam<bad_input> {};

TEST_P(bad_input_test, EndsInOneLine) {
    const test::scratch_directory files;
    const auto path = files.write(GetParam().file, GetParam().content);
    const std::string message = rejection(path);
    if (message.find("this build reads no") != std::string::npos) GTEST_SKIP() << message;
    EXPECT_EQ(message, path.string() + GetParam().message);
    EXPECT_EQ(message.find('\n'), std::string::npos);
}

const std::string mtx = "%%MatrixMarket matrix coordinate ";
const std::string alone = "; unweighted reading takes the arcs alone";
const std::string gz(test::triangle_gzip), xz(test::triangle_xz);

INSTANTIATE_TEST_SUITE_P(
    files, bad_input_test,
    testing::Values(
        bad_input{"empty", "a.gr", "", ": the file is empty"},
        bad_input{"binary", "a.gr", std::string("p\0\1\2\xff\xfe", 6), ": is neither text nor gzip nor xz"},
        bad_input{"only_comments", "a.txt", "# nothing\n", ": only comments: no format to be told from them"},
        bad_input{"id_too_large", "a", "0 18446744073709551616\n", ":1: vertex '18446744073709551616' is too large"},
        bad_input{"prose", "a", "hello there\n",
                  ": the format is not known from the first line 'hello there'; name it by the format option"},
        bad_input{"noise_after_text", "a.gr", std::string("p sp 2 1\na 1 2 \x01\xff\n"),
                  ": is neither text nor gzip nor xz"},
        bad_input{"gzip_cut", "a.gr", gz.substr(0, 30), ": gzip data is cut off"},
        bad_input{"gzip_cut_in_trailer", "a.gr", gz.substr(0, 44), ": gzip data is cut off"},
        bad_input{"gzip_cut_in_magic", "a.gr", gz.substr(0, 2), ": gzip data is cut off"},
        bad_input{"gzip_garbage_behind", "a.gr", gz + "garbage", ": garbage after the end of the gzip data"},
        bad_input{"gzip_damaged", "a.gr", gz.substr(0, 40) + "xxxx" + gz.substr(44), ": gzip data is damaged"},
        bad_input{"xz_cut", "a.gr", xz.substr(0, 50), ": xz data is cut off or followed by garbage"},
        bad_input{"xz_cut_in_footer", "a.gr", xz.substr(0, 84), ": xz data is cut off or followed by garbage"},
        bad_input{"xz_garbage_behind", "a.gr", xz + "garbage", ": xz data is cut off or followed by garbage"},
        bad_input{"xz_long_garbage_behind", "a.gr", xz + "a line of garbage",
                  ": xz data is damaged or followed by garbage"},
        bad_input{"xz_damaged", "a.gr", xz.substr(0, 40) + "xxxx" + xz.substr(44),
                  ": xz data is damaged or followed by garbage"}),
    [](const auto& input) { return input.param.name; });

INSTANTIATE_TEST_SUITE_P(
    dimacs, bad_input_test,
    testing::Values(
        bad_input{"huge_vertex_count", "a.gr", "p sp 1000000000000000 1\na 1 2 3\n",
                  ":1: 1000000000000000 vertices for 1 arcs: over the limit of 16778240"},
        bad_input{"huge_counts", "a.gr", "p sp 1000000000000000 1000000000000000\na 1 2 3\n",
                  ":2: the file ends after 1 of 1000000000000000 announced arcs"},
        bad_input{"count_overflow", "a.gr", "p sp 99999999999999999999 1\n",
                  ":1: number of vertices '99999999999999999999' is too large"},
        bad_input{"vertex_0", "a.gr", "p sp 3 1\na 0 2 3\n", ":2: vertex 0 is outside 1..3"},
        bad_input{"vertex_above_n", "a.gr", "p sp 3 1\nc\na 1 4 3\n", ":3: vertex 4 is outside 1..3"},
        bad_input{"negative_vertex", "a.gr", "p sp 3 1\na -1 2 3\n", ":2: negative vertex '-1'"},
        bad_input{"negative_weight", "a.gr", "p sp 3 1\na 1 2 -3\n", ":2: negative weight '-3'"},
        bad_input{"missing_weight", "a.gr", "p sp 3 1\na 1 2\n", ":2: missing weight"},
        bad_input{"word_as_weight", "a.gr", "p sp 3 1\na 1 2 x7\n", ":2: weight 'x7' is not a whole number"},
        bad_input{"fraction_as_weight", "a.gr", "p sp 3 1\na 1 2 1.5\n", ":2: weight '1.5' is not a whole number"},
        bad_input{"overflowing_weight", "a.gr", "p sp 3 1\na 1 2 4294967296\n",
                  ":2: weight 4294967296 is over the limit of 4294967295"},
        bad_input{"wildly_overflowing_weight", "a.gr", "p sp 3 1\na 1 2 18446744073709551617\n",
                  ":2: weight '18446744073709551617' is too large"},
        bad_input{"fewer_arcs", "a.gr", "p sp 3 2\na 1 2 3\n", ":2: the file ends after 1 of 2 announced arcs"},
        bad_input{"more_arcs", "a.gr", "p sp 3 1\na 1 2 3\na 2 3 4\n", ":3: more arcs than the 1 announced"},
        bad_input{"field_too_many", "a.gr", "p sp 3 1\na 1 2 3 4\n", ":2: unexpected '4' after the last field"},
        bad_input{"short_p_line", "a.gr", "p sp 3\n", ":1: missing number of arcs"},
        bad_input{"second_p_line", "a.gr", "p sp 3 0\np sp 3 0\n", ":2: a second p line"},
        bad_input{"coordinates", "a.gr", "p aux sp co 3\nv 1 2 3\n",
                  ":1: the file holds coordinates or other additions, not arcs"},
        bad_input{"unknown_line", "a.gr", "p sp 3 1\nb 1 2 3\n", ":2: 'b' starts no line of a DIMACS file"},
        bad_input{"arc_without_letter", "a.gr", "p sp 3 1\n1 2 3\n", ":2: an arc without the letter a"},
        bad_input{"mixed_lines", "a.gr", "p tw 3 2\n1 2\na 1 2 3\n",
                  ":3: arcs with a weight and edges without one in one file"},
        bad_input{"neither_p_nor_arc", "a.gr", "c\n", ":1: neither a p line nor an arc"},
        bad_input{"huge_id_without_p_line", "a.gr", "a 0 1 2\na 0 1000000000000000 1\na 1 2 3\n",
                  ":2: 1000000000000001 vertices for 3 arcs: over the limit of 16780288"},
        bad_input{"huge_id_twice", "a.gr", "a 1 2 3\n\na 1000000000000000 1 1\na 2 1000000000000000 3\n",
                  ":3: 1000000000000000 vertices for 3 arcs: over the limit of 16780288"},
        bad_input{"huge_vertex_count_before_arcs", "a.gr", "c\np sp 1000000000000000 2\na 1 2 3\na 2 3 4\n",
                  ":2: 1000000000000000 vertices for 2 arcs: over the limit of 16779264"},
        bad_input{"large_weight_between_others", "a.gr", "p sp 3 3\na 1 2 3\na 2 3 4294967296\na 3 1 4\n",
                  ":3: weight 4294967296 is over the limit of 4294967295"}),
    [](const auto& input) { return input.param.name; });

INSTANTIATE_TEST_SUITE_P(
    other_formats, bad_input_test,
    testing::Values(
        bad_input{"snap_missing_head", "a.txt", "# c\n1 2\n3\n", ":3: missing vertex"},
        bad_input{"snap_missing_weight", "a.txt", "1 2 3\n2 3 4\n3 4\n", ":3: missing weight"},
        bad_input{"snap_extra_field", "a.txt", "1 2\n2 3 4\n", ":2: unexpected '4' after the last field"},
        bad_input{"snap_negative_weight", "a.txt", "1 2 1\n2 3 -1\n", ":2: negative weight '-1'" + alone},
        bad_input{"snap_crushed_weight", "a.txt", "# c\n1 2 0.4\n2 3 1.5\n1 2 4000000000\n3 1 0.6\n",
                  ":2: weight 0.4 beside one of 4000000000 would become 0: weights have 32 bits for the digits of the "
                  "least to those of the greatest" +
                      alone},
        bad_input{"snap_crushed_after_the_greatest", "a.txt", "1 2 4000000000\n2 3 1.5\n3 1 3.5\n",
                  ":2: weight 1.5 beside one of 4000000000 would become 2: weights have 32 bits for the digits of the "
                  "least to those of the greatest" +
                      alone},
        bad_input{"edge_list_weight_too_small", "a.wel", "0 1 1e-30\n1 0 0.5\n",
                  ":1: weight 1e-30 would become 0: weights have 32 bits for the digits of the least to those of the "
                  "greatest" +
                      alone},
        bad_input{"snap_weight_no_number", "a.txt", "1 2 nan\n", ":1: weight 'nan' is not a number"},
        bad_input{"snap_weight_overflow", "a.txt", "1 2 4294967295.5\n",
                  ":1: weight '4294967295.5' is over the limit of 4294967295" + alone},
        bad_input{"snap_weight_of_33_bits", "a.txt", "1 2 3\n2 3 4294967296\n",
                  ":2: weight '4294967296' is over the limit of 4294967295" + alone},
        bad_input{"snap_weight_overflow_between_others", "a.txt", "1 2 0.5\n2 3 4294967296\n3 4 1\n",
                  ":2: weight '4294967296' is over the limit of 4294967295" + alone},
        bad_input{"edge_list_huge_id", "a.el", "1 1000000000000000\n",
                  ":1: 1000000000000001 vertices for 1 arcs: over the limit of 16778240"},
        bad_input{"edge_list_huge_id_between_others", "a.el", "1 2\n# c\n1000000000000000 3\n3 4\n",
                  ":3: 1000000000000001 vertices for 3 arcs: over the limit of 16780288"},
        bad_input{"mtx_not_square", "a.mtx", mtx + "pattern general\n3 4 0\n",
                  ":2: a graph needs a square matrix, not 3 x 4"},
        bad_input{"mtx_array", "a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n",
                  ":1: only 'matrix coordinate' files hold a graph"},
        bad_input{"mtx_index_0", "a.mtx", mtx + "pattern general\n2 2 1\n0 1\n", ":3: index 0 is outside 1..2"},
        bad_input{"mtx_fewer", "a.mtx", mtx + "pattern general\n2 2 2\n1 1\n",
                  ":3: the file ends after 1 of 2 announced entries"},
        bad_input{"mtx_more", "a.mtx", mtx + "pattern general\n2 2 1\n1 1\n1 2\n",
                  ":4: more entries than the 1 announced"},
        bad_input{"mtx_huge", "a.mtx", mtx + "pattern general\n1000000000000000 1000000000000000 1\n1 1\n",
                  ":2: 1000000000000000 vertices for 1 arcs: over the limit of 16778240"},
        bad_input{"mtx_negative_integer", "a.mtx", mtx + "integer general\n2 2 1\n1 1 -4\n",
                  ":3: negative weight '-4'" + alone},
        bad_input{"mtx_negative_real", "a.mtx", mtx + "real general\n2 2 2\n1 1 2.5\n1 2 -4e0\n",
                  ":4: negative weight '-4e0'" + alone},
        bad_input{"mtx_real_of_33_bits", "a.mtx", mtx + "real general\n2 2 2\n1 1 2.5\n1 2 5e9\n",
                  ":4: weight '5e9' is over the limit of 4294967295" + alone},
        bad_input{"mtx_complex", "a.mtx", mtx + "complex general\n2 2 1\n1 1 2 3\n",
                  ":1: complex values are no weights" + alone},
        bad_input{"mtx_skew", "a.mtx", mtx + "real skew-symmetric\n2 2 1\n2 1 4\n",
                  ":3: the skew-symmetric entry stands for a negative weight as well" + alone},
        bad_input{"mtx_crushed_real", "a.mtx", mtx + "real general\n2 2 2\n1 1 0.25\n1 2 3e9\n",
                  ":3: weight 0.25 beside one of 3000000000 would become 0: weights have 32 bits for the digits of the "
                  "least to those of the greatest" +
                      alone},
        bad_input{"mtx_missing_value", "a.mtx", mtx + "real general\n2 2 1\n1 1\n", ":3: missing weight"},
        bad_input{"metis_neighbour_0", "a.graph", "2 1\n0\n1\n", ":2: neighbour 0 is outside 1..2"},
        bad_input{"metis_neighbour_above_n", "a.graph", "2 1\n3\n1\n", ":2: neighbour 3 is outside 1..2"},
        bad_input{"metis_fewer_lines", "a.graph", "3 1\n2\n1\n",
                  ":3: the file ends after the lines of 2 of 3 announced vertices"},
        bad_input{"metis_more_lines", "a.graph", "2 1\n2\n1\n1\n", ":4: more lines than the 2 announced vertices"},
        bad_input{"metis_wrong_edge_count", "a.graph", "3 3\n2\n1 3\n2\n", ":4: 4 neighbours for 3 announced edges"},
        bad_input{"metis_missing_weight", "a.graph", "2 1 1\n2\n1 5\n", ":2: missing weight"},
        bad_input{"metis_bad_format", "a.graph", "2 1 7\n2\n1\n", ":1: format 7 is not three digits 0 or 1"},
        bad_input{"mtx_huge_before_entries", "a.mtx",
                  mtx + "pattern general\n%\n1000000000000000 1000000000000000 1\n1 1\n",
                  ":3: 1000000000000000 vertices for 1 arcs: over the limit of 16778240"},
        bad_input{"metis_huge_before_rows", "a.graph", "% c\n1000000000000000 1\n2\n1\n",
                  ":2: 1000000000000000 vertices for 1 arcs: over the limit of 16778240"},
        bad_input{"metis_edges_wrap", "a.graph", "2 9223372036854775809\n2\n1\n",
                  ":1: 9223372036854775809 edges: over the limit of 4611686018427387904"},
        bad_input{"metis_huge", "a.graph", "1000000000000000 1\n2\n",
                  ":1: 1000000000000000 vertices for 1 arcs: over the limit of 16778240"},
        bad_input{"ldbc_half", "a.v", "1\n2\n",
                  ": LDBC vertices without their edges: no .e file of that name beside it"}),
    [](const auto& input) { return input.param.name; });

TEST(bad_path_test, MissingFileAndDirectory) {
    const test::scratch_directory files;
    EXPECT_EQ(rejection(files / "none.gr"), (files / "none.gr").string() + ": no such file or directory");
    EXPECT_EQ(rejection(files.path()), files.path().string() + ": is a directory");
    EXPECT_EQ(rejection(files / (std::string(300, 'x') + ".e")).rfind(files.path().string(), 0), 0u) << "name too long";
    EXPECT_EQ(rejection(files / "two\nlines"), files.path().string() + "/two?lines: no such file or directory");
}

TEST(bad_path_test, LdbcNamesTheFileAtFault) {
    const test::scratch_directory files;
    const auto vertices = files.write("x.v", "1\n2\n");
    const auto edges = files.write("x.e", "1 2\n2 3\n");
    EXPECT_EQ(rejection(edges), edges.string() + ":2: vertex 3 is not in x.v");
    files.write("x.v", "1\n2\n# c\n1\n3\n");
    EXPECT_EQ(rejection(edges), vertices.string() + ":4: vertex 1 is listed twice");
    files.write("x.v", "1\n2\n3\n");
    const auto properties = files.write("x.properties", "graph.x.vertices = 3\ngraph.x.edges = 2\n");
    EXPECT_EQ(rejection(edges), properties.string() + ": no line says whether the graph is directed");
}

/// A header that asks for more than 32 bits is at fault, not the end of the file.
TEST(narrow_ids_test, NameTheLineThatAsksForMore) {
    const test::scratch_directory files;
    const read_options narrow{.ids = id_width::bits32};
    const std::string reason = ":2: 4294967296 vertices do not fit in 32-bit ids";
    for (const auto& [name, content] : {std::pair{"a.gr", "c\np sp 4294967296 5000000\na 1 2 3\n"},
                                        {"a.graph", "%\n4294967296 5000000\n2\n1\n"},
                                        {"a.mtx",
                                         "%%MatrixMarket matrix coordinate pattern general\n"
                                         "4294967296 4294967296 5000000\n1 1\n"}}) {
        const auto path = files.write(name, content);
        EXPECT_EQ(rejection(path, narrow), path.string() + reason);
    }
}

}  // namespace
}  // namespace laneway::graph

// A fixed number of damaged inputs for every reader: each gives a graph or a usage_error of one line, nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/random.hpp"
#include "laneway/base/error.hpp"
#include "laneway/graph/read.hpp"
#include "test_files.hpp"
#include "unit/compressed_samples.hpp"

namespace laneway::graph {
namespace {

constexpr int inputs_each = 700;

struct seed_input {
    const char* name;
    const char* file;
    std::string content;
};

void PrintTo(const seed_input& input, std::ostream* out) { *out << input.name; }

void flip_bit(std::string& text, random_sequence& random) {
    const std::uint64_t at = random.below(text.size());
    text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
}

void insert_piece(std::string& text, random_sequence& random) {
    static const std::vector<std::string> pieces{"-",
                                                 "0",
                                                 " ",
                                                 "\n",
                                                 "\r\n",
                                                 "\t",
                                                 "999999999999999999999999",
                                                 "18446744073709551616",
                                                 "4294967296",
                                                 "1e400",
                                                 ".5",
                                                 "%",
                                                 "#c",
                                                 "a ",
                                                 "p sp ",
                                                 "nan",
                                                 std::string(1, '\0'),
                                                 std::string(300, '7'),
                                                 "1000000000000000",
                                                 "\xff"};
    text.insert(random.below(text.size() + 1), pieces[random.below(pieces.size())]);
}

void drop_or_repeat(std::string& text, random_sequence& random) {
    const std::uint64_t at = random.below(text.size());
    const std::uint64_t size = random.below(std::min<std::uint64_t>(20, text.size() - at) + 1);
    if (random.below(2) == 0) {
        text.erase(at, size);
    } else {
        text.insert(at, text.substr(at, size));
    }
}

std::string damaged(std::string text, random_sequence& random) {
    for (std::uint64_t left = 1 + random.below(4); left > 0 && !text.empty(); --left) {
        switch (random.below(4)) {
            case 0: flip_bit(text, random); break;
            case 1: insert_piece(text, random); break;
            case 2: drop_or_repeat(text, random); break;
            default: text.resize(text.size() - random.below(std::min<std::uint64_t>(text.size(), 12)));
        }
    }
    return text;
}

template <class Vertex>
void expect_sound(const basic_csr<Vertex>& csr) {
    ASSERT_EQ(csr.offsets.front(), 0u);
    ASSERT_EQ(csr.offsets.back(), csr.arcs());
    for (std::uint64_t v = 0; v < csr.vertices(); ++v) ASSERT_LE(csr.offsets[v], csr.offsets[v + 1]);
    for (const Vertex head : csr.heads) ASSERT_LT(head, csr.vertices());
    ASSERT_TRUE(csr.weights.empty() || csr.weights.size() == csr.arcs());
}

class read_fuzz_test : public testing::TestWithParam<seed_input> {};

TEST_P(read_fuzz_test, GivesAGraphOrOneLine) {
    const seed_input& seed = GetParam();
    const test::scratch_directory files;
    files.write("x.v", "1\n2\n3\n40\n");
    files.write("x.properties", "graph.x.directed = false\n");
    random_sequence random(2026);
    int read = 0, rejected = 0;
    for (int i = 0; i < inputs_each; ++i) {
        const std::string content = damaged(seed.content, random);
        const auto path = files.write(seed.file, content);
        SCOPED_TRACE(testing::PrintToString(content));
        try {
            const graph g = read_graph(path);
            ASSERT_NO_FATAL_FAILURE(std::visit([](const auto& csr) { expect_sound(csr); }, g.arcs));
            ASSERT_EQ(g.ids.vertices, g.vertices());
            ++read;
        } catch (const usage_error& e) {
            const std::string message = e.what();
            ASSERT_EQ(message.find_first_of("\n\r"), std::string::npos);
            ASSERT_EQ(message.rfind(files.path().string(), 0), 0u) << message;
            ++rejected;
        }
    }
    EXPECT_GT(rejected, inputs_each / 4);
    EXPECT_EQ(read + rejected, inputs_each);
}

INSTANTIATE_TEST_SUITE_P(
    readers, read_fuzz_test,
    testing::Values(seed_input{"dimacs", "a.gr", "c road\np sp 5 4\na 1 2 30\na 2 3 0\na 5 1 4294967295\na 3 3 7\n"},
                    seed_input{"dimacs_without_problem", "a.gr", "a 0 1 17\na 1 2 30\na 2 0 5\n"},
                    seed_input{"pace", "a.gr", "c tree\np tw 5 3\n1 2\n2 3\n4 5\n"},
                    seed_input{"snap", "a.txt", "# Nodes: 3\n# From To\n10\t20\n20\t35\n10\t35\n"},
                    seed_input{"edge_list", "a.wel", "0 1 2.5\n1 2 100\n3 1 1e2\n"},
                    seed_input{
                        "matrix_market", "a.mtx",
                        "%%MatrixMarket matrix coordinate real symmetric\n% c\n4 4 3\n1 1 2.5\n3 2 1e1\n4 1 70\n"},
                    seed_input{"metis", "a.graph", "4 3 111 1\n1 5 2 7\n1 5 1 7 3 8\n1 5 2 8 4 9\n1 5 3 9\n"},
                    seed_input{"ldbc", "x.e", "1 2 0.5\n2 3 7\n40 1 1.25\n"},
                    seed_input{"ldbc_vertices", "y/x.v", "1 7\n2\n3\n"}, seed_input{"no_name", "a", "3 2\n2\n1 3\n2\n"},
                    seed_input{"gzip", "a.gr.gz", std::string(test::triangle_gzip)},
                    seed_input{"xz", "a.gr.xz", std::string(test::triangle_xz)}),
    [](const auto& input) { return input.param.name; });

}  // namespace
}  // namespace laneway::graph

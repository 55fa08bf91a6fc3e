#include "laneway/graph/csr.hpp"

#include <gtest/gtest.h>

#include <string>

#include "laneway/base/error.hpp"

namespace laneway::graph {
namespace {

std::string message_of(const numbering& ids, std::uint64_t id) {
    try {
        (void)ids.index_of(id);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "no error";
}

TEST(csr_test, ArcsWithoutWeightsWeighOne) {
    csr32 csr;
    EXPECT_EQ(csr.vertices(), 0u);
    csr.offsets = {0, 1, 2};
    csr.heads = {1, 0};
    EXPECT_EQ(csr.weight(1), 1u);
    csr.weights = {4, 0};
    EXPECT_EQ(csr.weight(1), 0u);
}

TEST(numbering_test, ContiguousIdsShiftAndNameTheirRange) {
    numbering ids;
    ids.first = 1;
    ids.vertices = 5;
    EXPECT_EQ(ids.index_of(1), 0u);
    EXPECT_EQ(ids.index_of(5), 4u);
    EXPECT_EQ(ids.id_of(4), 5u);
    EXPECT_EQ(message_of(ids, 0), "vertex 0 is outside 1..5");
    EXPECT_EQ(message_of(ids, 6), "vertex 6 is outside 1..5");
}

TEST(numbering_test, LabelsAreLookedUp) {
    numbering ids;
    ids.first = 3;
    ids.labels = {3, 9, 100};
    ids.vertices = 3;
    EXPECT_EQ(ids.index_of(100), 2u);
    EXPECT_EQ(ids.id_of(1), 9u);
    EXPECT_EQ(message_of(ids, 10), "vertex 10 is none of the 3 in the graph, which lie in 3..100");
    EXPECT_EQ(message_of(ids, 101), "vertex 101 is none of the 3 in the graph, which lie in 3..100");
}

TEST(numbering_test, EmptyGraphHasNoVertex) {
    EXPECT_EQ(message_of({}, 0), "vertex 0 is outside a graph without vertices");
}

}  // namespace
}  // namespace laneway::graph

#include "graph/checksum.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace laneway::graph {
namespace {

std::uint64_t sum_of(std::string_view bytes) {
    checksum sum;
    sum.add(bytes.data(), bytes.size());
    return sum.value();
}

/// The arrays of a graph without arcs lie nowhere.
TEST(checksum_test, NoBytesAreTheSameWhereverTheyLie) {
    EXPECT_EQ(std::string_view().data(), nullptr);
    EXPECT_EQ(sum_of({}), sum_of(""));
    EXPECT_NE(sum_of({}), checksum().value());
}

TEST(checksum_test, EveryByteAndTheirNumberCount) {
    const std::string_view text = "twelve bytes and five";
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_NE(sum_of(text.substr(0, size)), sum_of(text.substr(0, size + 1)));
    }
    EXPECT_NE(sum_of(std::string_view("\0", 1)), sum_of(std::string_view("\0\0", 2)));
}

}  // namespace
}  // namespace laneway::graph

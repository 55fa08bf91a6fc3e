#include "kmer/window.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace laneway::test {
namespace {

/// The key behind the last letter.
template <int Words>
apps::kmer_key<Words> key_of(const std::string& letters, bool canonical) {
    apps::kmer_window<Words> window(static_cast<int>(letters.size()), canonical);
    bool full = false;
    for (const char letter : letters) {
        EXPECT_FALSE(full);
        full = window.push(static_cast<unsigned>(std::string_view("ACGT").find(letter)));
    }
    EXPECT_TRUE(full);
    return window.key();
}

constexpr std::uint64_t mark = std::uint64_t{1} << 63;

TEST(kmer_window_test, KeysHoldTheLettersBehindAMark) {
    EXPECT_EQ(key_of<1>("ACGT", false).words[0], mark | 0b00011011);
    EXPECT_EQ(key_of<1>("A", false).words[0], mark);
    EXPECT_EQ(key_of<1>(std::string(31, 'T'), false).words[0], mark | ((std::uint64_t{1} << 62) - 1));
    const auto two = key_of<2>("G" + std::string(31, 'A') + "C", false);  // G ends at bit 65 of 66
    EXPECT_EQ(two.words[0], mark | 1);
    EXPECT_EQ(two.words[1], mark | std::uint64_t{2} << 1);
    const auto most = key_of<2>(std::string(63, 'T'), false);
    EXPECT_EQ(most.words[0], ~std::uint64_t{0});
    EXPECT_EQ(most.words[1], ~std::uint64_t{0});
}

TEST(kmer_window_test, CanonicalIsTheLesserStrand) {
    EXPECT_EQ(key_of<1>("TTG", true).words[0], key_of<1>("CAA", false).words[0]);
    EXPECT_EQ(key_of<1>("CAA", true).words[0], key_of<1>("CAA", false).words[0]);
    EXPECT_EQ(key_of<1>("ACGT", true).words[0], key_of<1>("ACGT", false).words[0]) << "a palindrome";
    const std::string many(40, 'T');
    EXPECT_EQ(key_of<2>(many, true).words[1], mark);
    EXPECT_EQ(key_of<2>(many, true).words[0], mark);
}

TEST(kmer_window_test, AGapEmptiesTheWindow) {
    apps::kmer_window<1> window(2, false);
    std::string full;
    for (const unsigned symbol : {0u, 1u, 4u, 2u, 3u, 0u, 4u, 4u, 1u}) full += window.push(symbol) ? '1' : '0';
    EXPECT_EQ(full, "010011000");
}

TEST(kmer_window_test, OwnersAreSpreadEvenly) {
    constexpr int pes = 7;
    std::array<int, pes> owned{};
    for (std::uint64_t i = 0; i < 70'000; ++i) {
        const int owner = apps::kmer_key<2>{{mark | i, mark}}.owner(pes);
        ASSERT_TRUE(owner >= 0 && owner < pes);
        ++owned[static_cast<std::size_t>(owner)];
    }
    for (const int count : owned) EXPECT_NEAR(count, 10'000, 500);
}

}  // namespace
}  // namespace laneway::test

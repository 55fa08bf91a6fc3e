// The contract of allocators: what every one of them keeps, whoever asks it and wherever its memory lies.
//
// A suite of batches: the pieces of a batch are asked for, or freed, by whoever asks such an allocator, all at once
// where these are lanes. A family of allocators adds itself with LANEWAY_ALLOCATORS.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "allocator_under_test.hpp"

namespace laneway::test {

class allocator_test : public testing::TestWithParam<allocator_family> {
protected:
    /// Calls `body(allocator, random)` for each seed until one fails.
    template <class Body>
    void for_each_seed(Body&& body) {
        for (std::uint64_t seed = 1; seed <= GetParam().seeds; ++seed) {
            SCOPED_TRACE(GetParam().name + ", seed " + std::to_string(seed));
            const auto allocator = GetParam().make(GetParam().name, seed);
            std::mt19937_64 random(seed);
            body(*allocator, random);
            if (HasFailure()) return;
        }
    }
};

/// Requests of sizes whose logarithms are spread evenly, up to so many bytes in all, as the allocator counts them.
inline std::vector<given_piece> random_requests(const allocator_under_test& allocator, std::mt19937_64& random,
                                                std::size_t total_bytes) {
    std::vector<given_piece> made;
    for (std::size_t total = 0;;) {
        const auto log2 = random() % std::bit_width(allocator.max_bytes());
        const std::size_t bytes = std::min(allocator.max_bytes(), (std::size_t{1} << log2) + random() % (1u << log2));
        total += allocator.taken_bytes(bytes);
        if (total > total_bytes) return made;
        made.push_back({nullptr, bytes, random()});
    }
}

inline std::vector<given_piece> equal_requests(std::size_t bytes, std::size_t count) {
    return std::vector<given_piece>(count, given_piece{nullptr, bytes, bytes});
}

/// Takes the refused ones out; returns how many these are.
inline std::size_t drop_refused(std::vector<given_piece>& pieces) {
    return std::erase_if(pieces, [](const given_piece& one) { return one.address == nullptr; });
}

/// Splits off about half of the pieces, chosen at random.
inline std::vector<given_piece> split_off_half(std::vector<given_piece>& pieces, std::mt19937_64& random) {
    std::shuffle(pieces.begin(), pieces.end(), random);
    std::vector<given_piece> half(pieces.begin() + static_cast<std::ptrdiff_t>(pieces.size() / 2), pieces.end());
    pieces.resize(pieces.size() / 2);
    return half;
}

inline void expect_apart(std::vector<given_piece> pieces) {
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        ASSERT_LE(pieces[i].address + pieces[i].bytes, pieces[i + 1].address)
            << "pieces of " << pieces[i].bytes << " and " << pieces[i + 1].bytes;
    }
}

TEST_P(allocator_test, PiecesLieApartAndKeepWhatIsWrittenIntoThem) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        const auto part = static_cast<std::size_t>(allocator.usable_part() * double(allocator.capacity_bytes()));
        std::vector<given_piece> pieces;
        for (int round = 0; round < 4; ++round) {
            std::size_t held = 0;
            for (const auto& one : pieces) held += allocator.taken_bytes(one.bytes);
            auto more = random_requests(allocator, random, part - std::min(held, part));
            allocator.allocate(more);
            drop_refused(more);
            allocator.fill(more);
            pieces.insert(pieces.end(), more.begin(), more.end());
            ASSERT_FALSE(pieces.empty());
            expect_apart(pieces);
            EXPECT_EQ(allocator.broken(pieces), 0u);
            allocator.deallocate(split_off_half(pieces, random));
            EXPECT_EQ(allocator.broken(pieces), 0u) << "after others were freed";
        }
        allocator.deallocate(pieces);
    });
}

TEST_P(allocator_test, PiecesAreAligned) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        auto pieces = random_requests(allocator, random, allocator.capacity_bytes() / 4);
        allocator.allocate(pieces);
        for (const auto& one : pieces) {
            const std::size_t alignment = allocator.alignment_of(one.bytes);
            EXPECT_GE(alignment, 16u);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.address) % alignment, 0u) << one.bytes << " bytes";
        }
        drop_refused(pieces);
        allocator.deallocate(pieces);
    });
}

// An allocator that never used a piece again would be empty after the first of these rounds.
TEST_P(allocator_test, WhatWasFreedIsUsedAgain) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        const auto part = static_cast<std::size_t>(allocator.usable_part() * double(allocator.capacity_bytes()));
        for (int round = 0; round < 8; ++round) {
            auto pieces = random_requests(allocator, random, part);
            allocator.allocate(pieces);
            ASSERT_EQ(drop_refused(pieces), 0u) << "round " << round;
            std::shuffle(pieces.begin(), pieces.end(), random);
            allocator.deallocate(pieces);
        }
    });
}

TEST_P(allocator_test, WithoutRoomItRefusesAndAfterFreesItServesAgain) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        const std::size_t log2 = 4 + random() % (std::bit_width(allocator.max_bytes()) - 4);
        const std::size_t bytes = std::size_t{1} << log2;
        const std::size_t most = allocator.capacity_bytes() / allocator.taken_bytes(bytes);
        auto pieces = equal_requests(bytes, most + 3);
        allocator.allocate(pieces);
        EXPECT_GE(drop_refused(pieces), 3u) << "more pieces of " << bytes << " than there are bytes";
        if (allocator.serves_to_the_last_byte()) {
            EXPECT_EQ(pieces.size(), most) << "pieces of " << bytes;
        }
        ASSERT_FALSE(pieces.empty());
        expect_apart(pieces);
        auto none = equal_requests(bytes, 2);
        allocator.allocate(none);
        EXPECT_EQ(drop_refused(none), 2u);

        const auto freed = split_off_half(pieces, random);
        allocator.deallocate(freed);
        auto again = equal_requests(bytes, freed.size() + 1);
        allocator.allocate(again);
        EXPECT_GE(drop_refused(again), 1u);
        EXPECT_GT(again.size(), 0u);
        if (allocator.serves_to_the_last_byte()) {
            EXPECT_EQ(again.size(), freed.size());
        }
        pieces.insert(pieces.end(), again.begin(), again.end());
        expect_apart(pieces);
        allocator.deallocate(pieces);
        EXPECT_TRUE(allocator.is_whole());
    });
}

TEST_P(allocator_test, RefusesMoreThanItEverHas) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64&) {
        for (const std::size_t bytes : {allocator.capacity_bytes() + 1, ~std::size_t{0}, ~std::size_t{0} / 2 + 1}) {
            auto pieces = equal_requests(bytes, 1);
            allocator.allocate(pieces);
            EXPECT_EQ(pieces[0].address, nullptr) << bytes;
        }
        EXPECT_TRUE(allocator.is_whole());
    });
}

TEST_P(allocator_test, EverythingFreedIsOnePieceAgain) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        EXPECT_TRUE(allocator.is_whole());
        auto pieces = random_requests(allocator, random, 2 * allocator.capacity_bytes());
        allocator.allocate(pieces);
        drop_refused(pieces);
        EXPECT_FALSE(allocator.is_whole());
        while (pieces.size() > 1) allocator.deallocate(split_off_half(pieces, random));
        EXPECT_FALSE(allocator.is_whole());
        allocator.deallocate(pieces);
        EXPECT_TRUE(allocator.is_whole());
        const std::size_t parts = allocator.capacity_bytes() / allocator.max_bytes();
        const std::size_t most = allocator.serves_to_the_last_byte() ? parts : parts / 2;
        auto large = equal_requests(allocator.max_bytes(), most);
        allocator.allocate(large);
        EXPECT_EQ(drop_refused(large), 0u);
        allocator.deallocate(large);
    });
}

// Half of all pieces, at random, go and others come, again and again: what is in use stays the same, and must not
// break up the rest so far that a request is refused.
TEST_P(allocator_test, ARandomWorkloadBreaksItUpWithinBounds) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        const auto part = static_cast<std::size_t>(allocator.usable_part() * double(allocator.capacity_bytes()));
        std::vector<given_piece> pieces;
        for (int round = 0; round < 12; ++round) {
            std::size_t held = 0;
            for (const auto& one : pieces) held += allocator.taken_bytes(one.bytes);
            auto more = random_requests(allocator, random, part - std::min(held, part));
            allocator.allocate(more);
            ASSERT_EQ(drop_refused(more), 0u)
                << "round " << round << ", " << held << " bytes held of " << allocator.capacity_bytes();
            pieces.insert(pieces.end(), more.begin(), more.end());
            allocator.deallocate(split_off_half(pieces, random));
        }
        allocator.deallocate(pieces);
        EXPECT_TRUE(allocator.is_whole());
    });
}

TEST_P(allocator_test, TheReportOfLivePiecesIsExact) {
    for_each_seed([](allocator_under_test& allocator, std::mt19937_64& random) {
        allocator.expect_reported({});
        auto pieces = random_requests(allocator, random, allocator.capacity_bytes() / 3);
        allocator.allocate(pieces);
        drop_refused(pieces);
        allocator.expect_reported(pieces);
        allocator.deallocate(split_off_half(pieces, random));
        allocator.expect_reported(pieces);
        allocator.deallocate(pieces);
        allocator.expect_reported({});
    });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(allocator_test);

inline std::string name_of_family(const testing::TestParamInfo<allocator_family>& info) {
    std::string name = info.param.name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

}  // namespace laneway::test

/// Instantiates the contract for what a function of this name lists.
#define LANEWAY_ALLOCATORS(families) \
    INSTANTIATE_TEST_SUITE_P(families, allocator_test, testing::ValuesIn(families()), ::laneway::test::name_of_family)

// What a proxy carries, and in which order, seen from a host thread that calls its turns.
#include "laneway/transport/proxy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway {
namespace {

class proxy_test : public testing::Test {
protected:
    std::size_t add_words() {
        proxy::direction words;
        words.from = from_.data();
        words.to = to_.data();
        words.words = from_.size();
        words.writer = 1;
        words.reader = 2;
        return proxy_.add(words);
    }
    void add_ring() {
        proxy::direction flags;
        flags.from = from_.data();
        flags.to = to_.data();
        flags.words = from_.size();
        flags.slots_from = slots_from_.data();
        flags.slots_to = slots_to_.data();
        flags.slot_bytes = 16;
        proxy_.add(flags);
    }
    bool turn() { return proxy_.turn(ctx_, 0); }

    proxy proxy_;
    host_context ctx_;
    std::array<std::uint64_t, 4> from_{}, to_{};
    std::array<std::byte, 64> slots_from_{}, slots_to_{};
};

TEST_F(proxy_test, WordsThatHaveChangedAreCarriedOnce) {
    add_words();
    proxy_.open();
    EXPECT_FALSE(turn());
    from_ = {0, 7, 0, 9};
    EXPECT_TRUE(turn());
    EXPECT_EQ(to_, from_);
    to_[1] = 70;  // the reader may renew a word
    EXPECT_FALSE(turn());
    EXPECT_EQ(to_[1], 70u);
    EXPECT_EQ(proxy_.account(), "; proxy: 0 chunks and 2 other words carried");
}

TEST_F(proxy_test, AChunkBringsItsSlotUnlessItIsInWords) {
    add_ring();
    proxy_.open();
    slots_from_.fill(std::byte{5});
    from_[1] = chunk_label::of(3, 0).flag(1);
    from_[2] = chunk_label::of(1, 0, true).flag(2);
    EXPECT_TRUE(turn());
    EXPECT_EQ(to_, from_);
    for (std::size_t i = 0; i < slots_to_.size(); ++i) {
        EXPECT_EQ(slots_to_[i], std::byte{i / 16 == 1 ? std::uint8_t{5} : std::uint8_t{0}}) << i;
    }
    EXPECT_EQ(proxy_.account(), "; proxy: 2 chunks and 0 other words carried");
}

/// Chunks of a ring are published in any order: one that is late holds up none.
TEST_F(proxy_test, AChunkDoesNotWaitForThoseBeforeIt) {
    add_ring();
    from_[3] = chunk_label::of(1, 0).flag(3);
    EXPECT_TRUE(turn());
    EXPECT_EQ(to_[3], from_[3]);
}

TEST_F(proxy_test, WordsThatWereNotCarriedAreLost) {
    add_words();
    from_[2] = 1;
    try {
        proxy_.audit();
        FAIL() << "it says that all has been carried";
    } catch (const device_fault& lost) {
        EXPECT_STREQ(lost.what(), "audit mismatch: PE 1 wrote word 2 of 4 for PE 2, and the proxy has not carried it");
    }
    EXPECT_TRUE(turn());
    EXPECT_NO_THROW(proxy_.audit());
}

TEST_F(proxy_test, ClearedWordsAreNotCarried) {
    const std::size_t number = add_words();
    from_ = {1, 2, 3, 4};
    EXPECT_TRUE(turn());
    from_ = to_ = {};
    proxy_.forget(number);
    EXPECT_FALSE(turn());
    from_[0] = 1;
    EXPECT_TRUE(turn()) << "the same as it was before";
    EXPECT_EQ(to_[0], 1u);
}

TEST(proxies_test, OnlyPesThatDoNotReachEachOtherHaveOne) {
    machine mapped("cpu:2");
    EXPECT_EQ(proxy::of(mapped), nullptr);
    machine alone("cpu:1", 1, {}, nullptr, transport_model::proxied);
    EXPECT_EQ(proxy::of(alone), nullptr);
    machine apart("cpu:2", 1, {}, nullptr, transport_model::proxied);
    EXPECT_NE(proxy::of(apart), nullptr);
    EXPECT_FALSE(apart.shares_memory(0, 1));
    EXPECT_TRUE(apart.shares_memory(1, 1));
}

}  // namespace
}  // namespace laneway

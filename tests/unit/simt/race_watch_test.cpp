#include "laneway/simt/checked/race_watch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::checked {
namespace {

/// Two strands on a job of one PE with two symmetric arrays.
class race_watch_test : public testing::Test {
protected:
    race_watch_test() {
        env_.n_segments = 2;
        env_.segments = bases_;
        env_.segment_bytes = bytes_;
        watch_.watch(env_);
        watch_.add_lane({0, 1, 2, 3});
        watch_.add_lane({0, 4, 0, 1});
    }

    access to(const strand& who, std::size_t word, access_kind kind, std::uint32_t bytes = 8) const {
        return {reinterpret_cast<std::uintptr_t>(&words_[word]),
                bytes,
                kind,
                who.track(),
                who.now(),
                std::source_location::current()};
    }
    bool races(strand& who, access_kind kind, std::size_t word = 0, std::uint32_t bytes = 8) {
        const access mine = to(who, word, kind, bytes);
        const bool found = watch_.conflict(who, mine).has_value();
        watch_.keep(who, mine);
        return found;
    }

    alignas(8) std::array<std::uint64_t, 4> words_{};
    alignas(8) std::array<std::uint32_t, 2> halves_{};
    void* bases_[2] = {words_.data(), halves_.data()};
    std::uint64_t bytes_[2] = {sizeof words_, sizeof halves_};
    pe_environment env_;
    race_watch watch_{true};
    strand one_{0, 1};
    strand other_{2, 1};
};

TEST_F(race_watch_test, WatchesSymmetricMemoryOnly) {
    const auto first = reinterpret_cast<std::uintptr_t>(words_.data());
    EXPECT_TRUE(watch_.watches(first));
    EXPECT_TRUE(watch_.watches(first + sizeof words_ - 1));
    EXPECT_FALSE(watch_.watches(reinterpret_cast<std::uintptr_t>(&halves_) + sizeof halves_));
    EXPECT_FALSE(watch_.watches(first - 1));
    race_watch blind(false);
    blind.watch(env_);
    EXPECT_FALSE(blind.watches(first));
}

TEST_F(race_watch_test, OnePeSeesItsOwnPartsAlone) {
    pe_environment second = env_;
    void* bases[4] = {words_.data(), nullptr, halves_.data(), nullptr};  // [segment][PE]: the other is out of reach
    second.n_pes = 2;
    second.segments = bases;
    race_watch watch(true);
    second.pe = 1;
    watch.watch(second);
    EXPECT_FALSE(watch.watches(reinterpret_cast<std::uintptr_t>(words_.data())));
    second.pe = 0;
    watch.watch(second);
    EXPECT_TRUE(watch.watches(reinterpret_cast<std::uintptr_t>(words_.data()))) << "a PE that was added later";
    EXPECT_TRUE(watch.watches(reinterpret_cast<std::uintptr_t>(halves_.data())));
}

TEST_F(race_watch_test, WhatIsPutIntoStagingIsHeardAtTheLanding) {
    std::array<std::byte, 32> staging{}, landing{}, beside{};
    race_watch watch(true, {{staging.data(), landing.data(), 24}});
    one_.act();
    one_.fence();
    watch.carry(one_, staging.data() + 16, true);
    EXPECT_FALSE(watch.carried(landing.data() + 16).empty());
    EXPECT_FALSE(watch.carried(staging.data() + 16).empty()) << "the same place";
    EXPECT_TRUE(watch.carried(landing.data() + 8).empty());
    watch.carry(one_, staging.data() + 24, true);
    EXPECT_TRUE(watch.carried(landing.data() + 24).empty()) << "behind what is carried";
    watch.carry(one_, beside.data(), true);
    watch.hand_on(beside.data(), staging.data());
    EXPECT_FALSE(watch.carried(landing.data()).empty());
}

TEST_F(race_watch_test, PairsOfKindsRaceAsInTheMemoryModel) {
    using enum access_kind;
    const access_kind kinds[] = {plain_read, plain_write, atomic_load, atomic_store, atomic_update};
    const bool expected[5][5] = {{false, true, false, true, true},
                                 {true, true, true, true, true},
                                 {false, true, false, false, false},
                                 {true, true, false, false, false},
                                 {true, true, false, false, false}};
    for (int a = 0; a < 5; ++a) {
        for (int b = 0; b < 5; ++b) {
            watch_.pass_barrier(watch_.barriers() + 1);  // forgets the pair before
            EXPECT_FALSE(races(one_, kinds[a]));
            EXPECT_EQ(races(other_, kinds[b]), expected[a][b]) << a << " and " << b;
        }
    }
}

TEST_F(race_watch_test, ReleaseAndAcquireOrder) {
    const auto flag = reinterpret_cast<std::uintptr_t>(&words_[1]);
    EXPECT_FALSE(races(one_, access_kind::plain_write));
    watch_.order_atomic(one_, flag, access_kind::atomic_store, order::release);
    watch_.order_atomic(other_, flag, access_kind::atomic_load, order::acquire);
    EXPECT_FALSE(races(other_, access_kind::plain_write));
    EXPECT_TRUE(races(one_, access_kind::plain_read)) << "nothing orders what comes back";
}

TEST_F(race_watch_test, ARelaxedStoreEndsWhatAReleaseCarried) {
    const auto flag = reinterpret_cast<std::uintptr_t>(&words_[1]);
    EXPECT_FALSE(races(one_, access_kind::plain_write));
    watch_.order_atomic(one_, flag, access_kind::atomic_store, order::release);
    watch_.order_atomic(one_, flag, access_kind::atomic_update, order::relaxed);  // goes on
    strand reader = other_;
    watch_.order_atomic(reader, flag, access_kind::atomic_load, order::acquire);
    EXPECT_FALSE(races(reader, access_kind::plain_read));
    strand writer(2, 10);
    watch_.order_atomic(writer, flag, access_kind::atomic_store, order::relaxed);
    strand late(2, 20);
    watch_.order_atomic(late, flag, access_kind::atomic_load, order::acquire);
    EXPECT_TRUE(races(late, access_kind::plain_read));
}

TEST_F(race_watch_test, NeighboursInOneGranuleAreApart) {
    const auto half = [&](strand& who, int i) {
        access mine{reinterpret_cast<std::uintptr_t>(&halves_[static_cast<std::size_t>(i)]),
                    4,
                    access_kind::plain_write,
                    who.track(),
                    who.now(),
                    std::source_location::current()};
        const bool found = watch_.conflict(who, mine).has_value();
        watch_.keep(who, mine);
        return found;
    };
    EXPECT_FALSE(half(one_, 0));
    EXPECT_FALSE(half(other_, 1));
    EXPECT_TRUE(half(other_, 0));
    EXPECT_TRUE(half(one_, 1));
}

TEST_F(race_watch_test, OldAccessesAreSpokenForByLaterOnes) {
    EXPECT_FALSE(races(one_, access_kind::plain_read));
    EXPECT_FALSE(races(one_, access_kind::plain_write));
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(races(one_, access_kind::plain_read));
    EXPECT_FALSE(watch_.conflict(one_, to(one_, 0, access_kind::plain_write)).has_value());
    EXPECT_TRUE(races(other_, access_kind::plain_read)) << "the write is kept beside the reads";
}

TEST_F(race_watch_test, TellsBothAccesses) {
    const access old = to(one_, 2, access_kind::plain_write);
    strand handler(3, 1);
    const access now = to(handler, 2, access_kind::atomic_update);
    try {
        watch_.report(now, old);
        FAIL() << "returned";
    } catch (const usage_error& e) {
        const std::string what = e.what();
        EXPECT_EQ(
            what.rfind("PE 0 (checked:0): no order between two accesses to word 2, of 8 bytes, of symmetric array 0 "
                       "(counted from 0 as allocated): plain write by PE 0 (checked:0) block 1 warp 2 lane 3 in to "
                       "(race_watch_test.cpp:",
                       0),
            0u)
            << what;
        EXPECT_NE(what.find("), and atomic update by PE 0 (checked:0) block 4 warp 0 lane 1, which serves, in to ("),
                  what.npos)
            << what;
        EXPECT_TRUE(what.ends_with("; use lw::atomic_add and its like for both, or order them")) << what;
    }
}

TEST_F(race_watch_test, MessagesCarryWhatWasFenced) {
    int buffer = 0, slot = 0;
    EXPECT_FALSE(races(one_, access_kind::plain_write));
    watch_.carry(one_, &buffer, false);
    EXPECT_TRUE(watch_.carried(&buffer).empty());
    one_.fence();
    watch_.carry(one_, &buffer, false);
    watch_.hand_on(&buffer, &slot);
    EXPECT_TRUE(watch_.carried(&buffer).empty());
    strand handler(3, 1, watch_.carried(&slot));
    EXPECT_FALSE(races(handler, access_kind::plain_read));
    watch_.hand_on(&buffer, &slot);
    EXPECT_TRUE(watch_.carried(&slot).empty()) << "what a slot carried before is gone";
}

}  // namespace
}  // namespace laneway::checked

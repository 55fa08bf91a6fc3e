#include "laneway/simt/checked/clock.hpp"

#include <gtest/gtest.h>

#include "laneway/simt/checked/strand.hpp"

namespace laneway::checked {
namespace {

clock at(track_number track, std::uint32_t time) {
    clock made;
    made.raise(track, time);
    return made;
}

TEST(clock_test, CoversWhatItHasBeenRaisedTo) {
    clock c;
    EXPECT_TRUE(c.empty());
    EXPECT_FALSE(c.covers(3, 1));
    c.raise(3, 5);
    EXPECT_TRUE(c.covers(3, 1));
    EXPECT_TRUE(c.covers(3, 5));
    EXPECT_FALSE(c.covers(3, 6));
    EXPECT_FALSE(c.covers(2, 1));
    EXPECT_FALSE(c.covers(4, 1));
    c.raise(3, 2);
    EXPECT_TRUE(c.covers(3, 5)) << "a clock never goes back";
}

TEST(clock_test, JoinsTakeTheGreaterTimeOfEachTrack) {
    clock c = at(0, 7);
    c.raise(1, 2);
    clock other = at(1, 4);
    other.raise(5, 1);
    const clock kept = c;
    c.join(other);
    EXPECT_TRUE(c.covers(0, 7) && c.covers(1, 4) && c.covers(5, 1));
    EXPECT_FALSE(c.covers(0, 8) || c.covers(1, 5) || c.covers(5, 2));
    EXPECT_FALSE(kept.covers(1, 3)) << "copies share memory, not changes";
    EXPECT_FALSE(other.covers(0, 1));
    c.join({});
    EXPECT_TRUE(c.covers(0, 7));
    clock none;
    none.join(c);
    EXPECT_TRUE(none.covers(5, 1));
}

TEST(strand_test, KnowsItsOwnStepsAndThoseItHasBeenTold) {
    strand one(0, 1), other(2, 1);
    one.act();
    const std::uint32_t then = one.now();
    EXPECT_TRUE(one.follows(0, then));
    EXPECT_FALSE(other.follows(0, then));
    other.learn(one.tell());
    EXPECT_TRUE(other.follows(0, then));
    one.act();
    EXPECT_FALSE(other.follows(0, one.now())) << "told before it happened";
}

TEST(strand_test, AStrandDoesNotFollowThoseBeforeItOnItsTrack) {
    strand first(1, 1);
    first.act();
    const std::uint32_t then = first.now();
    first.tell();
    const strand second(1, first.now() + 1);
    EXPECT_FALSE(second.follows(1, then));
    const strand told(1, first.now() + 1, first.tell());
    EXPECT_TRUE(told.follows(1, then));
}

TEST(strand_test, FencesMakeRelaxedStoresCarryAndRelaxedLoadsCount) {
    strand one(0, 1), other(2, 1);
    one.act();
    const std::uint32_t then = one.now();
    EXPECT_TRUE(one.fenced().empty());
    one.fence();
    one.act();
    other.hear(one.fenced());
    EXPECT_FALSE(other.follows(0, then)) << "loaded relaxed";
    other.fence();
    EXPECT_TRUE(other.follows(0, then));
    EXPECT_FALSE(other.follows(0, one.now())) << "behind the fence";
}

TEST(strand_test, AFenceOfHalfAnOrderDoesHalf) {
    strand one(0, 1), two(2, 1), three(4, 1);
    one.act();
    const std::uint32_t then = one.now();
    one.fence(order::acquire);
    EXPECT_TRUE(one.fenced().empty()) << "an acquire makes nothing carry";
    one.fence(order::release);
    two.hear(one.fenced());
    two.fence(order::release);
    EXPECT_FALSE(two.follows(0, then)) << "a release makes nothing count that was loaded relaxed";
    three.hear(two.fenced());
    three.fence(order::acquire);
    EXPECT_FALSE(three.follows(0, then)) << "nor passes it on";
    two.fence(order::acquire);
    EXPECT_TRUE(two.follows(0, then));
}

TEST(strand_test, WhatIsHeardIsPassedOn) {
    strand one(0, 1), two(2, 1), three(4, 1);
    one.act();
    const std::uint32_t then = one.now();
    two.learn(one.tell());
    three.learn(two.tell());
    EXPECT_TRUE(three.follows(0, then));
    strand served(5, 1, one.tell());
    EXPECT_FALSE(served.fenced().empty()) << "a message's clock goes on with what its handler posts";
}

}  // namespace
}  // namespace laneway::checked

#include "laneway/simt/event.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace laneway {
namespace {

using std::chrono::milliseconds;

const auto failure = std::make_exception_ptr(std::runtime_error("no luck"));

TEST(event, NothingHasHappenedLongAgo) {
    const event none;
    EXPECT_TRUE(none.done());
    EXPECT_FALSE(none.failure());
    EXPECT_TRUE(none.wait_for(milliseconds(0)));
    int calls = 0;
    none.then([&] { ++calls; });
    EXPECT_EQ(calls, 1);
}

TEST(event, ItHappensOnce) {
    const event one = event::pending(), same = one;
    int ends = 0, changes = 0;
    one.then([&] { ++ends; });
    one.watch([&] { ++changes; });
    EXPECT_FALSE(one.wait_for(milliseconds(1)));
    one.enter_queue(std::make_shared<int>(7));
    EXPECT_EQ(*static_cast<int*>(same.native().get()), 7);
    EXPECT_FALSE(same.done());
    EXPECT_EQ(changes, 1);
    one.complete();
    same.fail(failure);
    EXPECT_TRUE(same.done());
    EXPECT_FALSE(one.failure()) << "the first end counts";
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(changes, 2);
}

TEST(event, WhatIsCalledMayLookAtIt) {
    const event one = event::pending();
    bool done = false;
    one.then([&] {
        done = one.done();
        one.then([&] { EXPECT_TRUE(one.failure()); });
    });
    one.fail(failure);
    EXPECT_TRUE(done);
    EXPECT_EQ(one.failure(), failure);
}

TEST(event, AThreadWaitsForAnother) {
    const event one = event::pending();
    int value = 0;
    std::thread other([&] {
        value = 1;
        one.complete();
    });
    EXPECT_TRUE(one.wait_for(milliseconds(20'000)));
    EXPECT_EQ(value, 1);
    other.join();
}

TEST(event, AllOfSomeAreOne) {
    EXPECT_TRUE(when_all({}).done());
    EXPECT_TRUE(when_all({event{}, event{}}).done());
    const event a = event::pending(), b = event::pending();
    const event both = when_all({a, event{}, b});
    b.complete();
    EXPECT_FALSE(both.done());
    a.complete();
    EXPECT_TRUE(both.done());
    EXPECT_FALSE(both.failure());
    const event c = event::pending(), d = event::pending();
    const event failed = when_all({c, d});
    c.fail(failure);
    EXPECT_FALSE(failed.done()) << "the other one still goes on";
    d.complete();
    EXPECT_EQ(failed.failure(), failure);
}

}  // namespace
}  // namespace laneway

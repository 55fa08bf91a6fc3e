#include "laneway/base/interruption.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <stop_token>
#include <thread>

#include "laneway/base/error.hpp"

namespace laneway {
namespace {

struct left : std::exception {};

TEST(interruption_test, AsksAtOnceAndThrowsWhatTheCallerThrows) {
    interruption::poll();  // nobody is asked
    const interruption leave([] { throw left(); });
    EXPECT_THROW(interruption::poll(), left);
}

TEST(interruption_test, AsksSeldomHoweverOftenItIsPolled) {
    int asked = 0;
    const interruption leave([&] { ++asked; });
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100'000; ++i) interruption::poll();
    const auto passed = std::chrono::steady_clock::now() - start;
    EXPECT_GE(asked, 1);
    EXPECT_LE(asked, 1 + passed / std::chrono::milliseconds(20));
}

TEST(interruption_test, TheInnermostOfAThreadCounts) {
    const interruption outer([] { throw left(); });
    {
        int asked = 0;
        const interruption inner([&] { ++asked; });
        interruption::poll();
        EXPECT_EQ(asked, 1);
    }
    std::jthread([] { EXPECT_NO_THROW(interruption::poll()); }).join();
    EXPECT_THROW(interruption::poll(), left);
}

TEST(interruption_test, AStopTokenOfAnyThreadLeaves) {
    std::stop_source stop;
    const interruption leave(stop.get_token());
    interruption::poll();
    std::jthread([&] { stop.request_stop(); }).join();
    EXPECT_THROW(for (;;) interruption::poll(), interrupted);
}

TEST(interruption_test, ACounterPollsNowAndThen) {
    const interruption leave([] { throw left(); });
    interruption_counter counter;
    int rounds = 0;
    EXPECT_THROW(for (;; ++rounds) counter.poll(), left);
    EXPECT_EQ(rounds, 4095);
}

}  // namespace
}  // namespace laneway

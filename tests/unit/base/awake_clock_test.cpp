#include "laneway/base/awake_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace laneway::test {
namespace {

using namespace std::chrono_literals;

TEST(awake_clock_test, GoesOnWithTheSteadyClockWhileThreadsLookAtIt) {
    std::atomic<bool> over = false;
    std::thread looking([&] {
        while (!over) {
            (void)awake_clock::now();
            std::this_thread::sleep_for(1ms);
        }
    });
    const auto before = awake_clock::now();
    std::this_thread::sleep_for(300ms);
    EXPECT_GT(awake_clock::now() - before, 150ms) << "half of it at least, also on a machine that is busy";
    over = true;
    looking.join();
}

TEST(awake_clock_test, CountsLittleOfTheTimeInWhichNoThreadLooks) {
    const auto before = awake_clock::now();
    std::this_thread::sleep_for(300ms);
    const auto counted = awake_clock::now() - before;
    EXPECT_GT(counted, 40ms);
    EXPECT_LT(counted, 150ms);
}

TEST(awake_clock_test, ThreadsThatLookAtOnceLeaveTheSameTimeOutOnce) {
    const auto before = awake_clock::now();
    std::this_thread::sleep_for(300ms);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] { (void)awake_clock::now(); });
    for (auto& one : threads) one.join();
    EXPECT_GT(awake_clock::now() - before, 40ms);
}

}  // namespace
}  // namespace laneway::test

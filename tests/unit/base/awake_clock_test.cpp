#include "laneway/base/awake_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace laneway::test {
namespace {

using namespace std::chrono_literals;

TEST(awake_clock_test, GoesOnWithTheSteadyClockWhileThreadsLookAtIt) {
    using steady = std::chrono::steady_clock;
    const auto before = awake_clock::now();
    std::chrono::nanoseconds least{0}, all{0};
    for (auto last = steady::now(); all < 300ms;) {
        std::this_thread::sleep_for(1ms);
        (void)awake_clock::now();
        const auto now = steady::now();
        least += std::min<std::chrono::nanoseconds>(now - last, 32ms);  // it may have stood still since the last look
        all += now - std::exchange(last, now);
    }
    EXPECT_GE(awake_clock::now() - before + 32ms, least);
    EXPECT_LE(awake_clock::now() - before, all + 100ms);
}

TEST(awake_clock_test, CountsLittleOfTheTimeInWhichNoThreadLooks) {
    const auto before = awake_clock::now();
    std::this_thread::sleep_for(300ms);
    const auto counted = awake_clock::now() - before;
    EXPECT_GT(counted, 30ms);
    EXPECT_LT(counted, 150ms);
}

TEST(awake_clock_test, ThreadsThatLookAtOnceLeaveTheSameTimeOutOnce) {
    const auto before = awake_clock::now();
    std::this_thread::sleep_for(300ms);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] { (void)awake_clock::now(); });
    for (auto& one : threads) one.join();
    EXPECT_GT(awake_clock::now() - before, 30ms);
}

}  // namespace
}  // namespace laneway::test

#include "laneway/base/in_threads.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace laneway {
namespace {

TEST(in_threads_test, EachRangeOnceAndNoThreadForNothing) {
    std::vector<std::atomic<int>> seen(100);
    std::atomic<int> calls = 0;
    in_threads({0, 0, 7, 7, 50, 100, 100}, [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        ++calls;
        for (std::uint64_t i = begin; i < end && going; ++i) ++seen[i];
    });
    EXPECT_EQ(calls, 3);
    for (const auto& each : seen) EXPECT_EQ(each, 1);
    in_threads({0}, [](std::uint64_t, std::uint64_t, keep_going&) { FAIL() << "there is no range"; });
}

TEST(in_threads_test, EqualCutsDifferByOneAtMost) {
    EXPECT_EQ(equal_cuts(10, 4), (std::vector<std::uint64_t>{0, 3, 6, 8, 10}));
    EXPECT_EQ(equal_cuts(2, 3), (std::vector<std::uint64_t>{0, 1, 2, 2}));
    EXPECT_EQ(equal_cuts(~std::uint64_t{0}, 32).back(), ~std::uint64_t{0});
}

TEST(in_threads_test, WhatABodyThrowsEndsTheOthers) {
    std::atomic<int> goes_on_again = 0;
    const auto run = [&] {
        in_threads({0, 1, 2, 3}, [&](std::uint64_t begin, std::uint64_t, keep_going& going) {
            if (begin == 1) throw std::domain_error("range 1");
            while (going) std::this_thread::yield();
            if (going) ++goes_on_again;
        });
    };
    EXPECT_THROW(run(), std::domain_error);
    EXPECT_EQ(goes_on_again, 0) << "once it says no it says no again";
}

TEST(in_threads_test, WhatAnInterruptionThrowsIsThrown) {
    const interruption leave([] { throw std::system_error(std::make_error_code(std::errc::io_error)); });
    const auto run = [] {
        in_threads({0, 1}, [](std::uint64_t, std::uint64_t, keep_going& going) {
            while (going) std::this_thread::yield();
        });
    };
    EXPECT_THROW(run(), std::system_error);
}

/// Leaves the process no more than `bytes` of new addresses.
void limit_memory(std::uint64_t bytes) {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (word != "VmSize:") status >> word;
    std::uint64_t kib = 0;
    status >> kib;
    const rlimit limit{kib * 1024 + bytes, kib * 1024 + bytes};
    (void)setrlimit(RLIMIT_AS, &limit);
}

TEST(in_threads_test, AThreadThatCannotBeHadIsOneLine) {
    const auto start_many = [] {
        limit_memory(std::uint64_t{64} << 20);
        std::vector<std::uint64_t> cuts;
        for (std::uint64_t i = 0; i <= 64; ++i) cuts.push_back(i);
        try {
            in_threads(cuts, [](std::uint64_t, std::uint64_t, keep_going& going) {
                while (going) std::this_thread::yield();
            });
        } catch (const system_error& refused) {
            std::fprintf(stderr, "%s\n", refused.what());
            std::_Exit(3);
        }
    };
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(start_many(), testing::ExitedWithCode(3), "a host thread could not be started");
}

}  // namespace
}  // namespace laneway

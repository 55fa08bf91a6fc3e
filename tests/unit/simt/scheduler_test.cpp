#include "laneway/simt/checked/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::checked {
namespace {

/// Lanes in the order in which they stepped, under one seed.
std::string trace(std::uint64_t seed, int lanes = 4, int steps = 12) {
    scheduler sched(seed);
    std::string text;
    for (int lane = 0; lane < lanes; ++lane) {
        sched.add([&, lane] {
            for (int i = 0; i < steps; ++i) {
                text += static_cast<char>('a' + lane);
                sched.step();
            }
        });
    }
    sched.run();
    return text;
}

TEST(scheduler_test, SameSeedReplaysTheSameInterleaving) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(trace(seed), trace(seed)) << "seed " << seed;
}

// What looks may need a thread's whole stack, and may leave the run.
TEST(scheduler_test, TheHostLooksFromItsOwnStack) {
    scheduler sched(3);
    const char here = 0;
    int looks = 0;
    std::uint64_t farthest = 0;
    for (int lane = 0; lane < 3; ++lane) {
        sched.add([&] {
            for (int i = 0; i < 5000; ++i) sched.step();
        });
    }
    sched.run([&] {
        const char there = 0;
        const auto apart = reinterpret_cast<std::intptr_t>(&there) - reinterpret_cast<std::intptr_t>(&here);
        farthest = std::max<std::uint64_t>(farthest, static_cast<std::uint64_t>(std::abs(apart)));
        ++looks;
    });
    EXPECT_EQ(looks, 15'000 / 1024);
#if !defined(__SANITIZE_ADDRESS__)  // which puts locals elsewhere
    EXPECT_LT(farthest, 64u * 1024) << "bytes between frames of one stack";
#endif
}

TEST(scheduler_test, WhatTheLookThrowsLeavesTheRun) {
    scheduler sched(3);
    sched.add([&] {
        for (;;) sched.step();
    });
    EXPECT_THROW(sched.run([] { throw std::domain_error("enough"); }), std::domain_error);
}

TEST(scheduler_test, SeedsDiffer) {
    std::set<std::string> traces;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) traces.insert(trace(seed));
    EXPECT_GT(traces.size(), 800u);
}

TEST(scheduler_test, SomeSeedsSwitchRarelyAndSomeAtAlmostEveryStep) {
    int fewest = 1000, most = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const std::string text = trace(seed, 4, 30);
        int switches = 0;
        for (std::size_t i = 1; i < text.size(); ++i) switches += text[i] != text[i - 1] ? 1 : 0;
        fewest = std::min(fewest, switches);
        most = std::max(most, switches);
    }
    EXPECT_LT(fewest, 10);
    EXPECT_GT(most, 30);
}

// Two lanes and two shared steps each: a scheduler that explores must find every order of a, b, c, d.
TEST(scheduler_test, SeedsCoverAllInterleavingsOfASmallProgram) {
    std::set<std::string> traces;
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) traces.insert(trace(seed, 2, 3));
    EXPECT_EQ(traces.size(), 20u);  // 6 over 3
}

TEST(scheduler_test, YieldLetsTheAwaitedLaneRun) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        scheduler sched(seed);
        bool set = false;
        sched.add([&] {
            while (!set) sched.yield();
        });
        sched.add([&] { set = true; });
        EXPECT_NO_THROW(sched.run());
    }
}

TEST(scheduler_test, TimeCountsSteps) {
    scheduler sched(1);
    std::uint64_t before = 0, after = 0;
    sched.add([&] {
        before = sched.now_ns();
        for (int i = 0; i < 10; ++i) sched.step();
        after = sched.now_ns();
    });
    sched.run();
    EXPECT_EQ(after - before, 1000u);
}

TEST(scheduler_test, AnExceptionOfALaneComesOutOfRunAndTheNextRunIsWhole) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        scheduler sched(seed);
        sched.add([&] {
            for (;;) sched.yield();
        });
        sched.add([&] {
            sched.step();
            throw std::runtime_error("lane 1");
        });
        EXPECT_THROW(sched.run(), std::runtime_error);
        EXPECT_EQ(trace(seed), trace(seed));
    }
}

/// Steps in its destructor, as a destructor that posts does.
struct steps_at_its_end {
    scheduler& sched;
    int& ended;
    ~steps_at_its_end() {
        sched.step();
        ++ended;
    }
};

TEST(scheduler_test, StacksOfLanesThatDoNotEndAreUnwound) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        for (const bool throws : {true, false}) {  // without, the steps end
            scheduler sched(seed, 2'000);
            int ended = 0;
            for (int lane = 0; lane < 3; ++lane) {
                sched.add([&] {
                    const steps_at_its_end object{sched, ended};
                    for (;;) sched.yield();
                });
            }
            sched.add([&] {
                const steps_at_its_end object{sched, ended};
                sched.step();
                if (throws) throw std::runtime_error("lane 3");
            });
            EXPECT_THROW(sched.run(), std::runtime_error) << "seed " << seed;
            EXPECT_EQ(ended, 4) << "seed " << seed;
        }
    }
}

TEST(scheduler_test, LanesThatCatchEverythingAreDropped) {
    scheduler sched(1, 10'000);
    sched.add([&] {
        for (;;) {
            try {
                sched.step();
            } catch (...) {
            }
        }
    });
    EXPECT_THROW(sched.run(), out_of_steps);
    EXPECT_EQ(trace(1), trace(1));
}

// Lanes throw and catch while others do: each finds its own exceptions.
TEST(scheduler_test, EachLaneHandlesItsOwnExceptions) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        scheduler sched(seed);
        for (int lane = 0; lane < 4; ++lane) {
            sched.add([&, lane] {
                for (int i = 0; i < 4; ++i) {
                    try {
                        throw lane;
                    } catch (int) {
                        for (int k = 0; k < 4; ++k) sched.yield();
                        try {
                            throw;
                        } catch (int again) {
                            wrong += again == lane ? 0 : 1;
                        }
                    }
                    wrong += std::uncaught_exceptions();
                }
            });
        }
        EXPECT_NO_THROW(sched.run());
    }
    EXPECT_EQ(wrong, 0);
}

TEST(scheduler_test, LanesThatNeverEndAreStopped) {
    scheduler yielding(1, 100'000);
    yielding.add([&] {
        for (;;) yielding.yield();
    });
    EXPECT_THROW(yielding.run(), timeout_error);
    scheduler stepping(1, 100'000);
    stepping.add([&] {
        for (;;) stepping.step();
    });
    EXPECT_THROW(stepping.run(), timeout_error);
}

TEST(scheduler_test, ARunInsideARunIsRefused) {
    scheduler outer(1);
    outer.add([] { trace(2); });
    EXPECT_THROW(outer.run(), usage_error);
    EXPECT_EQ(trace(3), trace(3));
}

TEST(scheduler_test, NoLanesNoRun) {
    scheduler sched(1);
    EXPECT_NO_THROW(sched.run());
}

}  // namespace
}  // namespace laneway::checked

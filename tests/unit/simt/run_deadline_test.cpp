#include "laneway/simt/run_deadline.hpp"

#include <gtest/gtest.h>

#include "laneway/base/error.hpp"

namespace laneway::test {
namespace {

TEST(run_deadline_test, CountsFromTheLaunchOrFromNow) {
    EXPECT_EQ(run_deadline(1e-9).left(), 1e-9) << "however late it is";
    const auto now = run_deadline::from_now(1000);
    EXPECT_EQ(now.seconds(), 1000);
    const double first = now.left();
    EXPECT_GT(first, 0);
    EXPECT_LE(first, 1000);
    EXPECT_LE(now.left(), first);
}

TEST(run_deadline_test, WhatHasPassedEndsTheSetUp) {
    const auto soon = run_deadline::from_now(1e-9);
    try {
        while (soon.left() > 0) {
        }
        FAIL();
    } catch (const timeout_error& e) {
        EXPECT_EQ(std::string(e.what()), "deadline passed while the devices were set up; the deadline is 1e-09 s");
    }
}

TEST(run_deadline_test, WhoeverIsToBeToldIsToldBeforeItThrows) {
    std::string told;
    const auto soon = run_deadline::from_now(1e-9, [&](const std::string& why) { told = why; });
    while (true) {
        try {
            (void)soon.untold().left();
        } catch (const timeout_error&) {
            break;
        }
    }
    EXPECT_EQ(told, "");
    EXPECT_THROW((void)soon.left(), timeout_error);
    EXPECT_EQ(told, "deadline passed while the devices were set up; the deadline is 1e-09 s");
}

TEST(run_deadline_test, RefusesSecondsThatCannotBe) {
    for (const double seconds : {0.0, -1.0, 2e9, 0.0 / 0.0}) {
        EXPECT_THROW(run_deadline{seconds}, usage_error) << seconds;
        EXPECT_THROW((void)run_deadline::from_now(seconds), usage_error) << seconds;
    }
}

}  // namespace
}  // namespace laneway::test

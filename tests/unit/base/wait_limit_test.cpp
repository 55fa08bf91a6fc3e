#include "laneway/base/wait_limit.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace laneway::test {
namespace {

void look_late() { std::this_thread::sleep_for(2 * wait_limit::longest_look); }

TEST(wait_limit_test, IsOverWhenItsTimeHasPassed) {
    EXPECT_FALSE(wait_limit(std::chrono::hours(1)).is_over());
    EXPECT_TRUE(wait_limit(wait_limit::seconds(-1)).is_over());
}

TEST(wait_limit_test, OfALateLookCountsNoMoreThanALookMayTake) {
    wait_limit limit(1.5 * wait_limit::longest_look);
    look_late();
    EXPECT_FALSE(limit.is_over());
}

TEST(wait_limit_test, ManyLateLooksEndItAllTheSame) {
    wait_limit limit(1.5 * wait_limit::longest_look);
    for (int looks = 0; looks < 2; ++looks) {
        look_late();
        EXPECT_EQ(limit.is_over(), looks == 1);
    }
}

TEST(wait_limit_test, ARenewedOneBeginsAnew) {
    wait_limit limit(wait_limit::seconds(-1));
    limit.renew(std::chrono::hours(1));
    EXPECT_FALSE(limit.is_over());
}

}  // namespace
}  // namespace laneway::test

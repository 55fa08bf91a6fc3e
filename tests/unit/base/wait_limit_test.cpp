#include "laneway/base/wait_limit.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace laneway::test {
namespace {

void look_late() { std::this_thread::sleep_for(std::chrono::milliseconds(120)); }

TEST(wait_limit_test, IsOverWhenItsTimeHasPassed) {
    EXPECT_FALSE(wait_limit(std::chrono::hours(1)).is_over());
    EXPECT_TRUE(wait_limit(wait_limit::seconds(-1)).is_over());
}

TEST(wait_limit_test, OfALateLookCountsLittle) {
    const wait_limit limit(std::chrono::milliseconds(70));
    look_late();
    EXPECT_FALSE(limit.is_over());
}

TEST(wait_limit_test, ManyLateLooksEndItAllTheSame) {
    const wait_limit limit(std::chrono::milliseconds(70));
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

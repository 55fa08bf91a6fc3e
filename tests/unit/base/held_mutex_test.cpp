#include "laneway/base/held_mutex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace laneway {
namespace {

TEST(held_mutex_test, ItsHolderAloneHasItUntilTheLastUnlock) {
    held_mutex mutex;
    EXPECT_FALSE(mutex.is_mine());
    mutex.lock();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_TRUE(mutex.is_mine());
    std::thread([&] {
        EXPECT_FALSE(mutex.is_mine());
        EXPECT_FALSE(mutex.try_lock());
        EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds(1)));
    }).join();
    mutex.unlock();
    EXPECT_TRUE(mutex.is_mine());
    mutex.unlock();
    EXPECT_FALSE(mutex.is_mine());
    std::thread([&] {
        ASSERT_TRUE(mutex.try_lock_for(std::chrono::milliseconds(1)));
        EXPECT_TRUE(mutex.is_mine());
        mutex.unlock();
    }).join();
}

}  // namespace
}  // namespace laneway

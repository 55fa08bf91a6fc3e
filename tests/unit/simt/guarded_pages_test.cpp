#include "laneway/simt/checked/guarded_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace laneway::checked {
namespace {

TEST(guarded_pages_test, AreZeroedAlignedAndMoved) {
    for (const auto where : {guarded_pages::guard::below, guarded_pages::guard::behind}) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{1} << 20}) {
            guarded_pages pages(bytes, where);
            ASSERT_TRUE(pages);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % 256, 0u);
            for (std::size_t i = 0; i < bytes; i += 997) EXPECT_EQ(pages.data()[i], std::byte{0});
            if (bytes > 0) pages.data()[bytes - 1] = std::byte{1};
            guarded_pages moved(std::move(pages));
            EXPECT_FALSE(pages);
            EXPECT_TRUE(moved);
            pages = std::move(moved);
            EXPECT_TRUE(pages);
        }
    }
}

TEST(guarded_pages_test, NothingWhereThereIsNoMemory) {
    EXPECT_FALSE(guarded_pages(std::numeric_limits<std::size_t>::max(), guarded_pages::guard::behind));
    EXPECT_FALSE(guarded_pages(std::size_t{1} << 60, guarded_pages::guard::below));
}

TEST(guarded_pages_test, WhoTouchesTheGuardIsEnded) {
    guarded_pages stack(4096, guarded_pages::guard::below);
    guarded_pages array(300, guarded_pages::guard::behind);
    volatile std::byte* below = stack.data() - 1;
    volatile std::byte* behind = array.data() + 512;  // 300, rounded up to the alignment
    EXPECT_DEATH(*below = std::byte{1}, "");
    EXPECT_DEATH(*behind = std::byte{1}, "");
    array.data()[511] = std::byte{1};
}

}  // namespace
}  // namespace laneway::checked

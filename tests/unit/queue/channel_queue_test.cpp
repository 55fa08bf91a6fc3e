#include "channel_queue_suite.hpp"  // on CPU devices

#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

// Lanes that are threads: what an element holds must come through its entry, and its space through the done words.
TEST(channel_queue_threads_test, WarpsOfThreadsExchangeElements) {
    for (const std::uint32_t width : {1u, 8u, 64u}) {
        SCOPED_TRACE(std::to_string(width) + " elements");
        constexpr std::uint32_t each = 40;
        std::vector<std::uint64_t> data(width);
        std::vector<std::uint32_t> control(width), done(channel_queue_ref::done_words(width)), totals(2);
        channel_words words{};
        const lone_environment alone(0, 1, 30);
        const launch_shape shape{4, 2, 64};
        const std::uint32_t elements = each * 2 * 2;
        std::vector<std::uint32_t> consumed(elements);
        const channel_queue_ref queue(&words, reinterpret_cast<std::byte*>(data.data()), control.data(), done.data(),
                                      width, 8, 0);
        run_warp_threads(
            alone.get(), shape,
            exchange_program{queue, consumed.data(), totals.data(), &totals[1], each, std::min(3u, width), elements});
        EXPECT_FALSE(alone.failed());
        EXPECT_EQ(totals, (std::vector<std::uint32_t>{elements, 0}));
        EXPECT_EQ(consumed, std::vector<std::uint32_t>(elements, 1));
    }
}

}  // namespace
}  // namespace laneway::test

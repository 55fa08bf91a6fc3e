#include "channel_queue_suite.hpp"  // on CPU devices

#include <cstdlib>
#include <memory>

#include "unit/counting_context.hpp"

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
                                      width, 8, 0, 0);
        run_warp_threads(
            alone.get(), shape,
            exchange_program{queue, consumed.data(), totals.data(), &totals[1], each, std::min(3u, width), elements});
        EXPECT_FALSE(alone.failed());
        EXPECT_EQ(totals, (std::vector<std::uint32_t>{elements, 0}));
        EXPECT_EQ(consumed, std::vector<std::uint32_t>(elements, 1));
    }
}

TEST(channel_queue_threads_test, WhereFencesTakeLongABatchHasOneOfEachKind) {
    constexpr std::uint32_t width = 512;
    std::vector<std::uint64_t> data(width);
    std::vector<std::uint32_t> control(width), done(channel_queue_ref::done_words(width));
    channel_words words{};
    const channel_queue_ref queue(&words, reinterpret_cast<std::byte*>(data.data()), control.data(), done.data(), width,
                                  8, 0, 0);
    counting_lane lane;
    counting_context& ctx = lane.ctx;
    std::uint64_t first = 0;
    ASSERT_TRUE(queue.reserve(ctx, 1, width, first));
    queue.publish(ctx, 1, first, width);
    for (std::uint32_t turn = 1; turn <= 2 * width; ++turn) {
        std::uint32_t place = 0;
        // Of all that is done nothing is looked at before space is short.
        ASSERT_EQ(queue.claim(ctx, 1, place, ~std::uint64_t{0}, queue.look(ctx).next), 1);
        shared_fence(ctx, order::release, scope::device);
        ASSERT_EQ(queue.check(ctx, place, queue.free(ctx, 1, place)), status::ok);
        ASSERT_EQ(words.released, turn <= width / 2 ? 0u : turn <= width ? width / 2 : (turn - 1) / 256 * 256);
        if (turn % (width / 2) != 0) continue;
        ASSERT_TRUE(queue.reserve(ctx, 1, width / 2, first));
        queue.publish(ctx, 1, first, width / 2);
    }
    std::uint32_t place = 0;
    EXPECT_EQ(ctx.acquires, static_cast<int>(2 * width + 4)) << "one for each claim, and where space was short";
    EXPECT_EQ(ctx.releases, static_cast<int>(2 * width + 5)) << "one for each batch";
    EXPECT_EQ(ctx.ordered, 0);
    while (queue.claim(ctx, 1, place) == 1) EXPECT_EQ(queue.release(ctx, 1, place), status::ok);
    const int before = ctx.acquires;
    EXPECT_EQ(queue.claim(ctx, 1, place), 0);
    EXPECT_EQ(ctx.acquires, before) << "none where nothing was claimed";
    EXPECT_EQ(queue.fill(ctx), 0u);
}

/// The lanes of a warp reserve nearly all of a queue each, together.
struct greedy_program {
    channel_queue_ref queue;
    std::uint32_t* served;  ///< lanes, a bit each

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        std::uint64_t first = 0;
        const bool has = queue.reserve(ctx, full_warp<Ctx>, queue.width() - 1, first);
        const lane_mask all = ctx.ballot(full_warp<Ctx>, has);
        if (ctx.lane() == 0) *served = all;
    }
};

TEST(channel_queue_threads_test, SumsThatWrapAroundGetNoSpace) {
    constexpr std::uint32_t width = channel_queue_ref::max_width;  // four lanes ask for nearly 2^32 together
    // Pages of zeros that nobody touches.
    const std::unique_ptr<void, decltype(&std::free)> done(std::calloc(channel_queue_ref::done_words(width), 4),
                                                           &std::free);
    channel_words words{};
    const lone_environment alone(0, 1, 30);
    std::uint32_t served = 0;
    const channel_queue_ref queue(&words, nullptr, nullptr, static_cast<std::uint32_t*>(done.get()), width, 8, 0, 0);
    run_warp_threads(alone.get(), {1, 1, 64}, greedy_program{queue, &served});
    EXPECT_EQ(served, 1u);
    EXPECT_EQ(words.reserved, width - 1);
}

}  // namespace
}  // namespace laneway::test

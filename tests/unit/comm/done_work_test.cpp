// Work that is done counts for the PE when the block's messages have left, each piece once.
#include "laneway/comm/done_work.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

/// One block of a PE of `n_pes`.
class block_of {
public:
    explicit block_of(int n_pes) : environment(0, n_pes, 10) { done.open(); }

    [[nodiscard]] bool any() { return done.any(lane, 1); }
    void tell(bool left) {
        done.tell(lane, 1, [&] {
            ++asked;
            return left;
        });
    }

    test::lone_environment environment;
    cpu::context lane{environment.get(), 0, 1, nullptr};
    work_counters work;
    std::uint64_t completed = 0;
    int asked = 0;
    done_words words{7, 7};  // of a block before
    done_work<cpu::context> done{words, &completed, work};
};

TEST(done_work_test, IsKnownWhenAllHasLeft) {
    block_of block(2);
    EXPECT_FALSE(block.any());
    block.done.complete(block.lane, 3);
    block.done.complete(block.lane, 2);
    block.done.forward(block.lane, 4);
    EXPECT_TRUE(block.any());
    EXPECT_EQ(block.completed, 0u);
    block.tell(false);
    EXPECT_EQ(block.completed, 0u) << "its messages are still in the aggregation buffers";
    EXPECT_EQ(block.work.forwarded, 0u);
    EXPECT_TRUE(block.any()) << "it was forgotten";
    block.tell(true);
    EXPECT_EQ(block.completed, 5u);
    EXPECT_EQ(block.work.forwarded, 4u);
    EXPECT_FALSE(block.any());
    block.tell(true);
    EXPECT_EQ(block.completed, 5u) << "counted twice";
}

TEST(done_work_test, NobodyLooksAtTheBuffersForNothing) {
    block_of block(2);
    block.tell(true);
    EXPECT_EQ(block.asked, 0);
    block.done.forward(block.lane, 1);
    block.tell(true);
    EXPECT_EQ(block.asked, 1);
    EXPECT_EQ(block.work.forwarded, 1u);
    EXPECT_EQ(block.completed, 0u);
}

TEST(done_work_test, AloneItIsKnownAtOnce) {
    block_of block(1);
    block.done.complete(block.lane, 3);
    block.done.forward(block.lane, 2);
    EXPECT_EQ(block.completed, 3u);
    EXPECT_EQ(block.work.forwarded, 2u);
    EXPECT_FALSE(block.any());
}

/// What is completed while another warp looks at the aggregation buffers is not taken for work whose messages that look
/// has seen.
TEST(done_work_test, WhatIsDoneDuringTheLookCountsLater) {
    block_of block(2);
    block.done.complete(block.lane, 1);
    block.done.tell(block.lane, 1, [&] {
        block.done.complete(block.lane, 10);
        return true;
    });
    EXPECT_EQ(block.completed, 1u);
    EXPECT_TRUE(block.any());
    block.tell(true);
    EXPECT_EQ(block.completed, 11u);
}

/// Warps of a block that post, complete and tell: a message counts as sent before the work that posted it as done.
struct complete_and_tell {
    static constexpr int warps = 4;
    static constexpr std::uint64_t items = 2000;
    done_words* words;
    std::uint64_t* completed;
    work_counters* work;
    std::uint64_t* sent;  ///< plain words, by warp
    std::atomic<int>* wrong;

    void operator()(test::warp_context& ctx) const {
        done_work<test::warp_context> done(*words, completed, *work);
        if (ctx.warp() == 0) done.open();
        ctx.sync_block();
        for (std::uint64_t i = 1; i <= items; ++i) {
            ctx.store(&sent[ctx.warp()], i, order::relaxed, scope::block);
            done.complete(ctx, 1);
            if (i % 3 != 0) continue;
            done.tell(ctx, 1, [&] { return i % 2 == 0; });
            std::uint64_t all = 0;
            const std::uint64_t known = ctx.load(completed, order::acquire, scope::device);
            for (int warp = 0; warp < warps; ++warp) all += ctx.load(&sent[warp], order::relaxed, scope::block);
            if (known > all) ++*wrong;
        }
        ctx.sync_block();
        if (ctx.warp() == 0) done.tell(ctx, 1, [] { return true; });
    }
};

TEST(done_work_test, WarpsThatTellAtTheSameTimeCountEachItemOnce) {
    const test::lone_environment environment(0, 2, 10);
    done_words words{};
    std::uint64_t completed = 0, sent[complete_and_tell::warps] = {};
    work_counters work;
    std::atomic<int> wrong{0};
    test::run_warp_threads(environment.get(), {1, complete_and_tell::warps, 0},
                           complete_and_tell{&words, &completed, &work, sent, &wrong});
    EXPECT_EQ(completed, complete_and_tell::warps * complete_and_tell::items);
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace laneway

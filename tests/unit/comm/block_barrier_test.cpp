// Barriers of one block: who leads, what the PE is told, and when the block's warps may go on.
#include "laneway/comm/block_barrier.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

using arrival = block_barrier::arrival;
constexpr int team = 3;

class block_barrier_test : public testing::Test {
protected:
    block_barrier_test() {
        links_.work = &work_;
        barrier_.open();
    }

    test::lone_environment environment_{0, 2, 10};
    cpu::context lane_{environment_.get(), 0, 1, nullptr};
    work_counters work_;
    links_ref links_;
    block_barrier barrier_;
};

TEST_F(block_barrier_test, TheLastWarpLeads) {
    for (std::uint64_t number = 1; number <= 3; ++number) {
        EXPECT_EQ(barrier_.arrive(lane_, team), arrival::waits);
        EXPECT_EQ(barrier_.arrive(lane_, team), arrival::waits);
        EXPECT_EQ(barrier_.waiting(lane_), 2u);
        EXPECT_EQ(barrier_.arrive(lane_, team), arrival::leads);
        EXPECT_EQ(work_.arrived, (number - 1) * team) << "told before what the block has posted has left";
        barrier_.publish(lane_, links_, team);
        EXPECT_EQ(work_.arrived, number * team);
        EXPECT_EQ(barrier_.waiting(lane_), 0u);
    }
}

TEST_F(block_barrier_test, OpensWhenThatOfThePeHas) {
    EXPECT_FALSE(barrier_.is_open(lane_, 1));
    EXPECT_FALSE(barrier_.follow(lane_, links_, 1));
    EXPECT_FALSE(barrier_.is_open(lane_, 1));
    work_.released = 1;
    EXPECT_FALSE(barrier_.is_open(lane_, 1)) << "warps that do not lead look at the block's word alone";
    EXPECT_TRUE(barrier_.follow(lane_, links_, 1));
    EXPECT_TRUE(barrier_.is_open(lane_, 1));
    EXPECT_FALSE(barrier_.follow(lane_, links_, 2)) << "another barrier is another number";
    EXPECT_FALSE(barrier_.is_open(lane_, 2));
}

TEST_F(block_barrier_test, WhoeverIsLastFindsThatOthersHaveReturned) {
    EXPECT_EQ(barrier_.leave(lane_, team), arrival::waits);
    EXPECT_EQ(barrier_.arrive(lane_, team), arrival::waits) << "the third may still return, or come";
    EXPECT_EQ(barrier_.arrive(lane_, team), arrival::uneven);
    EXPECT_EQ(barrier_.waiting(lane_), 2u) << "those that have returned wait for nothing";
}

TEST_F(block_barrier_test, AWarpThatReturnsLastFindsThoseThatWait) {
    EXPECT_EQ(barrier_.arrive(lane_, team), arrival::waits);
    EXPECT_EQ(barrier_.leave(lane_, team), arrival::waits);
    EXPECT_EQ(barrier_.leave(lane_, team), arrival::uneven);
}

TEST_F(block_barrier_test, AllMayReturn) {
    for (int warp = 0; warp < team; ++warp) EXPECT_EQ(barrier_.leave(lane_, team), arrival::waits) << warp;
    EXPECT_EQ(work_.arrived, 0u);
}

/// Many barriers of a block of four warps, each a thread: the leader alone speaks for all, and what each wrote before a
/// barrier the others read behind it. The PE is this test's, and opens as soon as the block has come.
struct meet_often {
    static constexpr int warps = 4;
    static constexpr std::uint64_t barriers = 500;
    block_barrier* barrier;
    const links_ref* links;
    std::uint64_t* written;  ///< by warp; plain words
    std::atomic<int>* leaders;
    std::atomic<int>* wrong;

    void operator()(test::warp_context& ctx) const {
        for (std::uint64_t number = 1; number <= barriers; ++number) {
            written[ctx.warp()] = number;
            if (barrier->arrive(ctx, warps) == arrival::leads) {
                ++*leaders;
                barrier->publish(ctx, *links, warps);
                if (ctx.load(&links->work->arrived, order::acquire, scope::device) != number * warps) ++*wrong;
                ctx.store(&links->work->released, number, order::release, scope::device);
                if (!barrier->follow(ctx, *links, number)) ++*wrong;
            } else {
                while (!barrier->is_open(ctx, number)) ctx.pause();
            }
            for (int warp = 0; warp < warps; ++warp) {
                if (written[warp] < number) ++*wrong;
            }
            ctx.sync_block();  // nobody writes what others still read
        }
    }
};

TEST_F(block_barrier_test, OneWarpLeadsEachTimeAndAllSeeWhatWasWrittenBefore) {
    std::uint64_t written[meet_often::warps] = {};
    std::atomic<int> leaders{0}, wrong{0};
    test::run_warp_threads(environment_.get(), {1, meet_often::warps, 0},
                           meet_often{&barrier_, &links_, written, &leaders, &wrong});
    EXPECT_EQ(leaders, static_cast<int>(meet_often::barriers));
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace laneway

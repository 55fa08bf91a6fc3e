// What a block says of its tasks to others, where a warp spawns some just as it is said.
#include "laneway/task/task_deques.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

/// A lane of warp 0 that is held up at its first exchange: another warp of the block has done `before` it is made, and
/// `after` before what follows.
struct held_up_lane : warp_context {
    using warp_context::warp_context;

    std::function<void()> before, after;

    template <class T>
    T exchange(T* word, std::type_identity_t<T> value, order o, scope s) {
        if (const auto now = std::exchange(before, nullptr)) now();
        const T seen = warp_context::exchange(word, value, o, s);
        if (const auto now = std::exchange(after, nullptr)) now();
        return seen;
    }
};

/// A block of two warps, the second of which spawns.
class task_deques_test : public testing::Test {
protected:
    static constexpr std::uint64_t second_warp = 2, spilled = std::uint64_t{1} << 32;

    task_deques_test()
        : speaks_(cpu::context(environment_.get(), 0, 1, nullptr), shape_, 0, barrier_),
          spawns_(cpu::context(environment_.get(), 0, 1, nullptr), shape_, 1, barrier_) {
        nodes_.nodes = reinterpret_cast<std::byte*>(memory_.data());
        nodes_.node_bytes = sizeof(task_node);
        nodes_.blocks = &block_;
        nodes_.deques = deques_.data();
        nodes_.hints = &told_;
        shared_.open();
    }

    [[nodiscard]] task_deques<warp_context> spawner() { return {nodes_, &shared_, 0}; }
    void spawn() { spawner().push(spawns_, next_++); }
    void fill_deque() {
        for (std::uint32_t i = 0; i < task_deque::n_places; ++i) spawn();
    }
    void take_all() {
        while (spawner().find(spawns_) != 0) {
        }
    }
    void say() { task_deques<held_up_lane>(nodes_, &shared_, 0).refresh(speaks_); }

    const lone_environment environment_{0, 1, 10};
    const launch_shape shape_{.blocks = 1, .warps_per_block = 2};
    std::barrier<> barrier_{1};
    held_up_lane speaks_;
    warp_context spawns_;
    std::vector<task_node> memory_ = std::vector<task_node>(200);
    std::vector<task_deque> deques_ = std::vector<task_deque>(task_nodes_ref::max_warps);
    task_block_words block_{};
    std::uint64_t told_ = 0;
    task_deques_shared shared_;
    task_nodes_ref nodes_;
    std::uint32_t next_ = 0;
};

TEST_F(task_deques_test, ATaskThatSpillsAsTheBlockSpeaksIsTold) {
    fill_deque();
    say();
    speaks_.before = [&] { spawn(); };
    say();
    EXPECT_EQ(shared_.hint, second_warp | spilled);
    EXPECT_EQ(told_, second_warp | spilled);
}

TEST_F(task_deques_test, AndSoIsOneThatFindsItsStackNamedAlready) {
    fill_deque();
    spawn();
    say();
    take_all();
    fill_deque();
    speaks_.before = [&] { spawn(); };  // says nothing
    say();
    EXPECT_EQ(shared_.hint, second_warp | spilled);
    EXPECT_EQ(told_, second_warp | spilled);
}

TEST_F(task_deques_test, WhatAnotherWarpSaysMeanwhileIsNotOverwritten) {
    spawn();
    say();
    take_all();
    speaks_.after = [&] { spawn(); };
    say();
    EXPECT_EQ(shared_.hint, second_warp);
    EXPECT_EQ(told_, second_warp);
}

TEST_F(task_deques_test, WhatIsNoLongerThereIsNotTold) {
    fill_deque();
    spawn();
    say();
    take_all();
    say();
    EXPECT_EQ(shared_.hint, 0u);
    EXPECT_EQ(told_, 0u);
}

}  // namespace
}  // namespace laneway::test

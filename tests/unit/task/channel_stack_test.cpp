// What a warp keeps: the children that have ended for continuations of others, of which it tells together.
#include <gtest/gtest.h>

#include "laneway/task/fork_task.hpp"
#include "unit/counting_context.hpp"

namespace laneway::test {
namespace {

struct follows_two {
    using arguments = std::uint32_t[2];
    using result = std::uint32_t;
    static constexpr bool follows = true;
};

/// A stack of one lane with frames, and no elements.
struct one_stack {
    explicit one_stack(std::uint32_t frames) { all.frames = frames; }

    channel_stacks_ref all;
    warp_stack_shared shared{};
    warp_stack stack{all, true, &shared, 0, 1};
};

TEST(channel_stack_test, AWarpNotesAsManyEndedChildrenAsItHasRoomFor) {
    counting_lane lane;
    one_stack kept(64);
    kept.stack.open(lane.ctx);
    std::vector<std::byte> parents(channel_stacks_ref::max_closed + 2);
    for (int round = 0; round < 2; ++round) {
        for (std::uint32_t i = 0; i < parents.size(); ++i) {
            EXPECT_EQ(kept.stack.note_closed(lane.ctx, &parents[i]), i < channel_stacks_ref::max_closed);
        }
        kept.stack.look(lane.ctx);
        ASSERT_EQ(kept.stack.n_closed(), channel_stacks_ref::max_closed);
        for (std::uint32_t i = 0; i < channel_stacks_ref::max_closed; ++i) EXPECT_EQ(kept.stack.closed(i), &parents[i]);
        kept.stack.clear_closed(lane.ctx);
        kept.stack.look(lane.ctx);
        EXPECT_EQ(kept.stack.n_closed(), 0u);
    }
    one_stack without_frames(0);
    without_frames.stack.open(lane.ctx);
    EXPECT_FALSE(without_frames.stack.note_closed(lane.ctx, parents.data()));
}

TEST(channel_stack_test, OneFenceTellsOfManyChildrenAndOnlyTheLastAcquires) {
    counting_lane lane;
    one_stack kept(64);
    kept.stack.open(lane.ctx);
    const channel_set_ref set;
    channel_node node(set, 0, 0, channel_node::no_queue, &kept.stack);
    fork_element<follows_two> first{}, second{};
    first.header.open = 3 | fork_header::is_shared;
    second.header.open = 2;
    first.queue = second.queue = stack_tag::of(0, 0);
    first.place = 7;
    second.place = 8;
    shared_fence(lane.ctx, order::release, scope::device);
    for (auto* const at : {&first, &second, &first}) close_child(lane.ctx, node, reinterpret_cast<std::byte*>(at));
    EXPECT_EQ(lane.ctx.acquires, 0);
    kept.stack.look(lane.ctx);
    EXPECT_EQ(kept.stack.n_ready(), 0u);
    for (auto* const at : {&first, &second}) close_child(lane.ctx, node, reinterpret_cast<std::byte*>(at));
    EXPECT_EQ(lane.ctx.acquires, 2);
    EXPECT_EQ(lane.ctx.releases, 1);
    EXPECT_EQ(lane.ctx.ordered, 0);
    kept.stack.look(lane.ctx);
    ASSERT_EQ(kept.stack.n_ready(), 2u);
    EXPECT_EQ(kept.shared.next[0].place, 7u);
    EXPECT_EQ(kept.shared.next[1].place, 8u);
}

/// A continuation in a frame of a warp's, with so many children that have not ended.
struct in_frame {
    explicit in_frame(std::uint32_t open) {
        kept.all.frame_bytes = sizeof at;
        kept.all.frame_data = reinterpret_cast<std::byte*>(&at);
        at.header.open = open;
        at.queue = stack_tag::of(0, 0);
        at.place = 7;
        kept.stack.open(lane.ctx);
    }
    /// A task below it ends, `times` times.
    void end_task(int times = 1) {
        channel_node node(set, 0, 0, channel_node::no_queue, &kept.stack);
        for (int i = 0; i < times; ++i) node.note_ended(reinterpret_cast<std::byte*>(&at));
        fork_frames::end_tasks(lane.ctx, node, &kept.stack);
    }

    counting_lane lane;
    one_stack kept{32};
    channel_set_ref set;
    fork_element<follows_two> at{};
};

TEST(channel_stack_test, TasksOfTheirOwnWarpEndWithoutFencesAndTheLastRunsWhatFollows) {
    in_frame frame(3);
    frame.end_task();
    EXPECT_EQ(frame.at.header.open, 2u);
    EXPECT_EQ(frame.kept.stack.n_ready(), 0u);
    frame.end_task();
    frame.end_task();
    ASSERT_EQ(frame.kept.stack.n_ready(), 1u);
    EXPECT_EQ(frame.kept.shared.words.ready, 1u);
    EXPECT_EQ(frame.kept.shared.next[0].place, 7u);
    EXPECT_EQ(frame.kept.stack.n_closed(), 0u);
    EXPECT_EQ(frame.lane.ctx.releases + frame.lane.ctx.acquires + frame.lane.ctx.ordered, 0);
}

TEST(channel_stack_test, ATaskThatEndsTwiceIsCountedTwice) {
    in_frame frame(3);
    frame.end_task(2);
    EXPECT_EQ(frame.at.header.open, 1u);
    EXPECT_EQ(frame.kept.stack.n_ready(), 0u);
}

TEST(channel_stack_test, TasksWhoseContinuationOthersMaySeeAreNotedWhileThereIsRoom) {
    in_frame frame(100 | fork_header::is_shared);
    for (std::uint32_t i = 0; i < channel_stacks_ref::max_closed; ++i) frame.end_task();
    EXPECT_EQ(frame.kept.stack.n_closed(), channel_stacks_ref::max_closed);
    EXPECT_EQ(frame.at.header.open, 100 | fork_header::is_shared);
    EXPECT_EQ(frame.lane.ctx.releases, 0);
    frame.end_task();  // told at once
    EXPECT_EQ(frame.at.header.open, 99 | fork_header::is_shared);
    EXPECT_EQ(frame.lane.ctx.releases, 1);
    EXPECT_EQ(frame.kept.stack.n_closed(), channel_stacks_ref::max_closed);
}

}  // namespace
}  // namespace laneway::test

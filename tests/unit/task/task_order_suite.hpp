// Pools of tasks: which task comes when, and which does not come. On devices that can have one worker.
#pragma once

#include "unit/task/task_types.hpp"

namespace laneway::test {
namespace {

class task_order_test : public on_one_device {
protected:
    /// One worker that is busy, with one more task in front of all that follow.
    struct busy_pool {
        explicit busy_pool(const options& o, const task_pool_options& pool_options = {})
            : rt(with_one_worker(o)), counts(rt.allocate<std::uint64_t>(100)), order(rt.allocate<std::uint64_t>(1)),
              held(rt), pool(pool_options, wait_at_gate{}, count_run{counts.ref(), order.ref()}, fail_with{}),
              session(rt.start(pool)) {
            while (pool.statistics().entries[0] < ahead()) waiting.push_back(pool.submit<wait_at_gate>(held.word()));
        }
        /// Entries that the PE has before the host keeps some.
        [[nodiscard]] std::uint64_t ahead() const { return 2; }

        static options with_one_worker(options o) {
            o.checked_blocks = 1;
            o.checked_warps = 2;  // one of them controls
            return o;
        }

        runtime rt;
        symmetric_array<std::uint64_t> counts, order;
        gate held;
        task_pool<wait_at_gate, count_run, fail_with> pool;
        decltype(rt.start(pool)) session;
        std::vector<task_future<std::uint32_t>> waiting;
    };
};

TEST_P(task_order_test, HigherPrioritiesComeFirstAndEqualOnesInTheirOrder) {
    busy_pool busy(chosen());
    std::vector<task_future<std::uint64_t>> tasks;
    const int priorities[] = {0, -1, 5, 0, 5, -1};
    for (std::uint64_t i = 0; i < 6; ++i) {
        tasks.push_back(busy.pool.submit<count_run>(i, {.priority = priorities[i], .after = {}}));
    }
    busy.held.open();
    const std::uint64_t expected[] = {2, 4, 0, 3, 1, 5};
    for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(tasks[i].get(), expected[i]) << i;
}

TEST_P(task_order_test, WhatNoDeviceHasCanBeCancelled) {
    busy_pool busy(chosen());
    auto kept = busy.pool.submit<count_run>(1), lost = busy.pool.submit<count_run>(2);
    auto batch = busy.pool.submit_many<count_run>(std::vector<std::uint64_t>{3, 3, 3});
    auto follower = busy.pool.submit<count_run>(4, {.after = {lost.id()}});
    EXPECT_FALSE(busy.waiting[0].cancel()) << "it runs";
    EXPECT_TRUE(lost.cancel());
    EXPECT_TRUE(lost.cancel()) << "again";
    EXPECT_TRUE(batch.cancel());
    EXPECT_TRUE(lost.is_done());
    EXPECT_THROW((void)lost.get(), task_cancelled);
    EXPECT_THROW((void)batch.get(), task_cancelled);
    EXPECT_THROW((void)follower.get(), task_failed) << "what it follows never ends well";
    busy.held.open();
    EXPECT_EQ(kept.get(), 0u);
    EXPECT_FALSE(kept.cancel()) << "it is done";
    busy.session.stop();
    const auto counts = busy.counts.copy_out(0);
    EXPECT_EQ(counts[1] + 10 * (counts[2] + counts[3] + counts[4]), 1u);
}

TEST_P(task_order_test, TasksFollowOthers) {
    busy_pool busy(chosen());
    auto first = busy.pool.submit<count_run>(1, {.priority = -9, .after = {}});
    auto left = busy.pool.submit<count_run>(2, {.after = {first.id()}});
    auto right = busy.pool.submit<count_run>(3, {.priority = 9, .after = {first.id()}});
    auto last = busy.pool.submit<count_run>(4, {.priority = 99, .after = {left.id(), right.id(), left.id()}});
    auto batch = busy.pool.submit_many<count_run>(std::vector<std::uint64_t>{5, 6}, {.after = {last.id()}});
    busy.held.open();
    EXPECT_EQ(first.get(), 0u);
    EXPECT_GT(left.get(), 0u);
    EXPECT_GT(right.get(), 0u);
    EXPECT_EQ(last.get(), 3u);
    for (const std::uint64_t order : batch.get()) EXPECT_GT(order, 3u);
    EXPECT_EQ(busy.pool.submit<count_run>(7, {.after = {first.id(), last.id()}}).get(), 6u) << "they are done";
}

TEST_P(task_order_test, WhatFollowsAFailedTaskFailsWithoutAStart) {
    busy_pool busy(chosen());
    auto bad = busy.pool.submit<fail_with>(3);
    auto next = busy.pool.submit<count_run>(1, {.after = {bad.id()}});
    auto next_but_one = busy.pool.submit<count_run>(2, {.after = {next.id()}});
    busy.held.open();
    EXPECT_THROW((void)next_but_one.get(), task_failed);
    EXPECT_THROW((void)next.get(), task_failed);
    EXPECT_THROW((void)busy.pool.submit<count_run>(3, {.after = {bad.id()}}).get(), task_failed) << "it has failed";
    busy.session.stop();
    const auto counts = busy.counts.copy_out(0);
    EXPECT_EQ(counts[1] + counts[2] + counts[3], 0u);
}

TEST_P(task_order_test, FuturesAreVisitedAsTheyAreDone) {
    busy_pool busy(chosen());
    std::vector<task_future<std::uint64_t>> tasks;
    tasks.push_back(busy.pool.submit<count_run>(1, {.priority = -1, .after = {}}));
    tasks.push_back(busy.pool.submit<count_run>(2));
    tasks.push_back(busy.pool.submit<count_run>(3));
    EXPECT_TRUE(tasks[2].cancel());
    std::vector<std::size_t> seen;
    busy.pool.as_completed(tasks, [&](std::size_t position) {
        seen.push_back(position);
        if (seen.size() == 1) busy.held.open();
    });
    EXPECT_EQ(seen, (std::vector<std::size_t>{2, 1, 0}));
    EXPECT_THROW(busy.pool.as_completed(tasks, [](std::size_t) { throw std::runtime_error("enough"); }),
                 std::runtime_error);
}

TEST_P(task_order_test, PollGivesWhatIsDoneInThatOrderAndWaitsForNothing) {
    busy_pool busy(chosen());
    std::vector<task_future<std::uint64_t>> tasks;
    for (const int priority : {-1, 0, 1}) {
        tasks.push_back(busy.pool.submit<count_run>(1, {.priority = priority, .after = {}}));
    }
    tasks.push_back(busy.pool.submit<count_run>(2));
    EXPECT_TRUE(busy.pool.poll(tasks).empty());
    EXPECT_TRUE(tasks[3].cancel());
    EXPECT_EQ(busy.pool.poll(tasks), std::vector<std::size_t>{3});
    EXPECT_EQ(busy.pool.wait_any(tasks), 3u);
    EXPECT_TRUE(busy.pool.poll(std::vector<task_future<int>>{}).empty());
    EXPECT_THROW((void)busy.pool.wait_any(std::vector<task_future<int>>{}), usage_error) << "it would wait for ever";
    tasks.resize(3);
    std::thread opener([&] { busy.held.open(); });
    EXPECT_EQ(busy.pool.wait_any(tasks), 2u);
    busy.pool.wait_all(tasks);
    opener.join();
    EXPECT_EQ(busy.pool.poll(tasks), (std::vector<std::size_t>{2, 1, 0}));
    EXPECT_EQ(busy.pool.wait_any(tasks), 2u) << "again";
    tasks[1] = {};
    EXPECT_THROW((void)busy.pool.poll(tasks), usage_error) << "a future without a task";
    std::vector<std::size_t> seen;
    tasks[1] = busy.pool.submit<count_run>(1);
    tasks[1].wait();
    busy.pool.as_completed(tasks, [&](std::size_t position) { seen.push_back(position); });
    EXPECT_EQ(seen, (std::vector<std::size_t>{2, 0, 1})) << "what was done before is told in order as well";
}

TEST_P(task_order_test, AFullPoolSaysSoOrWaits) {
    task_pool_options few;
    few.capacity = 4;
    busy_pool busy(chosen(), few);
    auto third = busy.pool.submit<count_run>(1), fourth = busy.pool.submit<count_run>(2);
    EXPECT_THROW((void)busy.pool.submit<count_run>(3, {.after = {}, .wait = false}), task_queue_full);
    EXPECT_TRUE(fourth.cancel()) << "which makes room";
    auto fifth = busy.pool.submit<count_run>(4, {.after = {}, .wait = false});
    std::thread opener([&] { busy.held.open(); });
    auto sixth = busy.pool.submit<count_run>(5);  // waits
    EXPECT_EQ(sixth.get(), 2u);
    opener.join();
}

TEST_P(task_order_test, ALateTaskIsToldAndHarmsNoOther) {
    busy_pool busy(chosen());
    gate other(busy.rt);
    busy.held.open();
    for (auto& w : busy.waiting) w.wait();
    auto late = busy.pool.submit<wait_at_gate>(other.word(), {.after = {}, .timeout_seconds = 0.01});
    auto follower = busy.pool.submit<count_run>(1, {.after = {late.id()}});
    try {
        late.wait();
        FAIL() << "it is not done";
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("task " + std::to_string(late.id().record)), std::string::npos);
    }
    EXPECT_THROW(follower.wait(), task_failed);
    other.open();
    EXPECT_EQ(busy.pool.submit<count_run>(2, {.after = {}, .timeout_seconds = 50}).get(), 0u);
    EXPECT_THROW(late.wait(), timeout_error) << "still";
}

/// Gives the first of a line to one of these devices, where there is room there.
struct rooms {
    std::map<task_devices, int> left;
    std::string given;

    bool operator()(std::deque<ready_task>& line, task_devices among) {
        for (auto& [devices, room] : left) {
            if ((devices & among) == task_devices::none || room == 0) continue;
            --room;
            given += (given.empty() ? "" : " ") + std::to_string(line.front().id.record) +
                     (devices == task_devices::gpu ? "g" : "c");
            line.pop_front();
            return true;
        }
        return false;
    }
};

TEST(ready_tasks_test, WhatWaitsForOneKindOfDevicesHoldsUpNoOther) {
    using task_devices::cpu, task_devices::gpu, task_devices::all;
    ready_tasks ready;
    const std::pair<int, task_devices> tasks[] = {{0, gpu}, {0, gpu}, {0, cpu}, {0, all},
                                                  {1, gpu}, {0, all}, {-1, cpu}};
    std::uint32_t number = 0;
    for (const auto& [priority, devices] : tasks) ready.push({number++, 1}, priority, devices);
    rooms first{{{cpu, 2}, {gpu, 1}}, ""};
    ready.hand_out(all, std::ref(first));
    EXPECT_EQ(first.given, "4g 2c 3c") << "the GPU is full: what may run elsewhere does";
    rooms second{{{cpu, 2}, {gpu, 0}}, ""};
    ready.hand_out(all, std::ref(second));
    EXPECT_EQ(second.given, "5c 6c");
    rooms third{{{cpu, 2}, {gpu, 5}}, ""};
    ready.push({7, 1}, 0, all);
    ready.hand_out(gpu, std::ref(third));
    EXPECT_EQ(third.given, "0g 1g 7g") << "in their order";
    EXPECT_TRUE(ready.empty());
}

TEST(ready_tasks_test, WhatBecomesReadyInAHigherLevelComesNext) {
    ready_tasks ready;
    for (std::uint32_t number = 0; number < 3; ++number) ready.push({number, 1}, 0, task_devices::all);
    std::vector<std::uint32_t> given;
    ready.hand_out(task_devices::all, [&](std::deque<ready_task>& line, task_devices) {
        given.push_back(line.front().id.record);
        line.pop_front();
        if (given.back() == 0) ready.push({9, 1}, 5, task_devices::all);  // as what follows an empty batch
        return true;
    });
    EXPECT_EQ(given, (std::vector<std::uint32_t>{0, 9, 1, 2}));
    EXPECT_TRUE(ready.empty());
}

LANEWAY_ON_DEVICES(task_order_test, lone_device());

}  // namespace
}  // namespace laneway::test

// Pools of tasks: threads that come and go at bad moments, futures that are dropped, options at their ends.
#pragma once

#include "unit/task/task_types.hpp"

namespace laneway::test {
namespace {

class task_misuse_test : public on_devices {};

// The results of a batch lie in its future's memory: not of one that is about to go.
template <class Future>
concept gives_results = requires(Future future) {
    std::forward<Future>(future).get();
};
template <class Future>
concept gives_statuses = requires(Future future) {
    std::forward<Future>(future).statuses();
};
static_assert(gives_results<batch_future<int>&> && gives_statuses<const batch_future<int>&>);
static_assert(!gives_results<batch_future<int>> && !gives_results<const batch_future<int>>);
static_assert(!gives_statuses<batch_future<int>> && !gives_statuses<const batch_future<int>>);

/// Spawns one task, where there is room.
struct try_to_spawn {
    using arguments = no_arguments;
    using result = std::uint32_t;
    static constexpr bool spawns = true;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments&, Worker& worker) const {
        return worker.lane() == 0 && worker.spawn(ctx, task<square>, 1.0) ? 1 : 0;
    }
};

/// Takes so many microseconds.
struct take_time {
    using arguments = std::uint64_t;
    using result = void;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& us) const {
        const std::uint64_t end = ctx.now_ns() + us * 1000;
        while (ctx.now_ns() < end && !stopped(ctx)) ctx.pause();
    }
};

/// The same, whatever happens meanwhile.
struct wait_on {
    using arguments = std::uint64_t;
    using result = void;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& us) const {
        const std::uint64_t end = ctx.now_ns() + us * 1000;
        while (ctx.now_ns() < end) ctx.pause();
    }
};

/// Where such a type runs: compiled for no other device.
template <task_devices Where>
struct told_by {
    using arguments = no_arguments;
    using result = task_devices;
    static constexpr auto runs_on = Where;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments&) const {
        static_assert(runs_here<Ctx, told_by>, "compiled for a device that does not run it");
        return catching<Ctx> ? task_devices::cpu : task_devices::gpu;
    }
};

template <class Type, class Pool>
void expect_only_where_it_runs(Pool& pool, bool is_there) {
    if (!is_there) {
        EXPECT_THROW((void)pool.template submit<Type>(), usage_error);
        EXPECT_THROW((void)pool.template submit_many<Type>(7, {}), usage_error);
        return;
    }
    auto batch = pool.template submit_many<Type>(300, {});
    std::vector<task_future<task_devices>> some;
    for (int i = 0; i < 100; ++i) some.push_back(pool.template submit<Type>());
    for (const auto& one : some) EXPECT_EQ(one.get() & Type::runs_on, one.get());
    for (const task_devices where : batch.get()) ASSERT_EQ(where & Type::runs_on, where);
}

TEST_P(task_misuse_test, TypesRunOnDevicesOfTheirKindsAndAreRefusedWhereThereAreNone) {
    runtime rt(chosen());
    constexpr auto cpu = task_devices::cpu, gpu = task_devices::gpu, all = task_devices::all;
    task_pool pool(told_by<cpu>{}, told_by<gpu>{}, told_by<all>{});
    auto session = rt.start(pool);
    const bool any_gpu = GetParam().find("cuda") != std::string::npos;
    const bool any_cpu = GetParam().find("cpu") != std::string::npos || checked();
    expect_only_where_it_runs<told_by<cpu>>(pool, any_cpu);
    expect_only_where_it_runs<told_by<gpu>>(pool, any_gpu);
    expect_only_where_it_runs<told_by<all>>(pool, true);
    EXPECT_EQ(pool.statistics().submitted, 400u * (1u + any_cpu + any_gpu));
}

TEST_P(task_misuse_test, ATaskFollowsNoneThatIsSubmittedLater) {
    runtime rt(chosen());
    task_pool pool(square{});
    auto session = rt.start(pool);
    auto first = pool.submit<square>(2.0);
    first.wait();
    task_id id = first.id();
    first = {};
    ++id.generation;  // as the next task will be called
    EXPECT_THROW((void)pool.submit<square>(3.0, {.after = {id}}), unknown_task) << "a task that would follow itself";
    auto next = pool.submit<square>(4.0);
    EXPECT_EQ(next.id(), id);
    EXPECT_EQ(pool.submit<square>(5.0, {.after = {next.id()}}).get(), 25);
}

TEST_P(task_misuse_test, APoolLargerThanMemoryIsRefused) {
    runtime rt(chosen());
    task_pool_options large;
    large.batch_bytes = std::uint64_t{1} << 60;
    task_pool pool(large, square{});
    EXPECT_THROW((void)rt.start(pool), error);
    large.batch_bytes = 4096;
    task_pool small(large, square{});
    auto session = rt.start(small);
    EXPECT_EQ(small.submit<square>(3.0).get(), 9) << "the devices are as they were";
}

TEST_P(task_misuse_test, WaitingForSeveralLeavesNothingBehind) {
    runtime rt(chosen());
    gate held(rt);
    task_pool pool(wait_at_gate{}, square{});
    auto session = rt.start(pool);
    for (int round = 0; round < 3; ++round) {
        std::vector<task_future<std::uint32_t>> some;
        some.push_back(pool.submit<wait_at_gate>(held.word()));
        some.emplace_back();
        EXPECT_THROW(pool.as_completed(some, [](std::size_t) {}), usage_error) << "the second is no task";
        held.open();
        some[1] = pool.submit<wait_at_gate>(held.word());
        std::vector<task_future<double>> squares;
        for (int i = 0; i < 20; ++i) squares.push_back(pool.submit<square>(i));
        EXPECT_THROW(pool.as_completed(squares,
                                       [&](std::size_t position) {
                                           squares[position] = {};  // dropped while it is visited
                                           if (position > 3) throw std::runtime_error("enough");
                                       }),
                     std::runtime_error);
        for (auto& one : some) EXPECT_EQ(one.get(), 1u);
    }
    EXPECT_EQ(pool.submit<square>(6.0).get(), 36);
}

TEST_P(task_misuse_test, ASessionMayBeStoppedWhileThreadsSubmit) {
    for (const std::uint32_t capacity : {2u, 1000u}) {
        runtime rt(chosen());
        task_pool_options few;
        few.capacity = capacity;
        task_pool pool(few, square{});
        auto session = rt.start(pool);
        std::atomic<int> submitted = 0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&] {
                try {
                    for (;;) {
                        auto future = pool.submit<square>(2.0);
                        ++submitted;
                        if (submitted % 7 == 0) future.wait();
                    }
                } catch (const error&) {
                    // The session has been stopped.
                }
            });
        }
        while (submitted < 50) std::this_thread::yield();
        std::thread other([&] { (void)session.stop(); });
        session.stop();
        other.join();
        for (auto& t : threads) t.join();
        EXPECT_GE(submitted, 50);
    }
}

TEST_P(task_misuse_test, EpochsCloseWhileOthersSubmit) {
    runtime rt(chosen());
    const auto counts = rt.allocate<std::uint64_t>(2), order = rt.allocate<std::uint64_t>(1);
    task_pool_options few;
    few.capacity = 500;
    task_pool pool(few, count_run{counts.ref(), order.ref()});
    auto session = rt.start(pool);
    std::atomic<bool> enough = false;
    std::thread busy([&] {
        while (!enough) (void)pool.submit<count_run>(0);
    });
    for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
        for (int i = 0; i < 20; ++i) (void)pool.submit<count_run>(1);
        session.quiesce();
    }
    enough = true;
    busy.join();
    std::uint64_t sum = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counts.copy_out(pe)[1];
    EXPECT_EQ(sum, 100u);
}

TEST_P(task_misuse_test, CopiesWaitForTasksThatNoDeviceHasYet) {
    runtime rt(chosen());
    const auto counts = rt.allocate<std::uint64_t>(1), order = rt.allocate<std::uint64_t>(1);
    task_pool pool(count_run{counts.ref(), order.ref()});
    auto session = rt.start(pool);
    for (std::uint64_t i = 0; i < many(); ++i) (void)pool.submit<count_run>(0);
    std::uint64_t sum = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counts.copy_out(pe)[0];
    EXPECT_EQ(sum, many());
}

TEST_P(task_misuse_test, DroppedFuturesAreNoTasksToFollow) {
    runtime rt(chosen());
    task_pool_options one;
    one.capacity = 1;
    gate held(rt);
    task_pool pool(one, wait_at_gate{}, square{});
    auto session = rt.start(pool);
    auto before = pool.submit<wait_at_gate>(held.word());
    const task_id gone = before.id();
    std::thread dropper([&] {
        before = {};
        held.open();
    });
    // Full: whether the future is gone before or while this waits, it is said.
    EXPECT_THROW((void)pool.submit<square>(1.0, {.after = {gone}}), usage_error);
    dropper.join();
    EXPECT_EQ(pool.submit<square>(2.0).get(), 4);
    session.quiesce();
    EXPECT_EQ(pool.statistics().submitted, pool.statistics().done);
}

TEST_P(task_misuse_test, BatchesThatEndUnwantedLeaveTheirMemory) {
    runtime rt(chosen());
    gate held(rt);
    task_pool_options small;
    small.batch_bytes = 4096;
    task_pool pool(small, wait_at_gate{}, square{});
    auto session = rt.start(pool);
    auto first = pool.submit<wait_at_gate>(held.word());
    EXPECT_THROW((void)pool.submit_many<square>(std::vector<double>(400)), task_queue_full)
        << "one that never fits waits for nobody";
    for (int i = 0; i < 40; ++i) (void)pool.submit_many<square>({}, {.after = {first.id()}});
    auto cancelled = pool.submit_many<square>(std::vector<double>(4), {.after = {first.id()}});
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_THROW((void)cancelled.statuses(), task_cancelled) << "none has run";
    cancelled = {};
    held.open();
    first.wait();
    session.quiesce();
    const auto all = pool.submit_many<square>(std::vector<double>(190, 3.0));
    EXPECT_EQ(all.get()[189], 9) << "all memory is free";
}

TEST_P(task_misuse_test, ABatchThatTakesLongGoesOnWhileItsTasksAreDone) {
    if (checked()) GTEST_SKIP() << "deadlines of checked devices are in virtual time";
    options o = chosen();
    o.timeout_seconds = 1;
    runtime rt(o);
    task_pool pool(take_time{});
    auto session = rt.start(pool);
    // Of what seems to take no time workers get many at once.
    pool.submit_many<take_time>(std::vector<std::uint64_t>(20'000, 0)).wait();
    const std::uint64_t tasks = 9 * pool.statistics().workers;
    EXPECT_NO_THROW(pool.submit_many<take_time>(std::vector<std::uint64_t>(tasks, 150'000)).wait());
}

/// Whether all lanes leave a session in time whose deadline passes while its workers have much left to do. `alone`: by
/// single tasks, not by a batch.
inline bool workers_leave_the_rest(options o, bool alone) {
    o.timeout_seconds = 0.1;
    runtime rt(o);
    task_pool pool(wait_on{});
    auto session = rt.start(pool);
    // Of what seems to take no time workers get many at once.
    const auto quick = pool.submit_many<wait_on>(std::vector<std::uint64_t>(5'000, 0));
    while (!quick.is_done()) std::this_thread::yield();  // longer than the deadline, on a busy machine
    // Bodies that do not ask whether they should end. One takes much longer than the deadline, and much less than
    // lanes have to leave; what a worker has been given takes longer than that.
    const std::vector<std::uint64_t> times(16 * pool.statistics().workers, 300'000);
    std::vector<task_future<void>> each;
    for (std::size_t i = 0; alone && i < times.size(); ++i) each.push_back(pool.submit<wait_on>(times[i]));
    try {
        alone ? each.back().wait() : pool.submit_many<wait_on>(times).wait();
        return false;  // this thread has not run for so long that all was done before it began to wait
    } catch (const timeout_error&) {
    }
    try {
        session.stop();
    } catch (const timeout_error& e) {
        return std::string(e.what()).find("nor when it was told to stop") == std::string::npos;
    }
    return true;
}

TEST_P(task_misuse_test, WorkersLeaveTheRestWhenTheSessionEnds) {
    if (checked()) GTEST_SKIP() << "deadlines of checked devices are in virtual time";
    for (const bool alone : {false, true}) {
        // A busy machine may keep a lane from running for as long as lanes have to leave; workers that go on with what
        // they have been given never leave in time.
        bool leave = false;
        for (int time = 0; time < 4 && !leave; ++time) leave = workers_leave_the_rest(chosen(), alone);
        EXPECT_TRUE(leave) << (alone ? "single tasks" : "a batch");
    }
}

/// A chain of tasks, each of which spawns the next when it has taken its time.
struct take_turns {
    using arguments = std::uint64_t;  ///< that are left
    using result = void;
    static constexpr bool spawns = true;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& left, Worker& worker) const {
        take_time{}(ctx, 100'000);
        if (left > 1 && worker.lane() == 0 && !worker.spawn(ctx, task<take_turns>, left - 1)) worker.fail(99);
    }
};

TEST_P(task_misuse_test, TasksThatSpawnOthersGoOnWhileTheseAreDone) {
    if (checked()) GTEST_SKIP() << "deadlines of checked devices are in virtual time";
    options o = chosen();
    o.timeout_seconds = 1;
    runtime rt(o);
    task_pool pool(take_turns{});
    auto session = rt.start(pool);
    EXPECT_NO_THROW(pool.submit<take_turns>(12).get());
}

TEST_P(task_misuse_test, AFutureThatWasMovedHasNoTask) {
    runtime rt(chosen());
    task_pool pool(square{});
    auto session = rt.start(pool);
    auto first = pool.submit_many<square>(std::vector<double>(4, 2.0));
    const task_id gone = first.id();
    auto second = pool.submit_many<square>(std::vector<double>(1, 3.0));
    first.wait();
    first = std::move(second);
    EXPECT_EQ(first.count(), 1u);
    EXPECT_EQ(first.get()[0], 9);
    EXPECT_THROW((void)second.get(), usage_error);
    EXPECT_THROW((void)pool.submit<square>(1.0, {.after = {gone}}), usage_error) << "its place is free";
}

TEST_P(task_misuse_test, OptionsAtTheirEnds) {
    runtime rt(chosen());
    EXPECT_THROW(task_pool({.max_ahead = ~0u}, square{}), usage_error);
    EXPECT_THROW(task_pool({.ahead_seconds = std::numeric_limits<double>::infinity()}, square{}), usage_error);
    task_pool_options least;
    least.spawned_tasks = 0;
    least.max_ahead = 1;
    least.bundle_tasks = 1;
    least.ahead_seconds = 0;
    least.batch_bytes = 192;
    task_pool pool(least, try_to_spawn{}, square{});
    EXPECT_THROW((void)rt.start(pool, pool), usage_error) << "the same twice";
    auto session = rt.start(pool);
    EXPECT_EQ(pool.submit<try_to_spawn>().get(), 0u) << "no room";
    EXPECT_EQ(pool.submit<square>(5.0, {.after = {}, .timeout_seconds = 1e300}).get(), 25);
    const auto one = pool.submit_many<square>(std::vector<double>{3.0});
    EXPECT_EQ(one.get()[0], 9);
}

TEST(task_failures_test, ExceptionsBelongToOneTask) {
    task_failures all;
    const auto throws = [] { throw std::runtime_error("first"); };
    EXPECT_TRUE(all.catches(3, 1, throws));
    EXPECT_FALSE(all.catches(3, 2, [] {}));
    all.forget(2);
    EXPECT_NE(all.take(3, 1), nullptr);
    EXPECT_EQ(all.take(3, 1), nullptr);
    EXPECT_TRUE(all.catches(3, 7, throws));
    all.forget(3);
    EXPECT_EQ(all.take(3, 7), nullptr) << "the record is another task's by now";
}

LANEWAY_ON_DEVICES(task_misuse_test, device_lists());

}  // namespace
}  // namespace laneway::test

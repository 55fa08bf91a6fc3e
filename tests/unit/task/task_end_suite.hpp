// Pools of tasks: failures, wrong use, and the ends of sessions.
#pragma once

#include "unit/task/task_types.hpp"

namespace laneway::test {
namespace {

class task_end_test : public on_devices {};

/// Throws on CPU devices.
struct throw_odd {
    using arguments = int;
    using result = int;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& x) const {
#if !defined(__CUDA_ARCH__)
        if (x % 2 != 0) throw std::out_of_range("odd: " + std::to_string(x));
#endif
        return x;
    }
};

/// Ends the program with a fault.
struct break_program {
    using arguments = no_arguments;
    using result = void;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments&) const {
        (void)fail(ctx, status::handler_failed, operation::user_code, -1, 77);
    }
};

TEST_P(task_end_test, AFailedTaskTellsItsNumberAndHarmsNoOther) {
    runtime rt(chosen());
    task_pool pool(fail_with{}, square{});
    auto session = rt.start(pool);
    auto good = pool.submit<fail_with>(0), bad = pool.submit<fail_with>(4242);
    auto other = pool.submit<square>(5.0);
    good.wait();
    try {
        bad.wait();
        FAIL() << "it has failed";
    } catch (const task_failed& e) {
        EXPECT_EQ(e.number(), 4242u);
    }
    EXPECT_THROW(bad.wait(), task_failed) << "again";
    EXPECT_EQ(other.get(), 25);
    auto batch = pool.submit_many<fail_with>(std::vector<std::uint32_t>{0, 0, 9, 0, 8, 0});
    try {
        batch.wait();
        FAIL() << "two have failed";
    } catch (const task_failed& e) {
        EXPECT_EQ(e.number(), 9u) << "the first of them";
        EXPECT_NE(std::string(e.what()).find("number 2 of its batch"), std::string::npos) << e.what();
    }
    const auto statuses = batch.statuses();
    EXPECT_EQ(std::vector(statuses.begin(), statuses.end()), (std::vector<std::uint32_t>{0, 0, 9, 0, 8, 0}));
    EXPECT_EQ(pool.statistics().failed, 2u);
    session.stop();
}

#if !defined(__CUDACC__)
TEST_P(task_end_test, WhatABodyThrowsIsThrownByItsFuture) {
    runtime rt(chosen());
    task_pool pool(throw_odd{});
    auto session = rt.start(pool);
    std::vector<task_future<int>> tasks;
    for (int i = 0; i < 50; ++i) tasks.push_back(pool.submit<throw_odd>(i));
    for (int i = 0; i < 50; ++i) {
        if (i % 2 == 0) {
            EXPECT_EQ(tasks[static_cast<std::size_t>(i)].get(), i);
            continue;
        }
        try {
            (void)tasks[static_cast<std::size_t>(i)].get();
            ADD_FAILURE() << "it threw";
        } catch (const std::out_of_range& e) {
            EXPECT_EQ(e.what(), "odd: " + std::to_string(i));
        }
    }
    EXPECT_THROW(pool.submit_many<throw_odd>(std::vector<int>{2, 4, 5}).wait(), std::out_of_range);
    session.stop();
}
#endif

TEST_P(task_end_test, APoolHasASessionOrSaysSo) {
    runtime rt(chosen());
    task_pool pool(square{});
    EXPECT_THROW((void)pool.submit<square>(1.0), usage_error) << "not started";
    task_future<double> kept;
    EXPECT_THROW((void)kept.get(), usage_error) << "of no task";
    for (int i = 1; i < 4; ++i) {
        auto session = rt.start(pool);
        EXPECT_THROW((void)rt.start(pool), usage_error) << "it has one";
        auto future = pool.submit<square>(static_cast<double>(i));
        if (i % 2 == 0) {
            EXPECT_EQ(future.get(), i * i);
        }
        session.stop();
        EXPECT_THROW((void)pool.submit<square>(1.0), usage_error) << "stopped";
        EXPECT_EQ(future.get(), i * i) << "what was submitted before is done";
        kept = std::move(future);
    }
    EXPECT_EQ(kept.get(), 9);
}

TEST_P(task_end_test, ATaskMayOutliveItsPoolAndItsFuture) {
    runtime rt(chosen());
    task_future<double> future;
    {
        task_pool pool(square{});
        auto session = rt.start(pool);
        future = pool.submit<square>(7.0);
        (void)pool.submit<square>(8.0);
    }
    EXPECT_EQ(future.get(), 49);
}

/// And may be forgotten by who hears of all ends, before the call that submits it returns.
TEST_P(task_end_test, ABatchMayEndWhileItsArgumentsAreCopied) {
    constexpr std::uint32_t of_squares = 1;
    const std::uint32_t count = is_checked(GetParam()) ? 200'000 : 2'000'000;
    runtime rt(chosen());
    task_pool_options large;
    large.batch_bytes = 1 << 29;
    task_pool pool(large, wait_at_gate{}, square{});
    auto session = rt.start(pool);
    const gate closed(rt);
    const auto held = pool.submit<wait_at_gate>(closed.word());
    while (!pool.feed()->is_given(held.id())) (void)held.is_done();
    const std::vector<double> given(count, 2.0);
    std::atomic<bool> is_over = false;
    std::thread listener([&] {
        while (!is_over) {
            for (const ended_task& ended : pool.feed()->take_ended()) pool.feed()->forget(ended.id);
        }
    });
    std::thread canceller([&] {
        while (!is_over) pool.feed()->cancel_all();
    });
    for (int i = 0; i < 10; ++i) {
        task_request request;
        request.after = {held.id()};
        request.companion = std::make_shared<int>(i);
        (void)pool.feed()->submit_batch(of_squares, given.data(), count, request);
    }
    is_over = true;
    pool.feed()->wake_listener();
    listener.join();
    canceller.join();
    closed.open();
    EXPECT_EQ(held.get(), 1u);
    EXPECT_EQ(pool.submit<square>(3.0).get(), 9);
}

TEST_P(task_end_test, WrongRequestsAreRefusedAndThePoolGoesOn) {
    runtime rt(chosen());
    task_pool pool(square{});
    auto session = rt.start(pool);
    EXPECT_THROW((void)pool.submit<square>(1.0, {.after = {task_id{}}}), usage_error);
    EXPECT_THROW((void)pool.submit<square>(1.0, {.after = {task_id{99, 1}}}), usage_error);
    EXPECT_THROW((void)pool.submit<square>(1.0, {.after = {}, .timeout_seconds = -1}), usage_error);
    EXPECT_EQ(pool.submit<square>(2.0).get(), 4);
    EXPECT_EQ(pool.statistics().submitted, 1u);
}

TEST_P(task_end_test, WrongOptionsAreRefused) {
    EXPECT_THROW(task_pool({.capacity = 0}, square{}), usage_error);
    EXPECT_THROW(task_pool({.bundle_tasks = 0}, square{}), usage_error);
    EXPECT_THROW(task_pool({.ahead_seconds = -1}, square{}), usage_error);
    EXPECT_THROW(task_pool({.bundle_seconds = -1}, square{}), usage_error);
}

TEST_P(task_end_test, AFaultOfTheProgramEndsAllTasks) {
    runtime rt(chosen());
    task_pool pool(square{}, break_program{});
    auto session = rt.start(pool);
    EXPECT_EQ(pool.submit<square>(2.0).get(), 4);
    auto broken = pool.submit<break_program>();
    auto after = pool.submit<square>(3.0, {.after = {broken.id()}});
    EXPECT_THROW(broken.wait(), device_fault);
    EXPECT_THROW((void)session.stop(), device_fault);
    EXPECT_THROW((void)after.get(), error) << "it ends without a result";
    EXPECT_THROW((void)pool.submit<square>(1.0), usage_error);
    auto again = rt.start(pool);
    EXPECT_EQ(pool.submit<square>(3.0).get(), 9) << "in another session";
}

TEST_P(task_end_test, TheProgramLeavesTheDevicesAndComesBack) {
    for (const double lease : {0.0, 1e-6}) {
        options o = chosen();
        o.lease_seconds = lease;
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(1), order = rt.allocate<std::uint64_t>(1);
        task_pool pool(count_run{counts.ref(), order.ref()});
        auto session = rt.start(pool);
        for (std::uint64_t i = 1; i <= 10; ++i) {
            (void)pool.submit<count_run>(0);
            auto wanted = pool.submit<count_run>(0);
            if (i % 2 == 0) wanted.wait();
            std::uint64_t sum = 0;  // copying has the program leave when all is done
            for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counts.copy_out(pe)[0];
            if (i % 2 == 0) {
                EXPECT_GE(sum, 2 * i - 1);
            }
            session.quiesce();
            sum = 0;
            for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counts.copy_out(pe)[0];
            ASSERT_EQ(sum, 2 * i);
        }
    }
}

LANEWAY_ON_DEVICES(task_end_test, device_lists(1));

}  // namespace
}  // namespace laneway::test

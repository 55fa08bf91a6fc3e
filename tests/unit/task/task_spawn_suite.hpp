// Pools of tasks: tasks that spawn others, and tasks of whole blocks.
#pragma once

#include "unit/task/task_types.hpp"

namespace laneway::test {
namespace {

struct two_numbers {
    std::uint64_t left, right;
};
struct add_two {
    using arguments = two_numbers;
    using result = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& n) const {
        return n.left + n.right;
    }
};

/// By the definition: each task above 1 spawns two, whose results go into the arguments of the one that follows.
struct fibonacci {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    static constexpr bool spawns = true;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
        if (worker.lane() != 0 || n < 2) return n;
        two_numbers* const sum = worker.then(ctx, task<add_two>, {0, 0});
        if (sum == nullptr || !worker.spawn(ctx, task<fibonacci>, n - 1, &sum->left)) {
            worker.fail(1);
        } else if (!worker.spawn(ctx, task<fibonacci>, n - 2, &sum->right)) {
            worker.fail(2);
        }
        return 0;
    }
};

/// A tree of tasks: each counts itself, fails where it is told to, and each of its lanes spawns children.
struct grow {
    struct arguments {
        std::uint32_t depth, fails_at, throws_at;
    };
    using result = void;
    static constexpr bool spawns = true;
    static constexpr std::uint32_t children = 3;
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& a, Worker& worker) const {
        if (worker.lane() == 0) atomic_add(ctx, counted[0], 1);
        if (a.depth == a.fails_at) worker.fail(100 + a.depth);
#if !defined(__CUDACC__)
        if (a.depth == a.throws_at) throw std::domain_error("depth " + std::to_string(a.depth));
#endif
        if (a.depth == 0) return;
        for (auto i = static_cast<std::uint32_t>(worker.lane()); i < children;
             i += static_cast<std::uint32_t>(worker.lanes())) {
            if (!worker.spawn(ctx, task<grow>, {a.depth - 1, a.fails_at, a.throws_at})) worker.fail(99);
        }
    }
};

/// What remains of `depth` levels where no room is left: the body does it by itself.
struct count_down {
    using arguments = std::uint32_t;
    using result = void;
    static constexpr bool spawns = true;
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& depth, Worker& worker) const {
        if (worker.lane() != 0) return;
        std::uint32_t own = depth;
        while (own > 0 && !worker.spawn(ctx, task<count_down>, own - 1)) --own;
        atomic_add(ctx, counted[0], depth - own + 1);
    }
};

/// All lanes of a block add up what the others have written.
struct block_sum {
    using arguments = std::uint32_t;
    using result = std::uint32_t;
    static constexpr task_width width = task_width::block;
    symmetric_ref<std::uint32_t> words;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& place, Worker& worker) const {
        const std::uint32_t first = place * 1024;
        *local(ctx, words[first + static_cast<std::uint32_t>(worker.lane())]) = place;
        worker.sync(ctx);
        std::uint32_t sum = 0;
        for (int i = 0; i < worker.lanes(); ++i) sum += *local(ctx, words[first + static_cast<std::uint32_t>(i)]);
        worker.sync(ctx);
        return sum * 2048 + static_cast<std::uint32_t>(worker.lanes());
    }
};
/// The same as a child and as a parent.
struct spawn_block_sums {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr task_width width = task_width::block;
    static constexpr bool spawns = true;
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& depth, Worker& worker) const {
        worker.sync(ctx);
        if (worker.lane() == worker.lanes() - 1) {
            atomic_add(ctx, counted[0], 1);
            for (int i = 0; depth > 0 && i < 2; ++i) {
                if (!worker.spawn(ctx, task<spawn_block_sums>, depth - 1)) worker.fail(99);
            }
        }
        return depth;
    }
};

/// Leaves a mark.
struct mark {
    using arguments = std::uint32_t;
    using result = void;
    symmetric_ref<std::uint32_t> marks;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& place) const {
        if (ctx.lane() == 0) ctx.store(local(ctx, marks[place]), 1u, order::release, scope::device);
    }
};
/// Spawns a task, and does not return before that has run.
struct wait_for_child {
    using arguments = std::uint32_t;
    using result = void;
    static constexpr bool spawns = true;
    symmetric_ref<std::uint32_t> marks;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& place, Worker& worker) const {
        if (worker.lane() != 0) return;
        if (!worker.spawn(ctx, task<mark>, place)) worker.fail(99);
        bounded_spin spin;
        while (ctx.load(local(ctx, marks[place]), order::acquire, scope::device) == 0) {
            if (spin.next(ctx, {}) != status::ok) return;
        }
    }
};
/// One lane spawns many.
struct spawn_many {
    using arguments = std::uint32_t;
    using result = void;
    static constexpr bool spawns = true;
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& children, Worker& worker) const {
        if (worker.lane() != 0) return;
        atomic_add(ctx, counted[0], 1);
        for (std::uint32_t i = 0; i < children; ++i) {
            if (!worker.spawn(ctx, task<spawn_many>, 0u)) worker.fail(99);
        }
    }
};

class task_spawn_test : public on_devices {
protected:
    static std::uint64_t sum_of(runtime& rt, const symmetric_array<std::uint64_t>& counted) {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counted.copy_out(pe)[0];
        return sum;
    }
};

TEST_P(task_spawn_test, ResultsOfChildrenGoToTheTaskThatFollows) {
    runtime rt(chosen());
    task_pool pool(fibonacci{}, add_two{});
    auto session = rt.start(pool);
    const std::uint64_t expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
    std::vector<task_future<std::uint64_t>> all;
    for (std::uint64_t n = 0; n <= 12; ++n) all.push_back(pool.submit<fibonacci>(n));
    for (std::uint64_t n = 0; n <= 12; ++n) EXPECT_EQ(all[n].get(), expected[n]);
    const std::vector<std::uint64_t> given = {3, 7, 0, 11, 5};
    auto batch = pool.submit_many<fibonacci>(given);
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(batch.get()[i], expected[given[i]]);
    if (!checked()) {
        EXPECT_EQ(pool.submit<fibonacci>(20).get(), 6765u);
    }
}

TEST_P(task_spawn_test, ATaskIsDoneWhenAllThatItSpawnedIs) {
    const std::uint32_t depth = checked() ? 4 : 6;
    std::uint64_t tasks = 0;
    for (std::uint32_t level = 0, here = 1; level <= depth; ++level, here *= grow::children) tasks += here;
    runtime rt(chosen());
    const auto counted = rt.allocate<std::uint64_t>(1);
    task_pool pool(grow{counted.ref()});
    auto session = rt.start(pool);
    constexpr std::uint32_t nowhere = 1000;
    for (std::uint64_t i = 1; i <= 5; ++i) {
        pool.submit<grow>({depth, nowhere, nowhere}).wait();
        ASSERT_EQ(sum_of(rt, counted), i * tasks);  // copying has the program leave, and it comes back
    }
    pool.submit_many<grow>(std::vector<grow::arguments>(4, {depth - 1, nowhere, nowhere})).wait();
    (void)pool.submit<grow>({depth, nowhere, nowhere});
    session.quiesce();
    EXPECT_EQ(sum_of(rt, counted), 6 * tasks + 4 * (tasks - 1) / grow::children);
}

TEST_P(task_spawn_test, TheFailureOfAChildIsThatOfTheTask) {
    runtime rt(chosen());
    const auto counted = rt.allocate<std::uint64_t>(1);
    task_pool pool(grow{counted.ref()});
    auto session = rt.start(pool);
    constexpr std::uint32_t nowhere = 1000;
    auto bad = pool.submit<grow>({3, 1, nowhere}), good = pool.submit<grow>({3, nowhere, nowhere});
    try {
        bad.wait();
        FAIL() << "children have failed";
    } catch (const task_failed& e) {
        EXPECT_EQ(e.number(), 101u);
    }
    good.wait();
    auto batch = pool.submit_many<grow>(
        std::vector<grow::arguments>{{2, nowhere, nowhere}, {2, 0, nowhere}, {1, nowhere, nowhere}});
    const auto statuses = batch.statuses();
    EXPECT_EQ(std::vector(statuses.begin(), statuses.end()), (std::vector<std::uint32_t>{0, 100, 0}));
#if !defined(__CUDACC__)
    EXPECT_THROW(pool.submit<grow>({3, nowhere, 0}).wait(), std::domain_error);
#endif
}

TEST_P(task_spawn_test, ABodyIsToldThatNoRoomIsLeftAndNothingIsLost) {
    for (const std::uint32_t room : {1u, 2u, 3u, 7u}) {
        runtime rt(chosen());
        const auto counted = rt.allocate<std::uint64_t>(1);
        task_pool_options options;
        options.spawned_tasks = room;
        task_pool pool(options, count_down{counted.ref()});
        auto session = rt.start(pool);
        for (int i = 0; i < 20; ++i) (void)pool.submit<count_down>(9);
        pool.submit_many<count_down>(std::vector<std::uint32_t>(20, 9)).wait();
        session.stop();
        EXPECT_EQ(sum_of(rt, counted), 400u) << "room for " << room;
    }
}

TEST_P(task_spawn_test, WarpsOfABlockRunATaskTogether) {
    runtime rt(chosen());
    const auto words = rt.allocate<std::uint32_t>(1024 * 47);
    task_pool pool(square{}, block_sum{words.ref()});
    auto session = rt.start(pool);
    std::vector<task_future<std::uint32_t>> sums;
    std::vector<task_future<double>> squares;
    for (std::uint32_t i = 0; i < 40; ++i) {
        sums.push_back(pool.submit<block_sum>(i));
        squares.push_back(pool.submit<square>(i));
    }
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::uint32_t lanes = sums[i].get() % 2048;
        EXPECT_EQ(sums[i].get() / 2048, lanes * i);
        EXPECT_EQ(squares[i].get(), static_cast<double>(i) * i);
        most = std::max(most, lanes);
    }
    EXPECT_EQ(most > checked::warp_lanes, checked() || GetParam().starts_with("cuda"))
        << "more than a warp of checked devices has";
    auto batch = pool.submit_many<block_sum>(std::vector<std::uint32_t>{40, 41, 42, 43, 44, 45, 46});
    for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(batch.get()[i] / 2048, batch.get()[i] % 2048 * (40 + i));
}

TEST_P(task_spawn_test, BlocksSpawnTasksOfBlocks) {
    runtime rt(chosen());
    const auto counted = rt.allocate<std::uint64_t>(1);
    task_pool pool(spawn_block_sums{counted.ref()}, count_down{counted.ref()});
    auto session = rt.start(pool);
    EXPECT_EQ(pool.submit<spawn_block_sums>(4).get(), 4u);
    EXPECT_EQ(sum_of(rt, counted), 31u);
    pool.submit_many<spawn_block_sums>(std::vector<std::uint32_t>{2, 2, 3}).wait();
    pool.submit<count_down>(9).wait();
    EXPECT_EQ(sum_of(rt, counted), 31u + 7 + 7 + 15 + 10);
}

TEST_P(task_spawn_test, OtherWarpsTakeTasksOfOneThatIsBusy) {
    if (GetParam().starts_with("cpu")) GTEST_SKIP() << "a PE has one worker";
    for (const int warps : {2, 3}) {  // of a block: the first one of all controls, so one block has a worker less
        options o = chosen();
        o.checked_blocks = 3;
        o.checked_warps = warps;
        runtime rt(o);
        const auto marks = rt.allocate<std::uint32_t>(20);
        task_pool pool(mark{marks.ref()}, wait_for_child{marks.ref()});
        auto session = rt.start(pool);
        for (std::uint32_t i = 0; i < 20; ++i) ASSERT_NO_THROW(pool.submit<wait_for_child>(i).wait());
    }
}

TEST_P(task_spawn_test, AWarpSpawnsMoreThanItsDequeHolds) {
    runtime rt(chosen());
    const auto counted = rt.allocate<std::uint64_t>(1);
    task_pool pool(spawn_many{counted.ref()});
    auto session = rt.start(pool);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        pool.submit<spawn_many>(100).wait();
        ASSERT_EQ(sum_of(rt, counted), i * 101);
    }
    pool.submit_many<spawn_many>(std::vector<std::uint32_t>{50, 3, 40, 70}).wait();
    EXPECT_EQ(sum_of(rt, counted), 3 * 101u + 167);
}

LANEWAY_ON_DEVICES(task_spawn_test, device_lists());

}  // namespace
}  // namespace laneway::test

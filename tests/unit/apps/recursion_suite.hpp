// Recursive programs on channels: right at every width from the least, on all devices; bounded memory.
#pragma once

#include <cmath>

#include "recursion/fibonacci.hpp"
#include "recursion/quadrature.hpp"
#include "recursion/queens.hpp"
#include "unit/apps/narrow_channels.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

using apps::recursion_options;

/// Does the work itself where there is no room to fork, or forgets its result.
struct eager_fibonacci {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;

    std::uint32_t forgets;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        if (n == forgets) return;
        if (n < 2) return task.finish(ctx, n);
        auto fork = task.fork(ctx, laneway::task<eager_fibonacci>, 2, laneway::task<apps::add_both<std::uint64_t>>);
        if (!fork) return task.finish(ctx, apps::fibonacci_by_calls(n));
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

/// Two continuations of different size, whose arguments have to be aligned by 16 in one of them. A result counts those
/// that are not, beside the number.
struct aligned_sum {
    static constexpr bool follows = true;
    struct alignas(16) arguments {
        std::uint64_t left, right;
    };
    using result = std::uint64_t;
    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& both, Task& task) const {
        const auto astray = reinterpret_cast<std::uintptr_t>(&both) % 16 == 0 ? 0 : std::uint64_t{1} << 32;
        task.finish(ctx, both.left + both.right + astray);
    }
};
struct longer_sum {
    static constexpr bool follows = true;
    struct arguments {
        std::uint64_t left, right, unused[2];
    };
    using result = std::uint64_t;
    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& both, Task& task) const {
        task.finish(ctx, both.left + both.right);
    }
};
struct summed_by_turns {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;
    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        if (n < 2) return task.finish(ctx, n);
        n % 2 == 0 ? fork<aligned_sum>(ctx, n, task) : fork<longer_sum>(ctx, n, task);
    }

private:
    template <class Sum, class Ctx, class Task>
    LANEWAY_FN void fork(Ctx& ctx, std::uint32_t n, Task& task) const {
        auto fork = task.fork(ctx, laneway::task<summed_by_turns>, 2, laneway::task<Sum>);
        if (!fork) return;
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

class recursion_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static bool checked() { return is_checked(GetParam()); }
};

TEST_P(recursion_test, FibonacciNumbersAtTheLeastWidth) {
    every_round(GetParam(), [&](const options& o) {
        const std::uint32_t n = static_cast<std::uint32_t>(checked() ? 6 + o.seed % 4 : 15);
        const auto made = apps::fibonacci(n, narrow(o, 2));
        EXPECT_EQ(made.value, apps::fibonacci_by_calls(n));
        // The host makes the calls at the top of the tree that have others below the roots.
        const std::uint64_t by_host = made.report.roots - 1;
        const std::uint64_t inner = (made.calls - 1) / 2 - by_host;
        EXPECT_EQ(made.report.run.items, made.calls - by_host + inner);  // continuations
        EXPECT_GE(made.report.channels.produced, made.report.run.items);
        EXPECT_EQ(made.report.width, o.seed % 3 != 0 ? 2u : 32u);
        const channel_statistics& did = made.report.channels;
        ASSERT_EQ(did.channels.size(), 2u);
        EXPECT_EQ(did.channels[0].name + ", " + did.channels[1].name, "function 0, continuation 1");
        EXPECT_EQ(did.channels[0].consumed, made.calls - by_host + did.yields);
        EXPECT_EQ(did.channels[1].consumed, inner) << "a continuation asks for nothing";
        EXPECT_GE(did.channels[0].produced, made.calls - by_host);
        EXPECT_EQ(did.channels[0].stalls + did.channels[1].stalls, did.yields);
    });
}

TEST_P(recursion_test, AFunctionMayFinishWhereItFindsNoRoomToFork) {
    std::uint64_t stalls = 0;
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        fork_join program(rt, {10, 2, 0}, eager_fibonacci{1000}, apps::add_both<std::uint64_t>{});
        std::vector<std::uint32_t> calls;  // as many as the first level has room for
        for (int i = 0; i < 2 * rt.n_pes(); ++i) calls.push_back(static_cast<std::uint32_t>(9 - i % 3));
        std::vector<std::uint64_t> expected;
        for (const std::uint32_t n : calls) expected.push_back(apps::fibonacci_by_calls(n));
        EXPECT_EQ(program.run<eager_fibonacci>(calls), expected);
        stalls += program.statistics().stalls;
    });
    if (!checked()) return;  // a thread by itself goes down first, and hardly ever runs short
    EXPECT_GT(stalls, 0u);
}

TEST_P(recursion_test, WarpsKeepWhatTheyProduceAndGiveOthersPartOfIt) {
    std::uint64_t given = 0;
    every_round(GetParam(), [&](const options& o) {
        recursion_options wide;
        wide.job = o;
        wide.width = 2;
        wide.memory_bytes = 1 << 20;
        const std::uint32_t n = static_cast<std::uint32_t>(checked() ? 10 + o.seed % 4 : 20);
        const auto made = apps::fibonacci(n, wide);
        EXPECT_EQ(made.value, apps::fibonacci_by_calls(n));
        EXPECT_GT(made.report.channels.kept, made.report.run.items / 2);
        EXPECT_LE(made.report.channels.kept, made.report.run.items);
        given += made.report.channels.given;
    });
    if (checked()) {
        EXPECT_GT(given, 0u);
    }
}

TEST_P(recursion_test, FramesOfDifferentSizesAreAligned) {
    runtime rt(options_of(GetParam(), 1));
    fork_join program(rt, {10, 64, 1 << 20}, summed_by_turns{}, aligned_sum{}, longer_sum{});
    EXPECT_EQ(program.run<summed_by_turns>({9}), std::vector<std::uint64_t>{34});
}

TEST_P(recursion_test, CallsWithoutAResultAreTold) {
    options o = options_of(GetParam(), 1);
    runtime rt(o);
    fork_join program(rt, {10, 64, 1 << 20}, eager_fibonacci{0}, apps::add_both<std::uint64_t>{});
    EXPECT_EQ(program.run<eager_fibonacci>({1}), std::vector<std::uint64_t>{1});
    auto calls = program.component<eager_fibonacci>({1, 0});
    try {
        (void)rt.run(calls);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const device_fault& e) {
        EXPECT_NE(std::string(e.what()).find("call 1 has ended without a result"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(calls.results().empty());
}

/// Forks, and never lets the children run.
struct fork_without_sync {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t, Task& task) const {
        auto fork = task.fork(ctx, laneway::task<fork_without_sync>, 2, laneway::task<apps::add_both<std::uint64_t>>);
        if (fork) fork.spawn(ctx, 0, &fork->left);
    }
};

TEST_P(recursion_test, WhatIsNeverFreedIsNamedByFunctionAndDepth) {
    // In queues, and where warps keep it.
    for (const std::uint64_t memory_bytes : {0, 1 << 20}) {
        runtime rt(options_of(GetParam(), 1));
        const fork_join_options least{10, 2, memory_bytes};
        fork_join forgets(rt, least, eager_fibonacci{0}, apps::add_both<std::uint64_t>{});
        EXPECT_EQ(thrown<device_fault>([&] { (void)forgets.template run<eager_fibonacci>({3}); }),
                  "channel 1 \"continuation 1\": 2 elements were reserved and never freed, 1 at level 0, 1 at level 1");
        fork_join forks(rt, least, fork_without_sync{}, apps::add_both<std::uint64_t>{});
        EXPECT_EQ(thrown<device_fault>([&] { (void)forks.template run<fork_without_sync>({0}); }),
                  "channel 0 \"function 0\": 2 elements were reserved and never freed, 2 at level 1; "
                  "channel 1 \"continuation 1\": 1 element was reserved and never freed, 1 at level 0");
    }
}

TEST_P(recursion_test, ATreeWithoutEndIsStoppedAtTheDeadlineWithWhatIsOpenByDepth) {
    for (const std::uint64_t memory_bytes : {0, 1 << 20}) {
        recursion_options late;
        late.job = options_of(GetParam(), 1);
        late.job.timeout_seconds = checked() ? 0.02 : 0.5;
        late.width = 2;
        late.memory_bytes = memory_bytes;
        const std::string text = thrown<timeout_error>([&] { (void)apps::fibonacci(90, late); });
        EXPECT_NE(text.find("; channel 0 \"function 0\": "), std::string::npos) << text;
        // Those of the first calls, which wait for all others.
        const std::size_t continuations = text.find("; channel 1 \"continuation 1\": ");
        ASSERT_NE(continuations, std::string::npos) << text;
        const bool one_call = GetParam().ends_with(":1") && GetParam().find(',') == std::string::npos;
        EXPECT_NE(text.find(one_call ? ", 1 at level 0" : " at level 0", continuations), std::string::npos) << text;
        EXPECT_NE(text.find(" deeper levels, down to ", continuations), std::string::npos) << text;
        EXPECT_EQ(text.find(" kept by warps)", continuations) != std::string::npos, memory_bytes != 0) << text;
    }
}

TEST_P(recursion_test, AWarpOrAThreadOfTheHostDecidesForAll) {
    every_fourth_round(GetParam(), [&](const options& o) {
        for (const channel_scheduler who : {channel_scheduler::one_warp, channel_scheduler::host_thread}) {
            recursion_options how = narrow(o, 2);
            how.scheduler = who;
            const std::uint32_t n = checked() ? 8 : 13;
            const auto number = apps::fibonacci(n, how);
            EXPECT_EQ(number.value, apps::fibonacci_by_calls(n));
            EXPECT_EQ(number.report.channels.kept, 0u) << "elements are given away by order";
            EXPECT_GT(number.report.channels.idle_turns, 0u);
            EXPECT_GT(number.report.channels.idle_share(), 0.0);
            recursion_options of_queens = narrow(o, 24);  // what a block forks at once
            of_queens.scheduler = who;
            of_queens.grain = o.seed % 2 == 0 ? 2 : apps::queens_of_lane + 1;  // a lane's, a block's
            EXPECT_EQ(apps::queens(checked() ? 5 : 6, of_queens).solutions, checked() ? 10u : 4u);
        }
    });
}

/// The least deep first, and what has been produced last in the warp.
struct breadth_first {
    static constexpr bool follows = true;
    LANEWAY_FN std::uint32_t operator()(const channel_load& load) const { return load.levels - load.level; }
};

TEST_P(recursion_test, APolicyOfTheUserDecidesTheOrderOfCalls) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        fork_join program(rt, {10, 4, o.seed % 2 == 0 ? 0u : 8192u}, eager_fibonacci{1000},
                          apps::add_both<std::uint64_t>{});
        const auto ninth = apps::fibonacci_by_calls(9), fifth = apps::fibonacci_by_calls(5);
        const std::vector<std::uint64_t> expected{ninth, fifth};
        EXPECT_EQ(program.run_with<eager_fibonacci>(breadth_first{}, {9, 5}), expected);
        EXPECT_EQ(program.run_with<eager_fibonacci>(warp_scheduler<breadth_first>{}, {9, 5}), expected);
        auto calls = program.component_with<eager_fibonacci>(host_scheduler<breadth_first>{}, {9, 5});
        for (int runs = 0; runs < 2; ++runs) {
            (void)rt.run(calls);
            EXPECT_EQ(calls.results(), expected);
        }
    });
}

TEST_P(recursion_test, QueensAtTheLeastWidth) {
    const std::uint64_t solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724};
    every_round(GetParam(), [&](const options& o) {
        const auto n = static_cast<std::uint32_t>(checked() ? 4 + o.seed % 2 : 4 + o.seed % 7);
        recursion_options narrowed = narrow(o, apps::max_queens);
        narrowed.grain = static_cast<std::uint32_t>(1 + o.seed % 3);
        EXPECT_EQ(apps::queens(n, narrowed).solutions, solutions[n]) << n << " queens";
    });
}

TEST_P(recursion_test, QueensOfBlocks) {
    const std::uint64_t solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712};
    every_fourth_round(GetParam(), [&](const options& o) {
        recursion_options narrowed = narrow(o, apps::max_queens);
        const auto n = static_cast<std::uint32_t>(checked() ? 4 + o.seed % 7 : 1 + o.seed % 13);
        narrowed.grain = static_cast<std::uint32_t>(9 + o.seed % 6);
        EXPECT_EQ(apps::queens(n, narrowed).solutions, solutions[n]) << n << " queens, " << narrowed.grain;
    });
    recursion_options most;
    most.job.devices = GetParam();
    most.grain = apps::max_queens_grain + 1;
    EXPECT_EQ(thrown<usage_error>([&] { (void)apps::queens(4, most); }), "a grain of 15 rows: 14 at most");
}

TEST_P(recursion_test, QueensByDefaultAndAsTheReference) {
    EXPECT_EQ(apps::queens_grain(2, true), 1u);
    EXPECT_EQ(apps::queens_grain(8, false), 5u);
    EXPECT_EQ(apps::queens_grain(17, false), apps::queens_of_lane);
    EXPECT_EQ(apps::queens_grain(13, true), 10u);
    EXPECT_EQ(apps::queens_grain(24, true), apps::max_queens_grain);
    const std::uint64_t solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92};
    recursion_options o;
    o.job.devices = GetParam();
    for (std::uint32_t n = 1; n <= (checked() ? 5u : 8u); ++n) {
        EXPECT_EQ(apps::queens(n, o).solutions, solutions[n]) << n << " queens";
        EXPECT_EQ(apps::queens_by_search({0, 0, 0}, (1u << n) - 1), solutions[n]) << n << " queens";
    }
}

struct tell_pe {
    using arguments = std::uint32_t;
    using result = int;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t, Task& task) const {
        task.finish(ctx, ctx.pe());
    }
};

TEST_P(recursion_test, TreesAreSpreadOverAllPes) {
    recursion_options o;
    o.job = options_of(GetParam(), 1);
    runtime rt(o.job);
    const int pes = rt.n_pes();
    fork_join program(rt, {1}, tell_pe{});
    const auto told = program.run<tell_pe>({0, 1, 2, 3, 4, 5, 6});
    for (int i = 0; i < 7; ++i) EXPECT_EQ(told[static_cast<std::size_t>(i)], i % pes);
    // Sixteen calls a PE, where the tree has so many, and the level room for them; one where it is alone.
    const auto on_all = [&](std::uint64_t most) { return pes == 1 ? 1 : most * static_cast<std::uint64_t>(pes); };
    const auto number = apps::fibonacci(rt, 14, o);
    EXPECT_EQ(std::vector({number.value, number.report.roots}), (std::vector<std::uint64_t>{377, on_all(16)}));
    const auto little = apps::fibonacci(rt, 3, o);
    EXPECT_EQ(std::vector({little.value, little.report.roots}), (std::vector<std::uint64_t>{2, pes == 1 ? 1u : 3u}));
    o.grain = 2;
    const auto ways = apps::queens(rt, 6, o);
    EXPECT_EQ(ways.solutions, 4u);
    EXPECT_GE(ways.report.roots, on_all(2));
    EXPECT_LE(ways.report.roots, pes == 1 ? 1 : on_all(16) + 6);
    EXPECT_EQ(apps::queens(rt, 3, o).solutions, 0u) << "no board goes on";
    EXPECT_EQ(apps::queens(rt, 1, o).solutions, 1u);
    const auto area = apps::quadrature(rt, 0, 1, 3, o);
    EXPECT_EQ(area.report.roots, std::min(on_all(16), (area.intervals + 1) / 2)) << "no more than it has leaves";
    o.width = 2;
    o.grain = 1;
    EXPECT_EQ(apps::quadrature(rt, 0, 1, 3, o).report.roots, on_all(2));
    EXPECT_EQ(apps::fibonacci(rt, 14, o).report.roots, on_all(2));
}

/// Adds up the numbers below one, a part on each lane of a block, and forks like the others on the way.
struct sum_by_block {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr task_width width = task_width::block;
    static constexpr std::size_t shared_bytes = 16;
    static constexpr std::uint32_t children = 2;

    template <class Ctx, class Task, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task, Worker& worker) const {
        auto* const lanes_here = reinterpret_cast<std::uint32_t*>(worker.shared());
        if (worker.lane() == 0) *lanes_here = 0;
        if (!worker.sync(ctx)) return;
        ctx.fetch_add(lanes_here, 1u, order::relaxed, scope::block);
        if (!worker.sync(ctx)) return;
        if (worker.lane() != 0) return;
        if (static_cast<int>(*lanes_here) != worker.lanes()) return task.finish(ctx, std::uint64_t{1} << 32);
        if (n < 2) return task.finish(ctx, n);
        auto fork = task.fork(ctx, laneway::task<sum_by_block>, 2, laneway::task<apps::add_both<std::uint64_t>>);
        if (!fork) return;
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

TEST_P(recursion_test, AFunctionOfBlocksForksAndFinishesOnOneLane) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const std::uint32_t n = static_cast<std::uint32_t>(checked() ? 5 + o.seed % 3 : 12);
        const std::uint32_t width = o.seed % 2 == 0 ? 64 : 2;
        fork_join program(rt, {n + 1, width, o.seed % 3 != 0 ? std::uint64_t{1} << 20 : 0}, sum_by_block{},
                          apps::add_both<std::uint64_t>{});
        EXPECT_EQ(program.run<sum_by_block>({n}), std::vector<std::uint64_t>{apps::fibonacci_by_calls(n)});
    });
}

TEST_P(recursion_test, BlocksKeepWhatTheyForkAndGiveOthersPartOfIt) {
    std::uint64_t given = 0;
    every_fourth_round(GetParam(), [&](options o) {
        o.checked_blocks = 3;
        runtime rt(o);
        const std::uint32_t n = static_cast<std::uint32_t>(checked() ? 6 + o.seed % 3 : 15);
        const std::uint64_t bytes = o.seed % 3 == 0 ? std::uint64_t{64} << 20 : std::uint64_t{1} << 18;
        fork_join program(rt, {n + 1, 2, bytes}, sum_by_block{}, apps::add_both<std::uint64_t>{});
        EXPECT_EQ(program.run<sum_by_block>({n}), std::vector<std::uint64_t>{apps::fibonacci_by_calls(n)});
        const channel_statistics did = program.statistics();
        const std::uint64_t ones = apps::fibonacci_by_calls(n + 1);  // calls that fork no further
        EXPECT_EQ(program.report().items, 2 * ones - 1 + ones - 1) << "calls, and continuations";
        EXPECT_EQ(did.channels[0].kept, 2 * ones - 2 - did.given) << "all but the first, and what was given";
        EXPECT_EQ(did.channels[1].kept, ones - 1) << "continuations in frames";
        given += did.given;
    });
    if (checked()) {
        EXPECT_GT(given, 0u);
    }
}

/// The same, whose calls others find at once.
struct sum_from_queues : sum_by_block {
    static constexpr bool keeps = false;

    template <class Ctx, class Task, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task, Worker& worker) const {
        if (worker.lane() != 0) return;
        if (n < 2) return task.finish(ctx, n);
        auto fork = task.fork(ctx, laneway::task<sum_from_queues>, 2, laneway::task<apps::add_both<std::uint64_t>>);
        if (!fork) return;
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

TEST_P(recursion_test, ChannelsHaveAllMemoryWhereNothingIsKept) {
    runtime rt(options_of(GetParam(), 1));
    const fork_join_options bounded{.levels = 12, .memory_bytes = std::uint64_t{1} << 17};
    const apps::add_both<std::uint64_t> add;
    const fork_join lanes(rt, bounded, eager_fibonacci{}, add);
    const fork_join blocks(rt, bounded, sum_by_block{}, add);
    fork_join queues(rt, bounded, sum_from_queues{}, add);
    EXPECT_EQ(blocks.width(), lanes.width());
    EXPECT_GE(queues.width(), 2 * lanes.width());
    EXPECT_EQ(queues.run<sum_from_queues>({8}), std::vector<std::uint64_t>{21});
    EXPECT_EQ(queues.statistics().kept, 0u);
}

/// By recursion, in the same order.
inline double integral_of(const apps::simpson_interval& whole, std::uint64_t& intervals) {
    ++intervals;
    apps::simpson_interval left, right;
    double area = 0;
    if (halve(whole, left, right, area)) return area;
    const double first = integral_of(left, intervals);
    return first + integral_of(right, intervals);
}

TEST_P(recursion_test, QuadratureIsTheSameOnAllDevicesAndCloseToTheClosedForm) {
    double closed = 0;
    for (int i = 0; i < 2; ++i) {
        const double w = apps::two_peaks::widths[i], c = apps::two_peaks::centres[i];
        closed += (std::atan((1 - c) / w) - std::atan((0 - c) / w)) / w;
    }
    every_round(GetParam(), [&](const options& o) {
        const double tolerance = checked() ? 3 : 1e-6;
        const auto made = apps::quadrature(0, 1, tolerance, narrow(o, 2));
        std::uint64_t intervals = 0;
        EXPECT_EQ(made.area, integral_of(apps::first_interval(0, 1, tolerance), intervals));
        EXPECT_EQ(made.intervals, intervals);
        EXPECT_NEAR(made.area, closed, 10 * tolerance);
    });
}

TEST_P(recursion_test, LargeTreesFitIntoBoundedMemory) {
    if (checked()) return;
    recursion_options bounded;
    bounded.job.devices = GetParam();
    bounded.memory_bytes = 1 << 20;
    const auto made = apps::fibonacci(24, bounded);
    EXPECT_EQ(made.value, 46368u);
    bounded.grain = 16;
    EXPECT_EQ(apps::fibonacci(32, bounded).value, 2178309u);
    bounded.grain = 4;
    EXPECT_EQ(apps::queens(10, bounded).solutions, 724u);
    bounded.memory_bytes = 1000;
    EXPECT_THROW((void)apps::fibonacci(30, bounded), usage_error);
    bounded.width = 1;
    try {
        (void)apps::queens(8, bounded);
        FAIL() << "a width of 1 was taken";
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(), "a width of 1 is below the minimum, 24: a function spawns so many at once");
    }
    EXPECT_THROW((void)apps::fibonacci(91), usage_error);
    EXPECT_THROW((void)apps::queens(0), usage_error);
    EXPECT_THROW((void)apps::quadrature(0, 1, 0), usage_error);
}

LANEWAY_ON_DEVICES(recursion_test, with_checked_pair(program_lists()));

}  // namespace
}  // namespace laneway::test
